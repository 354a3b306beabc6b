package calendar_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark/shared/format/calendar"
)

func TestCivil(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		day              int64
		year, month, dom int64
	}{
		{0, 1970, 1, 1},
		{-1, 1969, 12, 31},
		{19782, 2024, 2, 29},
		{-719162, 1, 1, 1},
		{-719163, 0, 12, 31},
		{-719468, 0, 3, 1},
		{-719469, 0, 2, 29},
		{-735160, -43, 3, 15},
		{-2440550, -4712, 1, 1},
		{calendar.FirstDay, -4713, 11, 24},
		{calendar.EndTimestamps, 294277, 1, 1},
		{calendar.EndDates, 5874898, 1, 1},
		{-141432, 1582, 10, 10},
	} {
		year, month, dom := calendar.Civil(test.day)
		if year != test.year || month != test.month || dom != test.dom {
			t.Errorf("day %d: got %d-%d-%d, want %d-%d-%d", test.day, year, month, dom, test.year, test.month,
				test.dom)
		}
		if day := calendar.DayOf(test.year, test.month, test.dom); day != test.day {
			t.Errorf("%d-%d-%d: got day %d, want %d", test.year, test.month, test.dom, day, test.day)
		}
	}
}

func TestCivilAgreesWithTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		day := rapid.Int64Range(-10_000_000, 10_000_000).Draw(t, "day")
		want := time.Unix(day*86400, 0).UTC()
		year, month, dom := calendar.Civil(day)
		if int(year) != want.Year() || time.Month(month) != want.Month() || int(dom) != want.Day() {
			t.Fatalf("day %d: got %d-%d-%d, want %s", day, year, month, dom, want)
		}
	})
}

func TestDayOfReversesCivil(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		day := rapid.Int64Range(calendar.FirstDay-1_000_000_000, calendar.EndDates+1_000_000_000).Draw(t, "day")
		if got := calendar.DayOf(calendar.Civil(day)); got != day {
			t.Fatalf("got %d, want %d", got, day)
		}
	})
}

func TestAppend(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		day, clock int64
		want       string
	}{
		{0, 0, "1970-01-01 00:00:00"},
		{-735160, 1, "0044-03-15 00:00:00.000001 BC"},
		{calendar.EndDates - 1, calendar.DayMicros - 1, "5874897-12-31 23:59:59.999999"},
		{-719162, calendar.DayMicros, "0001-01-01 24:00:00"},
		{0, 500_000, "1970-01-01 00:00:00.5"},
	} {
		text, era := calendar.AppendDate(nil, test.day)
		if got := string(calendar.AppendClock(append(text, ' '), test.clock)) + era; got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2024-02-29":                      "19782 -",
		"2024-02-29Z":                     "19782 - Z",
		"-0043-03-15T12:34:56.789012Z":    "-735160 45296789012 Z",
		"+294276-12-31T23:59:59.999999Z":  "106762939 86399999999 Z",
		"2024-02-29 12:34":                "19782 45240000000",
		"2024-02-29T12:34:56+05:30":       "19782 45296000000 +05:30",
		"2024-02-29T12:34:56-0530":        "19782 45296000000 -0530",
		"24:00:00":                        "- 86400000000",
		"23:59:59.9999995":                "- 86400000000",
		"12:34:56.1+05":                   "- 45296100000 +05",
		"":                                "refused",
		"2023-02-29":                      "refused",
		"2024-13-01":                      "refused",
		"24-01-01":                        "refused",
		"24:00:01":                        "refused",
		"12:60:00":                        "refused",
		"2024-02-29T":                     "refused",
		"2024-02-29T12:34:56.":            "refused",
		"2024-02-29T12:34:56.1234567890Z": "refused",
		"2024-02-29T12:34:56Z BC":         "refused",
		"2024-02-29T12:34:56+5":           "refused",
		"99999999-01-01":                  "refused",
		"infinity":                        "refused",
	} {
		m, ok := calendar.Parse([]byte(text))
		got := "refused"
		if ok {
			day, clock := "-", "-"
			if m.HasDay {
				day = fmt.Sprint(m.Day)
			}
			if m.HasClock {
				clock = fmt.Sprint(m.Clock)
			}
			got = strings.TrimSuffix(fmt.Sprintf("%s %s %s", day, clock, m.Zone), " ")
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
