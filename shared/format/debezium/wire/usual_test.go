package wire

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tidemark/shared/change"
	"tidemark/shared/format/calendar"
)

// TestUsualTimestamps holds the short way against the long one, for texts of the usual shape and for those around it.
func TestUsualTimestamps(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		number := func(least, most int, width int) string {
			return fmt.Sprintf("%0*d", width, rapid.IntRange(least, most).Draw(t, "number"))
		}
		text := number(-1, 10_001, 4) + "-" + number(0, 13, 2) + "-" + number(0, 32, 2) + "T" +
			number(0, 25, 2) + ":" + number(0, 61, 2) + ":" + number(0, 61, 2) +
			rapid.StringMatching(`(\.[0-9]{0,4}0{0,3})?`).Draw(t, "fraction") +
			rapid.SampledFrom([]string{"Z", "Z", "Z", "", "+01:00", "z"}).Draw(t, "zone")
		if at := rapid.IntRange(0, 4*len(text)).Draw(t, "damage"); at < len(text) {
			text = text[:at] + rapid.SampledFrom([]string{"", "x", "/", ":", "0", " "}).Draw(t, "other") + text[at+1:]
		}
		for _, kind := range []change.Kind{change.KindTimestamp, change.KindTimestampTZ} {
			f := NewForm(&change.Type{Kind: kind, Precision: 6}, &Modes{})
			got, ok := f.appendUsual([]byte("x"), []byte(text))
			if !ok {
				if string(got) != "x" {
					t.Fatalf("got %q for an unusual text", got)
				}
				continue
			}
			m, known := calendar.Parse([]byte(text))
			want, err := f.appendMoment([]byte("x"), &m)
			if !known || !m.HasDay || !m.HasClock || !f.fitsZone(&m) || err != nil || string(got) != string(want) {
				t.Fatalf("got %q for %q, want %q (%t, %v)", got, text, want, known, err)
			}
		}
	})
}

func TestUsualTimestampsAreKnown(t *testing.T) {
	t.Parallel()
	f := NewForm(&change.Type{Kind: change.KindTimestampTZ, Precision: 6}, &Modes{})
	for text, want := range map[string]string{
		"2024-06-28T22:00:00.123456Z": "2024-06-28 22:00:00.123456+00",
		"0001-01-01T00:00:00.000000Z": "0001-01-01 00:00:00+00",
		"9999-12-28T23:59:59.10Z":     "9999-12-28 23:59:59.1+00",
		"2024-06-28T22:00:00Z":        "2024-06-28 22:00:00+00",
		"2023-12-31T22:00:00.5Z":      "2023-12-31 22:00:00.5+00",
	} {
		if got, ok := f.appendUsual(nil, []byte(text)); !ok || string(got) != want {
			t.Errorf("got %q, %t for %q, want %q", got, ok, text, want)
		}
	}
	for _, text := range strings.Fields("0000-01-01T00:00:00Z 2024-06-28T24:00:00Z 2024-06-28T22:00:00.Z 2024-02-29T22:00:00Z 2024-06-31T22:00:00Z") {
		if got, ok := f.appendUsual(nil, []byte(text)); ok {
			t.Errorf("got %q for %q, want it left alone", got, text)
		}
	}
}
