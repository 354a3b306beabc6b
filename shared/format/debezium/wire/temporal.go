package wire

import (
	"errors"
	"strconv"

	"tidemark/shared/change"
	"tidemark/shared/format/calendar"
	"tidemark/shared/format/jsonnode"
)

const (
	// The source's stand-ins for a date's infinities are days that wrapped around 32 bits.
	infiniteDay         = -2_147_472_692
	negativeInfiniteDay = -2_147_472_691
	// Those for a timestamp without zone are the driver's milliseconds, taken for microseconds; newer releases take
	// them for what they are.
	infiniteMoment         = 9_223_372_036_825_200_000
	negativeInfiniteMoment = -9_223_372_036_832_400_000
)

// appendDate reads a number of days or an ISO date.
func appendDate(dst []byte, n jsonnode.Node) ([]byte, error) {
	if n.Kind() == '0' {
		day, err := integer(n)
		if err != nil {
			return dst, err
		}
		return appendDay(dst, day)
	}
	m, ok := calendar.Parse(n.Text())
	if !ok || m.HasClock || !m.IsUTC() {
		return dst, n.Mismatch("a date")
	}
	return appendDay(dst, m.Day)
}

func appendDay(dst []byte, day int64) ([]byte, error) {
	switch {
	case day == infiniteDay:
		return append(dst, "infinity"...), nil
	case day == negativeInfiniteDay:
		return append(dst, "-infinity"...), nil
	case day < calendar.FirstDay || day >= calendar.EndDates:
		return dst, ErrLost
	}
	dst, era := calendar.AppendDate(dst, day)
	return append(dst, era...), nil
}

// appendTime reads ticks since midnight or an ISO time, with an offset where the column has one.
func (f *Form) appendTime(dst []byte, n jsonnode.Node) ([]byte, error) {
	if n.Kind() == '0' && f.kind == change.KindTime {
		ticks, err := integer(n)
		if err != nil {
			return dst, err
		}
		clock, _ := f.toMicros(ticks)
		if clock < 0 || clock > calendar.DayMicros {
			return dst, errors.New("a time of day out of range")
		}
		return calendar.AppendClock(dst, clock), nil
	}
	m, ok := calendar.Parse(n.Text())
	if !ok || m.HasDay || !f.fitsZone(&m) {
		return dst, n.Mismatch("a time of day")
	}
	return f.appendZone(calendar.AppendClock(dst, m.Clock), m.Zone), nil
}

// appendTimestamp reads ticks since 1970 or an ISO timestamp. Ticks are UTC.
func (f *Form) appendTimestamp(dst []byte, n jsonnode.Node) ([]byte, error) {
	if n.Kind() == '0' {
		ticks, err := integer(n)
		if err != nil {
			return dst, err
		}
		if word := f.infinity(ticks); word != "" {
			return append(dst, word...), nil
		}
		day, rest := calendar.FloorDiv(ticks, 86_400*f.unit)
		clock, _ := f.toMicros(rest)
		return f.appendMoment(dst, &calendar.Moment{Day: day, Clock: clock, Zone: []byte("Z")})
	}
	text := n.Text()
	if usual, ok := f.appendUsual(dst, text); ok {
		return usual, nil
	}
	if string(text) == "infinity" || string(text) == "-infinity" {
		return append(dst, text...), nil
	}
	m, ok := calendar.Parse(text)
	if !ok || !m.HasDay || !m.HasClock || !f.fitsZone(&m) {
		return dst, n.Mismatch("a timestamp")
	}
	return f.appendMoment(dst, &m)
}

func (f *Form) appendMoment(dst []byte, m *calendar.Moment) ([]byte, error) {
	if word := infinityOf(m); word != "" && !f.hasZone() { // with a zone the source says infinity in words
		return append(dst, word...), nil
	}
	if m.Day < calendar.FirstDay || m.Day >= calendar.EndTimestamps {
		return dst, ErrLost
	}
	dst, era := calendar.AppendDate(dst, m.Day)
	dst = f.appendZone(calendar.AppendClock(append(dst, ' '), m.Clock), m.Zone)
	return append(dst, era...), nil
}

// infinityOf is the word for a moment that the source sends for an infinity.
func infinityOf(m *calendar.Moment) string {
	if day, clock := calendar.FloorDiv(infiniteMoment, calendar.DayMicros); m.Day == day && m.Clock == clock {
		return "infinity"
	}
	if day, clock := calendar.FloorDiv(negativeInfiniteMoment, calendar.DayMicros); m.Day == day && m.Clock == clock {
		return "-infinity"
	}
	return ""
}

// infinity is the word for ticks that stand for an infinity in a way of their own.
func (f *Form) infinity(ticks int64) string {
	const maxTicks = 1<<63 - 1
	switch {
	case f.unit == millis && ticks == infiniteMoment, f.unit == nanos && ticks == maxTicks:
		return "infinity"
	case f.unit == millis && ticks == negativeInfiniteMoment, f.unit == nanos && ticks == -maxTicks-1:
		return "-infinity"
	}
	return ""
}

// toMicros converts ticks; what is below a microsecond is cut, as no column holds it. The second result is false when
// int64 cannot hold the microseconds.
func (f *Form) toMicros(ticks int64) (int64, bool) {
	if f.unit > micros {
		whole, _ := calendar.FloorDiv(ticks, f.unit/micros)
		return whole, true
	}
	factor := micros / f.unit
	product := ticks * factor
	return product, product/factor == ticks
}

// fitsZone says whether the offset is one that the column can take without a change of meaning: a column with a zone
// needs one, a column without takes UTC, which the source appends to everything.
func (f *Form) fitsZone(m *calendar.Moment) bool {
	if f.hasZone() {
		return len(m.Zone) > 0
	}
	return m.IsUTC()
}

func (f *Form) hasZone() bool { return f.kind == change.KindTimestampTZ || f.kind == change.KindTimeTZ }

func (f *Form) appendZone(dst, zone []byte) []byte {
	switch {
	case !f.hasZone():
		return dst
	case string(zone) == "Z":
		return append(dst, "+00"...)
	}
	return append(dst, zone...)
}

// appendInterval reads ticks. The source has made months of 30.4375 days of them already; hours of any number are what
// PostgreSQL prints and reads without loss. ISO 8601 text needs no conversion.
func (f *Form) appendInterval(dst []byte, n jsonnode.Node) ([]byte, error) {
	if n.Kind() == '"' {
		return n.AppendText(dst)
	}
	ticks, err := integer(n)
	if err != nil {
		return dst, err
	}
	total, ok := f.toMicros(ticks)
	if !ok || total == -1<<63 {
		return dst, errors.New("an interval out of range")
	}
	if total < 0 {
		dst, total = append(dst, '-'), -total
	}
	return calendar.AppendClock(dst, total), nil
}

func integer(n jsonnode.Node) (int64, error) {
	if n.Kind() != '0' {
		return 0, n.Mismatch("a whole number")
	}
	value, err := strconv.ParseInt(string(n), 10, 64)
	if err != nil {
		return 0, errors.New("a number that is not a whole number of 64 bits")
	}
	return value, nil
}
