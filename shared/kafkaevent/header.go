package kafkaevent

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"tidemark/shared/record"
)

// readHeaders reads a list of objects, each with one header as its member: the form keeps order and repeated names.
// A flaw in one header leaves the record without any, because a list with a hole would pass for the producer's.
func (e *entry) readHeaders() error {
	if e.json.PeekKind() == jsontext.KindNull {
		return e.json.SkipValue()
	}
	if e.json.PeekKind() != jsontext.KindBeginArray {
		e.flawed("headers: neither an array nor null")
		return e.json.SkipValue()
	}
	e.headers = e.headers[:0]
	sound := true
	err := e.elements(func(number int) error {
		flaw, err := e.header()
		if flaw != "" {
			sound = false
			e.flawed("headers[" + strconv.Itoa(number) + "]: " + flaw)
		}
		return err
	})
	if sound && len(e.headers) > 0 {
		e.record.Headers = slices.Clone(e.headers)
	}
	return err
}

// header reads one element of the list into the scratch headers.
func (r *reader) header() (flaw string, err error) {
	if r.json.PeekKind() != jsontext.KindBeginObject {
		return "not an object", r.json.SkipValue()
	}
	err = r.members(func(text []byte) error {
		name := r.name(text)
		raw, err := r.json.ReadValue()
		if err != nil {
			return err
		}
		value, reason := r.headerValue(raw)
		if !utf8.ValidString(name) {
			reason = "name is not UTF-8"
		}
		flaw = cmp.Or(flaw, reason)
		r.headers = append(r.headers, record.Header{Name: name, Value: value})
		return nil
	})
	return flaw, err
}

// headerValue reads the bytes of a header. The service writes a list of numbers, signed ones as its language has
// them; other senders write unsigned numbers, or base64 as for a value.
func (r *reader) headerValue(raw jsontext.Value) (record.Data, string) {
	if raw.Kind() != jsontext.KindBeginArray {
		return r.data(raw)
	}
	content := raw[1 : len(raw)-1]
	if len(bytes.TrimSpace(content)) == 0 {
		return record.Present(nil), ""
	}
	r.bytes = r.bytes[:0]
	// The array is valid JSON, so whatever is not a number (a string or list with a comma in it, too) yields a piece
	// that does not parse as one.
	for item := range bytes.SplitSeq(content, []byte{','}) {
		number, err := strconv.ParseInt(string(bytes.TrimSpace(item)), 10, 64)
		if err != nil || number < math.MinInt8 || number > math.MaxUint8 {
			return record.Missing(), "not a list of bytes from -128 to 255"
		}
		r.bytes = append(r.bytes, byte(number))
	}
	kept := r.take(len(r.bytes))
	copy(kept, r.bytes)
	return record.Present(kept), ""
}
