// Package calendar owns how days and times become the text that PostgreSQL reads under DateStyle ISO, over all of its
// range, and how ISO 8601 text is read.
//
// A day is a number of days since 1970-01-01, a clock a number of microseconds since midnight. Arithmetic is int64 over
// the proleptic Gregorian calendar with astronomical years: year 0 is 1 BC. Go's time package is not used, since its
// years end where PostgreSQL's go on, and days are never turned into one number of microseconds, which int64 cannot
// hold for the last years of a timestamp. Everything is pure.
package calendar

import "strconv"

const (
	// Second is a second's microseconds.
	Second = 1_000_000
	// DayMicros is a day's microseconds.
	DayMicros = 86_400 * Second
	// FirstDay is 4714-11-24 BC, the first day that PostgreSQL holds.
	FirstDay = -2_440_588
	// EndDates is 5874898-01-01, the day behind the last date.
	EndDates = 2_145_042_906
	// EndTimestamps is 294277-01-01, the day behind the last timestamp.
	EndTimestamps = 106_762_940
)

// AppendDate appends a day as YYYY-MM-DD. The era, " BC" or nothing, belongs behind the time and the offset.
func AppendDate(dst []byte, day int64) ([]byte, string) {
	year, month, dayOfMonth := Civil(day)
	era := ""
	if year <= 0 {
		year, era = 1-year, " BC"
	}
	dst = append(appendPadded(dst, year, 4), '-')
	dst = append(appendPadded(dst, month, 2), '-')
	return appendPadded(dst, dayOfMonth, 2), era
}

// AppendClock appends microseconds as HH:MM:SS with as much of a fraction as they have.
func AppendClock(dst []byte, clock int64) []byte {
	seconds, fraction := clock/Second, clock%Second
	dst = append(appendPadded(dst, seconds/3600, 2), ':')
	dst = append(appendPadded(dst, seconds/60%60, 2), ':')
	dst = appendPadded(dst, seconds%60, 2)
	if fraction == 0 {
		return dst
	}
	dst = appendPadded(append(dst, '.'), fraction, 6)
	for dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
	}
	return dst
}

func appendPadded(dst []byte, value int64, width int) []byte {
	for limit := int64(10); width > 1; width, limit = width-1, limit*10 {
		if value < limit {
			dst = append(dst, '0')
		}
	}
	return strconv.AppendInt(dst, value, 10)
}

// FloorDiv divides towards negative infinity; the rest is never negative.
func FloorDiv(a, b int64) (quotient, rest int64) {
	quotient, rest = a/b, a%b
	if rest < 0 {
		quotient, rest = quotient-1, rest+b
	}
	return quotient, rest
}

// Civil is the date of a day. Eras of 400 years begin on a 1 March, so that the leap day is a year's last.
func Civil(day int64) (year, month, dayOfMonth int64) {
	era, dayOfEra := FloorDiv(day+marchOfYearZero, eraDays)
	yearOfEra := (dayOfEra - dayOfEra/1460 + dayOfEra/36524 - dayOfEra/146096) / 365
	dayOfYear := dayOfEra - (365*yearOfEra + yearOfEra/4 - yearOfEra/100)
	shifted := (5*dayOfYear + 2) / 153 // months since March
	year, month = era*400+yearOfEra, shifted+3
	if month > 12 {
		year, month = year+1, month-12
	}
	return year, month, dayOfYear - (153*shifted+2)/5 + 1
}

const (
	eraDays         = 146_097
	marchOfYearZero = 719_468 // days from 0000-03-01 to 1970-01-01
)

// DayOf is the day of a date, the reverse of Civil.
func DayOf(year, month, dayOfMonth int64) int64 {
	if month <= 2 {
		year, month = year-1, month+12
	}
	era, yearOfEra := FloorDiv(year, 400)
	dayOfYear := (153*(month-3)+2)/5 + dayOfMonth - 1
	return era*eraDays + yearOfEra*365 + yearOfEra/4 - yearOfEra/100 + dayOfYear - marchOfYearZero
}
