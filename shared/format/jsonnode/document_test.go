package jsonnode_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"tidemark/shared/format/jsonnode"
)

// checkDocument parses text with a Document that may have seen others, and holds it against jsontext: what it accepts,
// and where every member of every object stands.
func checkDocument(t interface{ Fatalf(string, ...any) }, d *jsonnode.Document, text []byte) {
	got, err := d.Parse(text)
	node, errOfParse := jsonnode.Parse(text)
	if valid := jsontext.Value(text).IsValid(); (err == nil) != valid || (errOfParse == nil) != valid {
		t.Fatalf("got error %v of Document and %v of Parse, jsontext says valid=%t of %q", err, errOfParse, valid, text)
	}
	if err != nil {
		if err.Error() != errOfParse.Error() {
			t.Fatalf("got error %v of Document and %v of Parse", err, errOfParse)
		}
		return
	}
	if !bytes.Equal(got.Node, node) {
		t.Fatalf("got the value %q, want %q", got.Node, node)
	}
	if diff := difference(&got, 8); diff != "" {
		t.Fatalf("%s in %q", diff, text)
	}
}

// difference is the first member that an object has otherwise than jsontext, looked for in that many objects within
// each other.
func difference(got *jsonnode.Object, depth int) string {
	want := jsontext.NewDecoder(bytes.NewReader(got.Node))
	members := got.Members()
	if got.Kind() != '{' {
		if members.Next() {
			return "got a member of what is no object"
		}
		return ""
	}
	_, _ = want.ReadToken()
	for members.Next() {
		name, _ := want.ReadValue()
		if !bytes.Equal(members.Quoted(), name) {
			return fmt.Sprintf("got the name %q, want %q", members.Quoted(), name)
		}
		if content, _ := jsontext.AppendUnquote(nil, name); !bytes.Equal(members.Name(), content) {
			return fmt.Sprintf("got the name %q, want %q", members.Name(), content)
		}
		if value, _ := want.ReadValue(); !bytes.Equal(members.Node(), value) {
			return fmt.Sprintf("got the value %q, want %q", members.Node(), value)
		}
		inner := members.Object()
		if depth > 1 {
			if diff := difference(&inner, depth-1); diff != "" {
				return diff
			}
		}
	}
	if want.PeekKind() != '}' {
		return "got too few members"
	}
	return ""
}

// checkParseLast holds ParseLast against Parse for a text that begins as first, up to its last value, and ends as rest.
func checkParseLast(t interface{ Fatalf(string, ...any) }, first, rest []byte) {
	d := new(jsonnode.Document)
	root, err := d.Parse(first)
	if err != nil || root.Kind() != '{' {
		return
	}
	count, offset := 0, 0
	for w := root.Members(); w.Next(); count++ {
		offset = w.Offset()
	}
	if count == 0 {
		return
	}
	text := append(bytes.Clone(first[:offset]), rest...)
	var want []byte
	if root, err := new(jsonnode.Document).Parse(text); err == nil {
		for w := root.Members(); w.Next(); count-- {
			want = w.Node()
		}
	}
	got, ok := d.ParseLast(text, offset)
	if ok != (count == 0) || ok && !bytes.Equal(got.Node, want) {
		t.Fatalf("got %q, %t, want %q of %q", got.Node, ok, want, text)
	}
	if diff := difference(&got, 8); ok && diff != "" {
		t.Fatalf("%s in %q", diff, text)
	}
}

// corpus are texts at the edges of the grammar.
func corpus() []string {
	many := func(count int, last string) string {
		var text strings.Builder
		for i := range count {
			fmt.Fprintf(&text, `"n%d":%d,`, i, i)
		}
		return "{" + text.String() + last + ":0}"
	}
	deep := func(open, inner, end string, depth int) string {
		return strings.Repeat(open, depth) + inner + strings.Repeat(end, depth)
	}
	return []string{
		``, ` `, `{}`, `[]`, `{"a":1}`, `{"a":1,}`, `{,}`, `[,]`, `[1,]`, `{"a"}`, `{"a":}`, `{a:1}`, `{"a":1 "b":2}`, `{"a":1}}`,
		`{"a":[{"b":{"c":1}},{"b":2}],"d":{"b":{"c":1}}}`, `{"a":{"x":1},"x":2}`, `{"a":{"x":1,"x":2}}`, `{"a":1,"a":2}`,
		`{"a":1,"\u0061":2}`, `{"\u0061":1,"a":2}`, `{"a\u0062":1,"\u0061b":2}`, `{"":1,"":2}`, `{"":1,"a":2,"":3}`,
		`[{"a":1,"a":2}]`, `{"12345678a":1,"12345678b":2,"12345678a":3}`, "{ \"a\" : 1 , \"b\"\n:\r{\t} } ", `{"a":{}}`, `{"a":null}`,
		`0`, `-0`, `00`, `01`, `-`, `-a`, `1.`, `1.0`, `.5`, `1e`, `1e+`, `1E-7`, `1.5e+10`, `1x`, `12345678901234567890`, `+1`,
		`null`, `nul`, `nulll`, `true`, `false`, `tru`, `fals`, `TRUE`, `"`, `""`, `"a`, `"\`, `"\"`, `"\x"`, `"\u12"`, `"\u12G4"`,
		`"\u00e9\n\/\b\f\r\t\\"`, `"\ud83d\ude00"`, `"\uD83D\uDE00"`, `"\ud83d"`, `"\ud83dx"`, `"\ud83d\u0041"`, `"\ude00\ud83d"`,
		`"\ud83d\ud83d"`, `"\ud83d\n12345"`, "\"\x00\"", "\"\x1f\"", "\"\x7f\"", "\"12345678\x1f\"", "\"\xff\"", "\"\xed\xa0\x80\"",
		"\"\xc0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xe6\xbc\"", "\"漢字 öäü 😀 \uFFFD\"", "{\"\xff\":1}", "{\"漢\":1,\"漢\":2}",
		"\xef\xbb\xbf{}", "\u00a0{}", `{} {}`, `{},`, `,{}`, `:1`, `]`, `}`, `{]`, `[}`, `"a":1`,
		many(31, `"n7"`), many(31, `"x"`), many(32, `"n0"`), many(33, `"n32"`), many(33, `"\u006e7"`), many(200, `"n150"`),
		many(200, `"x"`), many(200, `"\u006e200"`), many(31, `"\u006e7"`), many(300, `"n\u0032"`),
		deep(`[`, ``, `]`, 10_000), deep(`[`, ``, `]`, 10_001), deep(`{"a":`, `1`, `}`, 10_000), deep(`{"a":`, `1`, `}`, 10_001),
		deep(`{"a":[`, ``, `]}`, 5_000), deep(`{"a":[`, `[]`, `]}`, 5_000),
	}
}

func TestDocumentReadsAsJSONText(t *testing.T) {
	t.Parallel()
	texts := corpus()
	used := new(jsonnode.Document)
	for range 3 {
		for i, text := range texts {
			checkDocument(t, new(jsonnode.Document), []byte(text))
			checkDocument(t, used, []byte(text))
			other := texts[(i*7)%len(texts)]
			checkDocument(t, used, []byte(other))
			for _, end := range []string{"}", " } ", "", "}}", `,"y":1}`, `,"a":1}`} {
				checkParseLast(t, []byte(text), []byte(other+end))
			}
		}
	}
}

// TestDocumentRemembersNothingWrong parses random texts in turn, which repeat names in other places and orders.
func TestDocumentRemembersNothingWrong(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := new(jsonnode.Document)
		for range rapid.IntRange(1, 12).Draw(t, "texts") {
			text := []byte(anyValue(t, 4))
			if rapid.IntRange(0, 3).Draw(t, "damage") == 0 && len(text) > 0 {
				text[rapid.IntRange(0, len(text)-1).Draw(t, "at")] ^= byte(1 << rapid.IntRange(0, 7).Draw(t, "bit"))
			}
			checkDocument(t, d, text)
		}
	})
}

// anyValue draws a text that is valid unless a name was drawn twice.
func anyValue(t *rapid.T, depth int) string {
	kind := rapid.IntRange(0, 7).Draw(t, "kind")
	if depth == 0 {
		kind %= 4
	}
	blank := rapid.SampledFrom([]string{"", "", "", " ", "\n"}).Draw(t, "blank")
	switch kind {
	case 0:
		return rapid.SampledFrom([]string{"null", "true", "false", "0", "-1.5e3"}).Draw(t, "scalar")
	case 1, 2, 3:
		return rapid.SampledFrom([]string{`""`, `"a\"b"`, `"long enough for eight"`, `"漢\u0000"`}).Draw(t, "string")
	case 4:
		var items []string
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			items = append(items, anyValue(t, depth-1))
		}
		return "[" + blank + strings.Join(items, ","+blank) + "]"
	}
	names := []string{`"a"`, `"b"`, `"\u0061"`, `"ab"`, `"name\n"`, `"a name that is long"`, `"a name that was long"`, `"漢"`}
	names = rapid.Permutation(names).Draw(t, "names")[:rapid.IntRange(0, 5).Draw(t, "members")]
	if len(names) > 0 && rapid.IntRange(0, 9).Draw(t, "twin") == 0 {
		names = append(names, names[0])
	}
	for i, name := range names {
		names[i] = name + blank + ":" + anyValue(t, depth-1)
	}
	return "{" + blank + strings.Join(names, ","+blank) + "}"
}

// TestDocumentForgets fills the memory of names over and over.
func TestDocumentForgets(t *testing.T) {
	t.Parallel()
	d := new(jsonnode.Document)
	for round := range 12 {
		var text strings.Builder
		for i := range 1500 {
			fmt.Fprintf(&text, `,"a name of round %d and number %d":{"x":%d}`, round, i, i)
		}
		checkDocument(t, d, []byte(`{"same":{"y":1}`+text.String()+`}`))
		checkDocument(t, d, []byte(`{"same":{"y":1,"y":2}`+text.String()+`}`))
		checkDocument(t, d, []byte(`{"same":{"y":1}`+text.String()+`,"same":1}`))
	}
}

func FuzzDocument(f *testing.F) {
	texts := corpus()
	for i, text := range texts {
		if len(text) < 1000 {
			f.Add([]byte(text), []byte(texts[(i+1)%len(texts)]))
			f.Add([]byte(text), []byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		d := new(jsonnode.Document)
		for _, text := range [][]byte{first, second, first, second} {
			checkDocument(t, d, text)
		}
		checkParseLast(t, first, second)
		checkParseLast(t, first, append(bytes.Clone(second), '}'))
	})
}
