package report_test

import (
	"testing"
	"time"

	"tidemark/cmd/tidemark/report"
)

func TestOneLineLeavesNothingForATerminalToObey(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain ü €":      "plain ü €",
		"a\nb":           "a; b",
		"a\tb\rc":        `a\tb\rc`,
		"\x1b]0;title\a": `\x1b]0;title\a`,
		"\u202egnp.exe":  `\u202egnp.exe`,
		"\u009b2J":       `\u009b2J`,
		"bad \xff byte":  `bad � byte`,
		`back\slash "q"`: `back\slash "q"`,
		"":               "",
	} {
		if got := report.OneLine(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestAge(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "ahead", 59 * time.Second: "59s", 61 * time.Second: "1m", 47 * time.Hour: "47h", 49 * time.Hour: "2d",
	} {
		if got := report.Age(d); got != want {
			t.Errorf("%s: got %s, want %s", d, got, want)
		}
	}
}
