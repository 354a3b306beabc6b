package config_test

import (
	"fmt"
	"strings"
	"testing"

	"tidemark/shared/config"
	"tidemark/shared/config/setting"
)

func TestParseFlowIsStrict(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ file, says string }{
		"UnknownKey": {leastFlow + "topic: a\n", `f:5:1: "topic" is unknown; did you mean topics?`},
		"UnknownKeyInSection": {
			leastFlow + "debezium:\n  binry: hex\n",
			`f:6:3: "debezium.binry" is unknown; did you mean debezium.binary?`,
		},
		"DuplicateKey": {leastFlow + "'flow': b\n", "f:5:1: flow is set twice, before in line 1; remove one"},
		"WrongType":    {"flow: [a]\nformat: debezium\ntopics: [a]\nlog: dense\n", "f:1:7: flow: the value is a list"},
		"MissingKeys":  {"log: dense\n", "f:1:1: flow is not set; want 1 to 63 characters"},
		"NoSilentLog":  {strings.TrimSuffix(leastFlow, "log: dense\n"), "f:1:1: log is not set; want dense"},
		"TabForIndentation": {
			leastFlow + "debezium:\n\tbinary: hex\n",
			"f:6:1: a line is indented with a tab: YAML wants spaces",
		},
		"TabAfterSpaces":   {leastFlow + "debezium:\n  \tbinary: hex\n", "f:6:3: a line is indented with a tab"},
		"Empty":            {"", "f: is empty"},
		"OnlyComments":     {"# nothing\n\n", "f: is empty"},
		"OnlyAHeader":      {"---\n", "f: is empty"},
		"TwoDocuments":     {leastFlow + "---\n" + leastFlow, "f:5:1: holds several documents"},
		"TrailingDocument": {leastFlow + "---\n", "f:5:1: holds several documents"},
		"AList":            {"- flow: a\n", "f:1:1: is a list: this file is a map"},
		"AWord":            {"flow\n", "f:1:1: is text"},
		"ANumber":          {"1\n", "f:1:1: is a whole number"},
		"Unclosed":         {"topics: [a\n", "f:1:9: is not YAML: "},
		"Nonsense":         {"a: b: c\n", "f:1:4: is not YAML: "},
		"Anchor":           {"flow: &a shop\n", "f:1:7: an anchor (&) has no place here"},
		"Alias":            {"flow: *a\n", "f:1:7: an alias (*) has no place here"},
		"MergeKey":         {"<<: {flow: a}\n", "f:1:1: a merge key (<<) has no place here"},
		"Tag":              {"flow: !!str 1\n", "f:1:7: a tag (!) has no place here"},
		"Directive":        {"%YAML 1.2\n---\nflow: a\n", "f:1:1: a directive (%) has no place here"},
		"ExplicitKey":      {"? flow\n: a\n", "f:1:1: an explicit key (?) has no place here"},
		"ControlCharacter": {"flow: a\x00\n", "f:1:8: holds the control character U+0000"},
		"Escape":           {"flow: \x1b[31m\n", "f:1:7: holds the control character U+001B"},
		"NotUTF8":          {"flow: \"ü\xff\"\n", "f:1:9: is not text in UTF-8"},
		"NumberAsKey":      {leastFlow + "1: a\n", `f:5:1: "1" is unknown`},
		"LongKey":          {leastFlow + strings.Repeat("k", 200) + ": a\n", "… (200 bytes) is unknown"},
	} {
		t.Run("Refuses"+name, func(t *testing.T) {
			t.Parallel()
			_, err := config.ParseFlow("f", []byte(test.file))
			refused(t, err, test.says)
		})
	}
	for name, file := range map[string]string{
		"ByteOrderMark": "\ufeff" + leastFlow, "WindowsLines": strings.ReplaceAll(leastFlow, "\n", "\r\n"),
		"OneDocument": "---\n" + leastFlow + "...\n", "Comments": "# a\n" + strings.ReplaceAll(leastFlow, "\n", " # b\n"),
		"NoLastNewline": strings.TrimSpace(leastFlow), "BlankLines": "\n \t\n" + leastFlow,
		"JSON": `{"flow": "shop", "format": "debezium", "topics": ["dbn.shop.orders"], "log": "dense"}`,
	} {
		t.Run("Takes"+name, func(t *testing.T) {
			t.Parallel()
			if _, err := config.ParseFlow("f", []byte(file)); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("ReportsEverythingAtOnce", func(t *testing.T) {
		t.Parallel()
		_, err := config.ParseFlow("f", []byte("flow: A\nformat: avro\nlog: brokers\nbogus: 1\n"))
		refused(t, err, `f:1:7: flow: "A" is not`, `f:2:9: format: "avro" is not an allowed value; want debezium or plain`,
			`f:3:6: log: "brokers" is not offered`, "needs log: dense", "f:4:1: ", "f:1:1: topics is not set")
	})
	t.Run("SpellsOutTwentyProblems", func(t *testing.T) {
		t.Parallel()
		var b strings.Builder
		for i := range 3000 {
			fmt.Fprintf(&b, "key%d: 1\n", i)
		}
		_, err := config.ParseFlow("f", []byte(b.String()))
		refused(t, err, `"key19" is unknown`, "; and 2984 more")
		if strings.Contains(err.Error(), "key20") || len(err.Error()) > 4096 {
			t.Errorf("the message is too long: %d bytes", len(err.Error()))
		}
	})
}

// Inputs of the largest size that take time with the square of their length, or memory, unless they are bounded.
// Without the bound on tokens the slowest takes minutes, and the deadline of go test ends it.
func TestParseFlowIsBounded(t *testing.T) {
	t.Parallel()
	const size = setting.MaxYAMLBytes
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'n'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat("*"+string(c-1)+",", 10), ","))
	}
	inputs := map[string]string{"Bomb": bomb}
	for _, unit := range []string{
		"[", "{a: ", "- ", "a: ", "? ", "!", "&a ", "*a ", `"`, "'", "|", "#", "a\n", "- a\n", "a: b\n", "---\n",
		"%a\n", ":", " ", "\n",
		"a", "\t", "\x00", "\xff", "{", "}", "]", ",", "<<: ", `"" `, "- - a\n", "a:\n ", "😀", ">\n",
	} {
		inputs[fmt.Sprintf("%q", unit)] = strings.Repeat(unit, size/len(unit))
	}
	for name, input := range inputs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := config.ParseFlow("f", []byte(input))
			refused(t, err)
			if err != nil && len(err.Error()) > 8192 {
				t.Errorf("the message has %d bytes", len(err.Error()))
			}
		})
	}
	t.Run("TooLarge", func(t *testing.T) {
		t.Parallel()
		_, err := config.ParseFlow("f", []byte(leastFlow+strings.Repeat("\x00[garbage", 110_000)))
		refused(t, err, "f: is larger than 262144 bytes")
		if _, err := config.ParseFlow("f", []byte(leastFlow+strings.Repeat("# comment\n", 26_000))); err != nil {
			t.Errorf("comments up to the limit: %v", err)
		}
	})
}
