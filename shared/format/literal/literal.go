// Package literal owns how values that JSON writes in one way and PostgreSQL in another become the text that PostgreSQL
// reads, for the rules that all formats share: numbers in strings, bytes, arrays and maps.
//
// Every function appends to what it is given and returns it, as append does. Errors name shapes and never payload. What
// is appended before an error is of no use. Everything is pure.
package literal

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"tidemark/shared/format/jsonnode"
)

// Number is what PostgreSQL reads for a number that stands in a string: text itself when it is digits with an optional
// minus, point and exponent, or the word for a number that has no digits. It is false for everything else.
func Number(text []byte) ([]byte, bool) {
	if word := numberWord(text); word != "" {
		return []byte(word), true
	}
	return text, isDecimal(text)
}

// numberWord is PostgreSQL's word for a number that has no digits, in the ways that sources spell them.
func numberWord(text []byte) string {
	switch string(text) {
	case "NaN", "NAN":
		return "NaN"
	case "Infinity", "POSITIVE_INFINITY":
		return "Infinity"
	case "-Infinity", "NEGATIVE_INFINITY":
		return "-Infinity"
	}
	return ""
}

func isDecimal(text []byte) bool {
	text = bytes.TrimPrefix(text, []byte("-"))
	mantissa, exponent, hasExponent := bytes.Cut(bytes.ToLower(text), []byte("e"))
	whole, fraction, hasPoint := bytes.Cut(mantissa, []byte("."))
	if len(exponent) > 1 && (exponent[0] == '+' || exponent[0] == '-') {
		exponent = exponent[1:]
	}
	if hasExponent && (!isDigits(exponent) || len(exponent) > 8) {
		return false
	}
	return isDigits(whole) && (!hasPoint || isDigits(fraction))
}

func isDigits(text []byte) bool {
	return len(text) > 0 && strings.Trim(string(text), "0123456789") == ""
}

// AppendBytes appends a bytea of encoded in hex. A nil encoding means that it is hex already.
func AppendBytes(dst, encoded []byte, encoding *base64.Encoding) ([]byte, error) {
	dst = append(dst, `\x`...)
	if encoding == nil {
		if _, err := hex.Decode(make([]byte, len(encoded)/2), encoded); err != nil {
			return dst, errors.New("not bytes in hex")
		}
		return append(dst, encoded...), nil
	}
	// The bytes are decoded behind the room for their hex digits, which are then written from the front.
	start, room := len(dst), encoding.DecodedLen(len(encoded))
	dst = slices.Grow(dst, 3*room)
	raw, err := encoding.AppendDecode(dst[start+2*room:start+2*room], encoded)
	if err != nil {
		return dst, errors.New("not bytes in base64")
	}
	return hex.AppendEncode(dst, raw), nil
}

// MaxDimensions is PostgreSQL's limit for an array.
const MaxDimensions = 6

// AppendArray appends the literal of an array. Arrays in arrays are further dimensions, up to the number given; what
// stands deeper is an element. element appends the text of one that is not null, without quotes.
func AppendArray(
	dst []byte, n jsonnode.Node, dimensions int, element func(dst []byte, n jsonnode.Node) ([]byte, error),
) ([]byte, error) {
	if n.Kind() != '[' {
		return dst, n.Mismatch("an array")
	}
	dst = append(dst, '{')
	for w, first := n.Walk(), true; ; first = false {
		item, ok := w.Element()
		if !ok {
			return append(dst, '}'), nil
		}
		if !first {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendItem(dst, item, dimensions, element); err != nil {
			return dst, err
		}
	}
}

func appendItem(
	dst []byte, n jsonnode.Node, dimensions int, element func(dst []byte, n jsonnode.Node) ([]byte, error),
) ([]byte, error) {
	switch kind := n.Kind(); {
	case kind == 'n':
		return append(dst, "NULL"...), nil
	case kind == '[' && dimensions > 1:
		return AppendArray(dst, n, dimensions-1, element)
	}
	start := len(dst)
	dst, err := element(dst, n)
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

// AppendMap appends an hstore of an object whose values are scalars, which become texts.
func AppendMap(dst []byte, n jsonnode.Node) ([]byte, error) {
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
