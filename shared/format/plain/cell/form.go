// Package cell owns how one value of a plain JSON document becomes the text that PostgreSQL reads for a column.
//
// The column's type decides what a JSON value means, and Modes say what JSON leaves open. A text that PostgreSQL
// already reads is passed on as it stands: numbers keep their digits, documents their blanks. What does not fit is an
// error that names shapes and never payload, and so is a text whose meaning hangs on the clock or on a setting of the
// server, as a replay would read it differently. Forms are immutable and may be shared; the Set that takes texts
// belongs to one goroutine.
package cell

import (
	"bytes"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"tidemark/shared/change"
	"tidemark/shared/fault"
	"tidemark/shared/format/jsonnode"
	"tidemark/shared/format/literal"
)

// Form says what the values of one column mean.
type Form struct {
	meaning meaning
	modes   Modes
	moment  bool  // a text is a date or time, or a range of them
	zone    bool  // of a timestamp
	zeros   bool  // \u0000 may stand in a document: the type json keeps the text, jsonb does not
	elem    *Form // of an array
}

// meaning groups kinds that take the same JSON.
type meaning uint8

const (
	asText      meaning = iota // a string, or the text of a number or boolean
	asLiteral                  // a string in the type's own text form
	asBool                     // true or false
	asWhole                    // a number without a fraction, also in a string
	asNumber                   // a number, also in a string
	asTimestamp                // a string, or a number since 1970
	asBytes                    // a string of base64 or hex
	asDocument                 // anything
	asMap                      // an object of texts, or a string
	asArray                    // an array
)

func meaningOf(kind change.Kind) meaning {
	switch kind {
	case change.KindOther:
		return asText
	case change.KindBool:
		return asBool
	case change.KindInteger:
		return asWhole
	case change.KindFloat, change.KindNumeric, change.KindMoney:
		return asNumber
	case change.KindTimestamp, change.KindTimestampTZ:
		return asTimestamp
	case change.KindBytea:
		return asBytes
	case change.KindJSON:
		return asDocument
	case change.KindHStore:
		return asMap
	case change.KindArray:
		return asArray
	case change.KindDate, change.KindTime, change.KindTimeTZ, change.KindInterval, change.KindBit, change.KindVarBit,
		change.KindPoint:
	}
	return asLiteral
}

// NewForm is the form of values of a type.
func NewForm(t *change.Type, m Modes) Form {
	f := Form{
		meaning: meaningOf(t.Kind), modes: m, zone: t.Kind == change.KindTimestampTZ, zeros: t.Name == "json",
		moment: t.Kind == change.KindOther && isMomentRange(t.Name) || t.Kind == change.KindDate ||
			t.Kind == change.KindTime || t.Kind == change.KindTimeTZ || meaningOf(t.Kind) == asTimestamp,
	}
	switch {
	case t.Elem != nil:
		elem := NewForm(t.Elem, m)
		f.elem = &elem
	case t.Kind == change.KindArray:
		f.elem = &Form{modes: m}
	}
	return f
}

// Value reads n, a value of a checked document: a slice of n where PostgreSQL reads that, else a text built in set.
//
// Errors: fault.Poison with a hint where an option would help; others without a class.
func (f *Form) Value(n jsonnode.Node, set *change.Set) (change.Value, error) {
	if n.IsNull() {
		return change.Null(), nil
	}
	text, err := f.read(set.Grow(f.room(n)), n)
	if err != nil {
		return change.Value{}, err
	}
	return change.Text(set.Keep(text)), nil
}

// Text reads bytes that are a text and no JSON: a header, or a key that is written as it is.
//
// Errors: as Value.
func (f *Form) Text(text []byte, set *change.Set) (change.Value, error) {
	switch {
	case !utf8.Valid(text):
		return change.Value{}, errors.New("not text in UTF-8")
	case bytes.IndexByte(text, 0) >= 0:
		return change.Value{}, errors.New("a zero byte in a text, which PostgreSQL cannot hold")
	}
	if f.meaning == asBool {
		if word := string(text); word != "true" && word != "false" {
			return change.Value{}, errors.New("a text where true or false is expected")
		}
		return change.Text(text[:1]), nil
	}
	text, err := f.readText(set.Grow(3*len(text)), text)
	if err != nil {
		return change.Value{}, err
	}
	return change.Text(set.Keep(text)), nil
}

// room is what a text that has to be built needs in most cases; one that needs more is kept just the same.
func (f *Form) room(n jsonnode.Node) int {
	const clock = 40 // the longest timestamp
	switch _, plain := n.Plain(); {
	case f.meaning == asTimestamp && n.Kind() == '0':
		return clock
	case f.meaning == asArray:
		return 2*len(n) + clock
	case f.meaning == asBytes || f.meaning == asMap:
		return 3 * len(n)
	case plain || n.Kind() != '"':
		return 0
	}
	return len(n)
}

// read returns the text of n, which is not null: a slice of n, or built on room.
func (f *Form) read(room []byte, n jsonnode.Node) ([]byte, error) {
	switch kind := n.Kind(); {
	case f.meaning == asDocument && (kind != '"' || f.modes.JSON == JSONValue):
		return n, f.checkDocument(n)
	case f.meaning == asArray:
		return literal.AppendArray(room, n, f.dimensions(), f.appendElement)
	case f.meaning == asMap && kind == '{':
		return literal.AppendMap(room, n)
	case kind == '"' && f.meaning != asBool:
		return f.readString(room, n)
	case kind == '0':
		return f.readNumber(room, n)
	case (kind == 't' || kind == 'f') && f.meaning == asBool:
		return n[:1], nil
	case (kind == 't' || kind == 'f') && f.meaning == asText:
		return n, nil
	case kind == '{' || kind == '[':
		return nil, fault.New(fault.Poison, "%w", n.Mismatch(f.meaning.wanted())).WithHint(
			"a json or jsonb column takes objects and arrays as they are")
	}
	return nil, n.Mismatch(f.meaning.wanted())
}

// dimensions are those of an array. Arrays in an array of documents are documents.
func (f *Form) dimensions() int {
	if f.elem.meaning == asDocument {
		return 1
	}
	return literal.MaxDimensions
}

// appendElement appends the text of an element. One that was built on the room behind dst stands where it belongs
// already, and copying it there changes nothing.
func (f *Form) appendElement(dst []byte, n jsonnode.Node) ([]byte, error) {
	text, err := f.elem.read(dst[len(dst):], n)
	return append(dst, text...), err
}

func (f *Form) readString(room []byte, n jsonnode.Node) ([]byte, error) {
	if text, ok := n.Plain(); ok {
		return f.readText(room, text)
	}
	text, err := n.AppendText(room)
	if err != nil {
		return nil, err
	}
	return f.readText(nil, text) // text stands in the room
}

// readText reads the content of a string: text itself, or built on room.
func (f *Form) readText(room, text []byte) ([]byte, error) {
	switch f.meaning {
	case asText, asLiteral, asTimestamp, asMap:
		if f.moment {
			return text, checkMoment(text)
		}
		return text, nil
	case asWhole, asNumber:
		number, ok := literal.Number(text)
		if !ok {
			return nil, errors.New("a text where a number is expected")
		}
		if f.meaning == asWhole {
			return readWhole(room, number)
		}
		return number, nil
	case asBytes:
		if f.modes.Binary == BinaryHex {
			return literal.AppendBytes(room, bytes.TrimPrefix(text, []byte(`\x`)), nil)
		}
		return literal.AppendBytes(room, text, base64.StdEncoding)
	case asDocument:
		if _, err := jsonnode.Parse(text); err != nil {
			return nil, errors.New("a text that is not JSON")
		}
		return text, f.checkDocument(text)
	case asArray, asBool:
	}
	return nil, errors.New("a text where " + f.meaning.wanted() + " is expected")
}

func (f *Form) readNumber(room []byte, n jsonnode.Node) ([]byte, error) {
	switch f.meaning {
	case asText, asNumber:
		return n, nil
	case asWhole:
		return readWhole(room, n)
	case asTimestamp:
		if f.modes.Epoch == "" {
			return nil, fault.New(fault.Poison, "a number where a timestamp is expected").WithHint(
				"if it counts from 1970 in UTC, say in which unit: epoch: s, ms or us")
		}
		return f.readEpoch(room, n)
	case asLiteral, asBool, asBytes, asDocument, asMap, asArray:
	}
	return nil, n.Mismatch(f.meaning.wanted())
}

// wanted names the JSON of a meaning, for a message.
func (m meaning) wanted() string {
	switch m {
	case asBool:
		return "true or false"
	case asWhole, asNumber:
		return "a number"
	case asArray:
		return "an array"
	case asMap:
		return "an object of texts"
	case asText, asLiteral, asTimestamp, asBytes, asDocument:
	}
	return "a string"
}

// checkDocument refuses what jsonb cannot hold.
func (f *Form) checkDocument(n []byte) error {
	if f.zeros {
		return nil
	}
	for rest := n; ; {
		before, after, found := bytes.Cut(rest, []byte(`u0000`))
		if !found {
			return nil
		}
		if slashes := len(before) - len(bytes.TrimRight(before, `\`)); slashes%2 == 1 {
			return errors.New("a zero byte in a document, which PostgreSQL cannot hold")
		}
		rest = after
	}
}

// maxWholeDigits is more than any integer column holds.
const maxWholeDigits = 20

// readWhole is the text of a number for an integer column. PostgreSQL takes no point and no exponent there, which
// programs whose numbers are all floats write for whole numbers, too.
func readWhole(room, number []byte) ([]byte, error) {
	if !bytes.ContainsAny(number, ".eE") {
		if last := number[len(number)-1]; !isDigit(last) { // NaN, Infinity
			return nil, errors.New("no digits where a whole number is expected")
		}
		return number, nil
	}
	digits, negative := bytes.CutPrefix(number, []byte("-"))
	at := bytes.IndexAny(digits, "eE")
	exponent := 0
	if at >= 0 {
		exponent = smallInteger(digits[at+1:])
		digits = digits[:at]
	}
	whole, fraction, _ := bytes.Cut(digits, []byte("."))
	digits = bytes.TrimLeft(slices.Concat(whole, fraction), "0")
	significant := bytes.TrimRight(digits, "0")
	zeros := len(digits) - len(significant) + exponent - len(fraction)
	switch {
	case len(significant) == 0:
		return append(room, '0'), nil
	case zeros < 0 || len(significant)+zeros > maxWholeDigits:
		return nil, errors.New("a number that is not whole, or out of range, where a whole number is expected")
	case negative:
		room = append(room, '-')
	}
	return append(append(room, significant...), strings.Repeat("0", zeros)...), nil
}

// smallInteger reads an exponent; what is far out of range stays far out of range.
func smallInteger(text []byte) int {
	const far = 1 << 20
	value := 0
	for _, c := range text {
		if c >= '0' && c <= '9' {
			value = min(10*value+int(c-'0'), far)
		}
	}
	if text[0] == '-' {
		return -value
	}
	return value
}
