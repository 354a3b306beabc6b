package literal_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/shared/format/jsonnode"
	"tidemark/shared/format/literal"
)

func TestNumber(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0": "0", "-1.50": "-1.50", "1E-7": "1E-7", "1e+7": "1e+7", "007": "007", "NaN": "NaN", "NAN": "NaN",
		"POSITIVE_INFINITY": "Infinity", "-Infinity": "-Infinity", "NEGATIVE_INFINITY": "-Infinity",
		"": "", "-": "", "+1": "", ".5": "", "5.": "", "1e": "", "1e+-5": "", "1e+": "", "1e123456789": "",
		" 1": "", "1_000": "",
		"0x1": "", "nan": "", "1.2.3": "", "--1": "",
	} {
		got, ok := literal.Number([]byte(text))
		if ok != (want != "") || ok && string(got) != want {
			t.Errorf("%q: got %q, %t, want %q", text, got, ok, want)
		}
	}
}

func TestAppendBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.SliceOf(rapid.Byte()).Draw(t, "raw")
		want := `before\x` + hex.EncodeToString(raw)
		for _, encoding := range []*base64.Encoding{nil, base64.StdEncoding, base64.URLEncoding} {
			encoded := []byte(hex.EncodeToString(raw))
			if encoding != nil {
				encoded = encoding.AppendEncode(nil, raw)
			}
			got, err := literal.AppendBytes([]byte("before"), encoded, encoding)
			if err != nil || string(got) != want {
				t.Fatalf("got %q, %v, want %q", got, err, want)
			}
		}
	})
}

// parseArray reads one dimension of an array's literal by the rules of PostgreSQL's manual.
func parseArray(literal string) []string {
	elements, element, quoted, was := []string{}, []byte{}, false, false
	for i := 1; i < len(literal); i++ {
		switch c := literal[i]; {
		case c == '\\':
			i++
			element = append(element, literal[i])
		case c == '"':
			quoted, was = !quoted, true
		case !quoted && (c == ',' || c == '}'):
			if len(literal) > 2 {
				text := string(element)
				if !was && strings.EqualFold(text, "null") {
					text = "(null)"
				}
				elements = append(elements, text)
			}
			element, was = element[:0], false
		default:
			element = append(element, c)
		}
	}
	return elements
}

func TestAppendArrayIsReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOf(rapid.StringMatching(`[nulNUL{},"\\ \t\v漢]{0,6}`)).Draw(t, "texts")
		json := []byte{'['}
		for i, text := range want {
			if i > 0 {
				json = append(json, ',')
			}
			json = append(json, quoted(text)...)
		}
		n, err := jsonnode.Parse(append(json, ']'))
		if err != nil {
			t.Fatalf("parse: %v", err)
		}
		content := func(dst []byte, n jsonnode.Node) ([]byte, error) { return n.AppendText(dst) }
		got, err := literal.AppendArray(nil, n, 1, content)
		if err != nil {
			t.Fatalf("append: %v", err)
		}
		if diff := cmp.Diff(append([]string{}, want...), parseArray(string(got))); diff != "" {
			t.Fatalf("%s: %s", got, diff)
		}
	})
}

// quoted is text as a string in JSON.
func quoted(text string) string {
	return `"` + strings.NewReplacer(`"`, `\"`, `\`, `\\`, "\t", `\t`, "\v", `\u000b`).Replace(text) + `"`
}

func TestAppendArrayCountsDimensions(t *testing.T) {
	t.Parallel()
	n, err := jsonnode.Parse([]byte(`[[1, [2]], null]`))
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	asItStands := func(dst []byte, n jsonnode.Node) ([]byte, error) { return append(dst, n...), nil }
	for dimensions, want := range []string{1: `{"[1, [2]]",NULL}`, 2: `{{1,[2]},NULL}`, 3: `{{1,{2}},NULL}`} {
		if dimensions == 0 {
			continue
		}
		got, err := literal.AppendArray(nil, n, dimensions, asItStands)
		if err != nil || string(got) != want {
			t.Errorf("%d: got %s, %v, want %s", dimensions, got, err, want)
		}
	}
}

func TestAppendMap(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, json, want string }{
		{"Scalars", `{"a":"1","b\"\\":null,"":true,"n":1.0}`, `"a"=>"1", "b\"\\"=>NULL, ""=>"true", "n"=>"1.0"`},
		{"Nothing", `{}`, ``},
		{"RefusesNesting", `{"a":["secret"]}`, `!an array where a text in a map`},
		{"RefusesAZeroByteInAName", `{"\u0000":1}`, `!a zero byte`},
		{"RefusesAZeroByte", `{"a":"secret\u0000"}`, `!a zero byte`},
		{"RefusesAnArray", `["secret"]`, `!an array where a map`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			n, err := jsonnode.Parse([]byte(test.json))
			if err != nil {
				t.Fatalf("parse: %v", err)
			}
			got, err := literal.AppendMap(nil, n)
			if words, ok := strings.CutPrefix(test.want, "!"); ok {
				if err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "secret") {
					t.Errorf("got %v, want %q", err, words)
				}
				return
			}
			if err != nil || !bytes.Equal(got, []byte(test.want)) {
				t.Errorf("got %s, %v, want %s", got, err, test.want)
			}
		})
	}
}
