package document

import (
	"fmt"
	"time"
	"unicode"
)

// The first and the last time that a document holds. What JSON calls a time ends with the year 9999; the zero time is
// none.
func first() time.Time { return time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC) }
func last() time.Time  { return time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC) }

// Moment is a time as documents hold it: UTC, whole microseconds, as the database has them, the years 1 to 9999. A
// time outside of those years becomes the nearest one inside: a producer that sends microseconds where milliseconds
// are meant dates its records into the year 50000, and its target must be backed up all the same. The zero time stays
// what it is.
func Moment(t time.Time) time.Time {
	switch t = t.UTC().Truncate(time.Microsecond); {
	case t.IsZero():
		return t
	case t.Before(first()):
		return first()
	case t.After(last()):
		return last()
	}
	return t
}

// ValidateMoment refuses times that Moment would not give, and the zero time.
func ValidateMoment(t time.Time) error {
	if t.IsZero() || t.Location() != time.UTC || !Moment(t).Equal(t) {
		return fmt.Errorf("time %s: want one in UTC, of whole microseconds, in the years 1 to 9999", t)
	}
	return nil
}

// ValidateLine refuses texts that could not stand in a line of a log: empty ones, longer ones than so many bytes, and
// those with control characters.
func ValidateLine(text string, most int) error {
	if text == "" || len(text) > most {
		return fmt.Errorf("a text of %d bytes, want 1 to %d", len(text), most)
	}
	for _, r := range text {
		if unicode.IsControl(r) {
			return fmt.Errorf("%.80q has control characters", text)
		}
	}
	return nil
}
