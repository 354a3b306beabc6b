// Package jsonnode owns how decoders walk JSON text without copying it.
//
// Parse checks a document once, as strictly as RFC 7493 asks; a Node is a slice of that document. Numbers keep their
// text. Nodes share the document's bytes and are read only; they may be shared between goroutines. A Document does the
// same for texts that come one after the other and are much alike: it also notes where members stand, and it must take
// and refuse what Parse does, which tests hold against jsontext.
package jsonnode

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// Node is the text of one JSON value without blanks around it. Its document was checked as a whole, so whoever walks
// it needs no checks of syntax; the empty node is a member that is not there.
type Node []byte

// Parse checks text as RFC 7493 asks: one value, UTF-8 throughout, no name twice in an object. Its errors say where
// and what kind, never what stands there.
func Parse(text []byte) (Node, error) {
	if jsontext.Value(text).IsValid() {
		return bytes.Trim(text, blanks), nil
	}
	return nil, refusal(text)
}

// refusal says why a text is refused.
func refusal(text []byte) error {
	decoder := jsontext.NewDecoder(bytes.NewReader(text))
	_, err := decoder.ReadValue()
	switch found, ok := errors.AsType[*jsontext.SyntacticError](err); {
	case err == nil:
		return fmt.Errorf("more than one JSON value, from byte %d", decoder.InputOffset())
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the JSON text ends early, at byte %d", len(text))
	case errors.Is(err, jsontext.ErrDuplicateName):
		return errors.New("a member name stands twice in one JSON object")
	case ok:
		return fmt.Errorf("not valid JSON at byte %d", found.ByteOffset)
	default:
		return errors.New("not valid JSON")
	}
}

const blanks = " \t\r\n"

// Kind is '"', '{', '[', 't', 'f', 'n', or '0' for every number; 0 for the empty node.
func (n Node) Kind() byte {
	switch {
	case len(n) == 0:
		return 0
	case n[0] == '-' || '0' <= n[0] && n[0] <= '9':
		return '0'
	}
	return n[0]
}

// IsNull says whether the node is null or not there.
func (n Node) IsNull() bool { return len(n) == 0 || n[0] == 'n' }

// What names the node's shape for a message.
func (n Node) What() string {
	switch n.Kind() {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '0':
		return "a number"
	case 't', 'f':
		return "a boolean"
	}
	return "null"
}

// Plain is the content of a string that has no escapes, as it stands; false for every other node.
func (n Node) Plain() ([]byte, bool) {
	if n.Kind() != '"' {
		return nil, false
	}
	content := n[1 : len(n)-1]
	if len(content) > short {
		return content, bytes.IndexByte(content, '\\') < 0
	}
	for _, c := range content {
		if c == '\\' {
			return content, false
		}
	}
	return content, true
}

// short is the length up to which a loop finds a byte sooner than a call.
const short = 16

// Text is the content of a string, nil for other nodes. Unlike AppendText it lets zero bytes pass, so that what takes
// only some characters refuses them: nothing in their place would read as an empty text.
func (n Node) Text() []byte {
	if content, ok := n.Plain(); ok {
		return content
	}
	content, _ := n.AppendText(nil)
	return content
}

var errZero = errors.New("a zero byte in a text, which PostgreSQL cannot hold")

// AppendText appends the content of a string.
func (n Node) AppendText(dst []byte) ([]byte, error) {
	if content, ok := n.Plain(); ok {
		return append(dst, content...), nil
	}
	if n.Kind() != '"' {
		return dst, n.Mismatch("a string")
	}
	start := len(dst)
	dst, err := jsontext.AppendUnquote(dst, n)
	if err == nil && bytes.IndexByte(dst[start:], 0) >= 0 {
		err = errZero
	}
	return dst, err
}

// Mismatch is the error of a shape that is not the wanted one.
func (n Node) Mismatch(want string) error {
	return fmt.Errorf("%s where %s is expected", n.What(), want)
}

// Walker goes through the members of an object or the elements of an array.
type Walker struct{ rest Node }

// Walk begins a walk through an object or array.
func (n Node) Walk() Walker { return Walker{n[1:]} }

// Member returns the next member of an object.
func (w *Walker) Member() (name []byte, value Node, ok bool) {
	raw, ok := w.Element()
	if !ok {
		return nil, nil, false
	}
	value, _ = w.Element()
	return raw.Text(), value, true
}

// Element returns the next element of an array, and of an object its names and values in turn.
func (w *Walker) Element() (Node, bool) {
	start := 0
	for isBetween(w.rest[start]) {
		start++
	}
	w.rest = w.rest[start:]
	if w.rest[0] == '}' || w.rest[0] == ']' {
		return nil, false
	}
	end := w.rest.end()
	value := w.rest[:end]
	w.rest = w.rest[end:]
	return value, true
}

// isBetween says whether c stands between values and not in them.
func isBetween(c byte) bool {
	return c == ',' || c == ':' || c == ' ' || c == '\n' || c == '\r' || c == '\t'
}

// end is the length of the value at the start of n.
func (n Node) end() int {
	switch n[0] {
	case '"':
		end, _ := endOfString(n, 0)
		return end
	case '{', '[':
		return n.containerEnd()
	}
	end := 0
	for !isBetween(n[end]) && n[end] != '}' && n[end] != ']' {
		end++
	}
	return end
}

func (n Node) containerEnd() int {
	depth := 0
	for i := 0; ; i++ {
		switch n[i] {
		case '"':
			i, _ = endOfString(n, i)
			i--
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
}
