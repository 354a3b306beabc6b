package calendar

import "bytes"

// Moment is what an ISO 8601 text says: a day, a clock, an offset, or some of them.
type Moment struct {
	Day, Clock       int64
	Zone             []byte
	HasDay, HasClock bool
}

// IsUTC says whether the offset is none or zero.
func (m *Moment) IsUTC() bool {
	return len(m.Zone) == 0 || string(m.Zone) == "Z" || len(bytes.Trim(m.Zone, "+-0:")) == 0
}

// Parse reads [±]YYYY-MM-DD, HH:MM[:SS[.fraction]] or both with a T or blank between, then Z or an offset. Years
// are astronomical. A fraction finer than a microsecond is rounded.
func Parse(text []byte) (Moment, bool) {
	m := Moment{}
	s := scanner{rest: text}
	if len(text) < 3 || text[2] != ':' {
		m.Day, m.HasDay = s.date(), true
		m.HasClock = s.accept('T') || s.accept(' ')
	} else {
		m.HasClock = true
	}
	if m.HasClock {
		m.Clock = s.clock()
	}
	m.Zone = s.rest
	return m, !s.failed && isZone(m.Zone)
}

// isZone says whether text is nothing, Z, or ±HH with MM and SS, with colons or without.
func isZone(text []byte) bool {
	if len(text) == 0 || string(text) == "Z" {
		return true
	}
	s := scanner{rest: text}
	if !s.accept('+') {
		s.expect('-')
	}
	s.number(2, 2, 15)
	for range 2 {
		if s.accept(':') || len(s.rest) > 0 {
			s.number(2, 2, 59)
		}
	}
	return !s.failed && len(s.rest) == 0
}

// scanner reads fixed shapes from the front of a text and remembers that one did not fit.
type scanner struct {
	rest   []byte
	failed bool
}

func (s *scanner) accept(c byte) bool {
	if len(s.rest) == 0 || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

func (s *scanner) expect(c byte) {
	if !s.accept(c) {
		s.failed = true
	}
}

// number reads least to most digits of a number up to limit.
func (s *scanner) number(least, most int, limit int64) int64 {
	value, digits := int64(0), 0
	for digits < most && digits < len(s.rest) && '0' <= s.rest[digits] && s.rest[digits] <= '9' {
		value = value*10 + int64(s.rest[digits]-'0')
		digits++
	}
	s.rest = s.rest[digits:]
	if digits < least || value > limit {
		s.failed = true
	}
	return value
}

func (s *scanner) date() int64 {
	const lastYear = 9_999_999
	negative := s.accept('-')
	if !negative {
		s.accept('+')
	}
	year := s.number(4, 7, lastYear)
	if negative {
		year = -year
	}
	s.expect('-')
	month := s.number(2, 2, 12)
	s.expect('-')
	dayOfMonth := s.number(2, 2, 31)
	day := DayOf(year, month, dayOfMonth)
	if y, m, d := Civil(day); y != year || m != month || d != dayOfMonth {
		s.failed = true
	}
	return day
}

func (s *scanner) clock() int64 {
	hours := s.number(2, 2, 24)
	s.expect(':')
	clock := hours*3600 + s.number(2, 2, 59)*60
	if s.accept(':') {
		clock += s.number(2, 2, 59)
	}
	clock *= Second
	if s.accept('.') {
		clock += s.fraction()
	}
	if clock > DayMicros {
		s.failed = true
	}
	return clock
}

// fraction reads up to nine digits as microseconds.
func (s *scanner) fraction() int64 {
	before := len(s.rest)
	value := s.number(1, 9, 999_999_999)
	for digits := before - len(s.rest); digits < 9; digits++ {
		value *= 10
	}
	return (value + 500) / 1000
}
