package cell

import (
	"bytes"
	"errors"
	"slices"
	"strconv"

	"tidemark/shared/format/calendar"
	"tidemark/shared/format/jsonnode"
)

// isMomentRange says whether a type of that name is a range of dates or times.
func isMomentRange(name string) bool {
	switch name {
	case "daterange", "tsrange", "tstzrange", "datemultirange", "tsmultirange", "tstzmultirange":
		return true
	}
	return false
}

// checkMoment refuses texts that PostgreSQL would read in a way that hangs on when or where it reads them: the clock's
// words, and dates that do not say which number is the month, whose order the server's DateStyle decides.
func checkMoment(text []byte) error {
	for rest := text; len(rest) > 0; {
		word := leading(rest, isLetter)
		if len(word) == 0 {
			rest = rest[1:]
			continue
		}
		if isClockWord(word) {
			return errors.New("a word of the clock, which means another time whenever it is read")
		}
		rest = rest[len(word):]
	}
	if isOrderOpen(text) {
		return errors.New("a date that does not begin with a year of four digits: which number is the month is open")
	}
	return nil
}

func isClockWord(word []byte) bool {
	return bytes.EqualFold(word, []byte("now")) || bytes.EqualFold(word, []byte("today")) ||
		bytes.EqualFold(word, []byte("tomorrow")) || bytes.EqualFold(word, []byte("yesterday"))
}

// isOrderOpen says whether text has a date of three numbers, of which the first is no year: 1/2/2024, 01-02-24.
func isOrderOpen(text []byte) bool {
	for i := 0; i < len(text); {
		first := leading(text[i:], isDigit)
		if len(first) == 0 {
			i++
			continue
		}
		begins := i == 0 || !isSeparator(text[i-1])
		i += len(first)
		if !begins || len(first) > 2 || i == len(text) || !isSeparator(text[i]) {
			continue
		}
		second := leading(text[i+1:], isDigit)
		end := i + 1 + len(second)
		if len(second) > 0 && end+1 < len(text) && text[end] == text[i] && isDigit(text[end+1]) {
			return true
		}
	}
	return false
}

func leading(text []byte, is func(byte) bool) []byte {
	if end := slices.IndexFunc(text, func(c byte) bool { return !is(c) }); end >= 0 {
		return text[:end]
	}
	return text
}

func isLetter(c byte) bool    { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDigit(c byte) bool     { return '0' <= c && c <= '9' }
func isSeparator(c byte) bool { return c == '-' || c == '/' || c == '.' }

// readEpoch builds the timestamp of a number of units since 1970. A fraction counts, down to microseconds, which is all
// that a column holds; what is finer is cut.
func (f *Form) readEpoch(room []byte, n jsonnode.Node) ([]byte, error) {
	whole, fraction, _ := bytes.Cut(n, []byte("."))
	units, err := strconv.ParseInt(string(whole), 10, 64)
	if err != nil || bytes.ContainsAny(fraction, "eE") {
		return nil, errors.New("a number with an exponent or of more than 64 bits where a time since 1970 is expected")
	}
	perSecond := f.modes.Epoch.perSecond()
	day, rest := calendar.FloorDiv(units, 86_400*perSecond)
	unit := calendar.Second / perSecond // in microseconds
	clock, part := rest*unit, int64(0)
	for _, digit := range fraction {
		unit /= 10
		part += unit * int64(digit-'0')
	}
	if n[0] == '-' {
		part = -part
	}
	if clock += part; clock < 0 {
		day, clock = day-1, clock+calendar.DayMicros
	}
	if day < calendar.FirstDay || day >= calendar.EndTimestamps {
		return nil, errors.New("a time out of PostgreSQL's range")
	}
	text, era := calendar.AppendDate(room, day)
	text = calendar.AppendClock(append(text, ' '), clock)
	if f.zone {
		text = append(text, "+00"...)
	}
	return append(text, era...), nil
}
