package wire

import (
	"errors"

	"tidemark/shared/format/jsonnode"
	"tidemark/shared/format/literal"
)

// appendElement appends an element of an array.
func (f *Form) appendElement(dst []byte, n jsonnode.Node) ([]byte, error) {
	dst, err := f.elem.append(dst, n)
	if errors.Is(err, ErrLost) { // a null in its place would leave an array that looks whole
		return dst, errors.New("an element that the source sends out of PostgreSQL's range")
	}
	return dst, err
}

// appendHStore reads an object of texts, or a string that holds one.
func appendHStore(dst []byte, n jsonnode.Node) ([]byte, error) {
	if n.Kind() == '"' {
		inner, err := n.AppendText(nil)
		if err == nil {
			n, err = jsonnode.Parse(inner)
		}
		if err != nil {
			return dst, errors.New("a string that does not hold a map in JSON")
		}
	}
	return literal.AppendMap(dst, n)
}
