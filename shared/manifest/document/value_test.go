package document_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark/shared/manifest/document"
)

func TestMoment(t *testing.T) {
	t.Parallel()
	berlin := time.FixedZone("CEST", 2*60*60)
	for name, test := range map[string]struct{ given, want time.Time }{
		"IsUTC": {
			time.Date(2026, 7, 1, 12, 0, 0, 0, berlin), time.Date(2026, 7, 1, 10, 0, 0, 0, time.UTC),
		},
		"DropsNanoseconds": {
			time.Date(2026, 7, 1, 12, 0, 0, 123_456_999, time.UTC), time.Date(2026, 7, 1, 12, 0, 0, 123_456_000, time.UTC),
		},
		"EndsWithTheYear9999": {
			time.UnixMilli(1_780_000_000_000_000), time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC),
		},
		"BeginsWithTheYear1": {time.UnixMilli(math.MinInt32 * 100_000), time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC)},
		"LeavesZeroAlone":    {time.Time{}, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := document.Moment(test.given)
			if !got.Equal(test.want) || got.Location() != time.UTC {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if err := document.ValidateMoment(got); (err != nil) != got.IsZero() {
				t.Error(err)
			}
		})
	}
	t.Run("IsReadAsItIsWritten", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			given := time.Unix(rapid.Int64Range(-1<<40, 1<<40).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns"))
			n := note{Version: 1, Until: document.Moment(given)}
			encoded, err := document.Encode(n)
			if err != nil {
				t.Fatal(err)
			}
			var got note
			if err := document.Decode("note", 4096, encoded, &got); err != nil || got.Until != n.Until {
				t.Errorf("got %s, %v, want %s", got.Until, err, n.Until)
			}
		})
	})
}

func TestValidateMomentRefuses(t *testing.T) {
	t.Parallel()
	for name, moment := range map[string]time.Time{
		"NoTime":      {},
		"AnotherZone": time.Date(2026, 7, 1, 12, 0, 0, 0, time.FixedZone("", 0)),
		"Nanoseconds": time.Date(2026, 7, 1, 12, 0, 0, 1, time.UTC),
		"TheYear0":    time.Date(0, 7, 1, 12, 0, 0, 0, time.UTC),
		"AFarYear":    time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		if document.ValidateMoment(moment) == nil {
			t.Errorf("%s: %s is taken", name, moment)
		}
	}
}

func TestValidateLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"a": true, "12345678": true, "😀😀": true, "\u2028": true,
		"": false, "123456789": false, "a\nb": false, "a\x00": false, "\t": false, "\x7f": false, "\u0085": false,
		strings.Repeat("😀", 3): false,
	} {
		if err := document.ValidateLine(text, 8); (err == nil) != want {
			t.Errorf("%q: got %v, want taken %t", text, err, want)
		}
	}
}
