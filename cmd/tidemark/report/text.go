package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"tidemark/shared/fault"
)

// OneLine is a text that may stand in a message or in a cell: without line breaks, and with every other character that is not
// printed written out. Names of tables are anybody's text, and a terminal obeys what stands in one.
func OneLine(text string) string {
	var b strings.Builder
	for _, r := range strings.ReplaceAll(text, "\n", "; ") {
		if strconv.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

// FirstLine is what an error says first, with its class.
func FirstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return OneLine(fault.ClassOf(err).String() + ": " + text)
}

// Age is a while ago for a person.
func Age(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < 0:
		return "ahead"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 2*day:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d/day))
}

// Count is a number of things for a person.
func Count[N ~int | ~int64](n N, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// OrDash is a text, or a dash where there is none.
func OrDash(text string) string {
	if text == "" {
		return "-"
	}
	return OneLine(text)
}

// Stamp is a moment for a person.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }
