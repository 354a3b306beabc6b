package jsonnode_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/shared/format/jsonnode"
)

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"Nothing":         {"", "ends early"},
		"Half":            {`{"secret":`, "ends early"},
		"DoubledName":     {`{"a":{"secret":1,"secret":2}}`, "stands twice"},
		"DoubledByEscape": {`{"a":1,"\u0061":2}`, "stands twice"},
		"BrokenUTF8":      {"\"secret\xff\"", "not valid JSON at byte"},
		"LoneSurrogate":   {`"\ud800"`, "not valid JSON at byte"},
		"TwoValues":       {`{} {"secret":1}`, "more than one"},
		"NoJSON":          {`Struct{secret=1}`, "not valid JSON at byte"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := jsonnode.Parse([]byte(test.text))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error holds payload: %v", err)
			}
		})
	}
}

func TestWalk(t *testing.T) {
	t.Parallel()
	const text = " { \"a\\\"b\" : 1.0 , \"s\":\"x\\\\\" ,\"deep\":{\"]\":[\"}\\\"\",{}]},\"list\":[ ],\"last\":null\n}\t"
	root, err := jsonnode.Parse([]byte(text))
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	var got []string
	for w := root.Walk(); ; {
		name, value, ok := w.Member()
		if !ok {
			break
		}
		got = append(got, string(name)+" "+value.What()+" "+string(value))
	}
	want := []string{
		`a"b a number 1.0`, `s a string "x\\"`, `deep an object {"]":["}\"",{}]}`, `list an array [ ]`,
		`last null null`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("members differ (-want +got):\n%s", diff)
	}
}

// TestWalkFindsEveryElement holds the walk against the standard library for strings of the characters that matter.
func TestWalkFindsEveryElement(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOf(rapid.StringMatching(`[\\"\[\]{},: \na漢]{0,8}`)).Draw(t, "texts")
		text, err := json.MarshalIndent(want, "", " ")
		if err != nil {
			t.Fatalf("marshal: %v", err)
		}
		if want == nil {
			text = []byte("[]")
		}
		root, err := jsonnode.Parse(text)
		if err != nil {
			t.Fatalf("parse: %v", err)
		}
		var got []string
		for w := root.Walk(); ; {
			element, ok := w.Element()
			if !ok {
				break
			}
			got = append(got, string(element.Text()))
		}
		if len(got) != len(want) || !cmp.Equal(got, append([]string(nil), want...)) {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

// TestTextKeepsZeroBytes holds because nothing in their place would be an empty text, which base64 and digits may be.
func TestTextKeepsZeroBytes(t *testing.T) {
	t.Parallel()
	root, err := jsonnode.Parse([]byte(`"\u0000"`))
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	if got := string(root.Text()); got != "\x00" {
		t.Errorf("got %q, want the zero byte", got)
	}
	if _, err := root.AppendText(nil); err == nil {
		t.Error("got no error of AppendText")
	}
}
