package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"tidemark/tests/bench/result"
)

// section begins a section.
func section(b *strings.Builder, title string) { b.WriteString("\n## " + title + "\n") }

// paragraph writes a text behind an empty line, in lines of at most 120 characters.
func paragraph(b *strings.Builder, format string, args ...any) {
	const width = 120
	length := width
	for word := range strings.FieldsSeq(fmt.Sprintf(format, args...)) {
		n := utf8.RuneCountInString(word)
		if length+1+n > width {
			b.WriteString("\n")
			length = -1
		} else {
			b.WriteString(" ")
		}
		b.WriteString(word)
		length += 1 + n
	}
	b.WriteString("\n")
}

// head begins a table.
func head(b *strings.Builder, columns string, cells ...string) {
	b.WriteString("\n")
	row(b, cells...)
	rule(b, columns)
}

func row(b *strings.Builder, cells ...string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// rule ends a table's head: l for a column of text, r for one of numbers.
func rule(b *strings.Builder, columns string) {
	for _, c := range columns {
		if c == 'r' {
			b.WriteString("|---:")
		} else {
			b.WriteString("|---")
		}
	}
	b.WriteString("|\n")
}

func verdict(met bool) string {
	if met {
		return "met"
	}
	return "**not met**"
}

// between prints a spread: the median, and in parentheses from where to where the rounds went.
func between(s result.Spread, print func(float64) string) string {
	return print(s.Median) + " (" + print(s.Min) + "–" + print(s.Max) + ")"
}

func ratio(s result.Spread) string    { return between(s, fixed(2)) }
func decimals(s result.Spread) string { return between(s, fixed(2)) }
func rate(s result.Spread) string     { return between(s, plain) }

func seconds(s *result.Spread) string {
	if s == nil {
		return "–"
	}
	return between(*s, fixed(1))
}

func fixed(digits int) func(float64) string {
	return func(value float64) string { return strconv.FormatFloat(value, 'f', digits, 64) }
}

func megabytes(value float64) string { return fixed(1)(value) + " MB" }

func percent(share float64) string { return fixed(1)(100*share) + " %" }

// plain prints a number without a fraction where it is large enough.
func plain(value float64) string {
	if math.Abs(value) < 100 {
		return fixed(1)(value)
	}
	return count(int(math.Round(value)))
}

// count groups the digits of a whole number.
func count(n int) string {
	digits := strconv.Itoa(n)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}
