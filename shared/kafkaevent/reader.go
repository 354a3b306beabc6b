package kafkaevent

import (
	"bytes"
	"encoding/base64"

	"github.com/go-json-experiment/json/jsontext"

	"tidemark/shared/record"
)

// reader walks the JSON of one event in one pass and keeps what it decodes in few, large allocations.
//
// Methods return errors of the JSON's grammar only: from such an error on nothing can be read. What the JSON means
// is judged by callers, who have always consumed the whole value when they judge, so that the walk goes on behind
// it.
type reader struct {
	json   *jsontext.Decoder
	base64 *base64.Encoding

	chunk   int               // size of the next free
	free    []byte            // unused rest of the latest allocation
	names   map[string]string // header names, which repeat from record to record
	text    []byte            // scratch of unquote
	bytes   []byte            // scratch of signedBytes
	headers []record.Header   // scratch of headers
}

const maxChunk = 64 << 10

func newReader(payload []byte) *reader {
	return &reader{
		// A repeated name and invalid UTF-8 are a flaw of the record that has them. The parser would refuse the whole
		// event.
		json: jsontext.NewDecoder(bytes.NewBuffer(payload),
			jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)),
		// Strict, because a damaged last character would otherwise decode to the same bytes unseen.
		base64: base64.StdEncoding.Strict(),
		chunk:  min(maxChunk, len(payload)),
		names:  make(map[string]string),
	}
}

// members calls visit with each member's name, in order, for the object that comes next. The name is valid until
// visit reads; visit must read one value.
func (r *reader) members(visit func(name []byte) error) error {
	if _, err := r.json.ReadToken(); err != nil {
		return err
	}
	for r.json.PeekKind() != jsontext.KindEndObject {
		raw, err := r.json.ReadValue()
		if err != nil {
			return err
		}
		if err := visit(r.unquote(raw)); err != nil {
			return err
		}
	}
	_, err := r.json.ReadToken()
	return err
}

// elements calls visit for each element, counted from 0, of the array that comes next; visit must read one value.
func (r *reader) elements(visit func(number int) error) error {
	if _, err := r.json.ReadToken(); err != nil {
		return err
	}
	for number := 0; r.json.PeekKind() != jsontext.KindEndArray; number++ {
		if err := visit(number); err != nil {
			return err
		}
	}
	_, err := r.json.ReadToken()
	return err
}

// unquote gives the text of a JSON string, valid until the next call. Text that is not UTF-8 comes as it is or with
// U+FFFD in the place of what is wrong; neither equals a name that is looked for.
func (r *reader) unquote(raw jsontext.Value) []byte {
	inner := raw[1 : len(raw)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	r.text, _ = jsontext.AppendUnquote(r.text[:0], []byte(raw)) // the grammar is checked, so only UTF-8 can be wrong
	return r.text
}

// data reads a key or value: null, or a string of base64.
func (r *reader) data(raw jsontext.Value) (record.Data, string) {
	if raw.Kind() == jsontext.KindNull {
		return record.Null(), ""
	}
	if raw.Kind() != jsontext.KindString {
		return record.Missing(), "neither a string nor null"
	}
	text := r.unquote(raw)
	into := r.take(r.base64.DecodedLen(len(text)))
	n, err := r.base64.Decode(into, text)
	if err != nil {
		return record.Missing(), "not base64"
	}
	return record.Present(into[:n:n]), ""
}

// take gives n bytes that nobody else has. Large ones get memory of their own, so that keeping one record of an
// event alive keeps at most a chunk of the others.
func (r *reader) take(n int) []byte {
	if n > len(r.free) {
		if n > r.chunk/4 {
			return make([]byte, n)
		}
		r.free = make([]byte, r.chunk)
	}
	taken := r.free[:n:n]
	r.free = r.free[n:]
	return taken
}

// name keeps one copy of each header name.
func (r *reader) name(text []byte) string {
	if kept, ok := r.names[string(text)]; ok {
		return kept
	}
	kept := string(text)
	r.names[kept] = kept
	return kept
}
