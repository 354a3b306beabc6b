package wire

import (
	"bytes"
	"crypto/md5" //nolint:gosec // the source derives a UUID Placeholder with it; nothing is protected by it
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"tidemark/shared/change"
	"tidemark/shared/format/jsonnode"
)

// Placeholder knows the forms in which the source says "this value lies out of line and did not change". It is the
// bare text for text, JSON and every type without a form of its own; the connector has special ones for bytes (their
// base64), arrays (one element; of integers and dates the byte values; of UUIDs a name-based UUID) and hstore (a map
// of the text to itself).
type Placeholder struct {
	raw    []byte
	text   []byte    // raw as the source's text
	binary [3][]byte // as the three binary modes write it
	hstore []byte
	uuid   []byte
	least  int // the length of the shortest of them
}

// NewPlaceholder makes the forms of the connector's unavailable.value.placeholder: a text, or bytes as "hex:" and
// digits.
func NewPlaceholder(option string) (Placeholder, error) {
	raw := []byte(option)
	if digits, ok := strings.CutPrefix(option, "hex:"); ok {
		decoded, err := hex.DecodeString(digits)
		if err != nil {
			return Placeholder{}, errors.New(`want an even number of hex digits after "hex:"`)
		}
		raw = decoded
	}
	if len(raw) == 0 {
		return Placeholder{}, errors.New("want at least one byte")
	}
	id := md5.Sum(raw) //nolint:gosec // as above
	id[6], id[8] = id[6]&0x0f|0x30, id[8]&0x3f|0x80
	text := bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	quoted, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		return Placeholder{}, errors.New("want text or bytes")
	}
	p := Placeholder{
		raw:  raw,
		text: text,
		binary: [3][]byte{
			base64.StdEncoding.AppendEncode(nil, raw),
			base64.URLEncoding.AppendEncode(nil, raw),
			hex.AppendEncode(nil, raw),
		},
		hstore: fmt.Appendf(nil, "{%s:%s}", quoted, quoted),
		uuid:   fmt.Appendf(nil, "%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:]),
	}
	p.least = min(len(p.text), len(p.binary[0]), len(p.binary[1]), len(p.binary[2]), len(p.hstore))
	return p, nil
}

// standsFor says whether n is the Placeholder for a value of that form. A value that merely holds the text is data.
func (p *Placeholder) standsFor(f *Form, n jsonnode.Node) bool {
	switch n.Kind() {
	case '"':
		return p.isText(f, n)
	case '[':
		return f.kind == change.KindArray && p.isArray(f.elem, n)
	case '{':
		if f.kind != change.KindHStore {
			return false
		}
		w := n.Walk()
		name, value, ok := w.Member()
		return ok && bytes.Equal(name, p.text) && bytes.Equal(value.Text(), p.text)
	}
	return false
}

func (p *Placeholder) isText(f *Form, n jsonnode.Node) bool {
	if len(n) < len(`""`)+p.least { // escapes only make it longer
		return false
	}
	content, ok := n.Plain()
	if !ok {
		if len(n) > 6*len(p.hstore) { // longer than the Placeholder with every character escaped
			return false
		}
		content = n.Text()
	}
	switch {
	case bytes.Equal(content, p.text):
		return true
	case f.kind == change.KindBytea:
		return bytes.Equal(content, p.binary[0]) || bytes.Equal(content, p.binary[1]) || bytes.Equal(content, p.binary[2])
	}
	return f.kind == change.KindHStore && bytes.Equal(content, p.hstore)
}

func (p *Placeholder) isArray(elem *Form, n jsonnode.Node) bool {
	w := n.Walk()
	first, ok := w.Element()
	if !ok {
		return false
	}
	if elem.kind == change.KindInteger || elem.kind == change.KindDate {
		return p.isCodes(n)
	}
	if _, more := w.Element(); more || first.Kind() != '"' {
		return false
	}
	return p.isText(elem, first) || bytes.Equal(first.Text(), p.uuid)
}

// isCodes says whether n lists the bytes of the Placeholder as signed numbers.
func (p *Placeholder) isCodes(n jsonnode.Node) bool {
	w := n.Walk()
	for _, b := range p.raw {
		code := int64(b)
		if code > 127 {
			code -= 256
		}
		element, ok := w.Element()
		if !ok {
			return false
		}
		if got, err := strconv.ParseInt(string(element), 10, 64); err != nil || got != code {
			return false
		}
	}
	_, more := w.Element()
	return !more
}
