package wire

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"tidemark/shared/format/debezium/jsonnode"
)

// maxDimensions is PostgreSQL's limit for an array.
const maxDimensions = 6

// appendArray writes an array literal. Arrays in arrays are further dimensions of the same elements.
func (f *Form) appendArray(dst []byte, n jsonnode.Node, depth int) ([]byte, error) {
	switch {
	case n.Kind() != '[':
		return dst, n.Mismatch("an array")
	case depth > maxDimensions:
		return dst, errors.New("an array of more than 6 dimensions")
	}
	dst = append(dst, '{')
	for w, first := n.Walk(), true; ; first = false {
		element, ok := w.Element()
		if !ok {
			return append(dst, '}'), nil
		}
		if !first {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = f.appendElement(dst, element, depth); err != nil {
			return dst, err
		}
	}
}

func (f *Form) appendElement(dst []byte, n jsonnode.Node, depth int) ([]byte, error) {
	switch n.Kind() {
	case 'n':
		return append(dst, "NULL"...), nil
	case '[':
		return f.appendArray(dst, n, depth+1)
	}
	start := len(dst)
	dst, err := f.elem.append(dst, n)
	if errors.Is(err, ErrLost) { // a null in its place would leave an array that looks whole
		return dst, errors.New("an element that the source sends out of PostgreSQL's range")
	}
	if err != nil || !needsQuotes(dst[start:]) {
		return dst, err
	}
	return quote(dst, start), nil
}

// needsQuotes says whether an array would read an element's text as something else without quotes.
func needsQuotes(text []byte) bool {
	return len(text) == 0 || bytes.ContainsAny(text, "{}\",\\ \t\n\r\v\f") ||
		len(text) == 4 && strings.EqualFold(string(text), "NULL")
}

// quote puts the text that begins at start into double quotes, with a backslash before quotes and backslashes, as both
// arrays and hstore read it.
func quote(dst []byte, start int) []byte {
	from := len(dst)
	more := 2 + bytes.Count(dst[start:], []byte{'"'}) + bytes.Count(dst[start:], []byte{'\\'})
	dst = slices.Grow(dst, more)[:from+more]
	to := len(dst) - 1
	dst[to] = '"'
	for i := from - 1; i >= start; i-- {
		c := dst[i]
		to--
		dst[to] = c
		if c == '"' || c == '\\' {
			to--
			dst[to] = '\\'
		}
	}
	dst[start] = '"'
	return dst
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
	if n.Kind() != '{' {
		return dst, n.Mismatch("a map")
	}
	for w, first := n.Walk(), true; ; first = false {
		name, ok := w.Element()
		if !ok {
			return dst, nil
		}
		value, _ := w.Element()
		if !first {
			dst = append(dst, ", "...)
		}
		start := len(dst)
		var err error
		if dst, err = name.AppendText(dst); err != nil {
			return dst, err
		}
		dst = append(quote(dst, start), "=>"...)
		if dst, err = appendMapValue(dst, value); err != nil {
			return dst, err
		}
	}
}

func appendMapValue(dst []byte, n jsonnode.Node) ([]byte, error) {
	start := len(dst)
	switch n.Kind() {
	case 'n':
		return append(dst, "NULL"...), nil
	case '{', '[':
		return dst, n.Mismatch("a text in a map")
	case '"':
		dst, err := n.AppendText(dst)
		return quote(dst, start), err
	}
	return quote(append(dst, n...), start), nil
}
