package position_test

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tidemark/shared/position"
)

func TestTargetID(t *testing.T) {
	t.Parallel()
	t.Run("PrintsWhatItReads", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			text := rapid.StringMatching(`[a-z0-9][a-z0-9._-]{0,62}`).Draw(t, "id")
			if id, err := position.ParseTargetID(text); err != nil || id.String() != text || id.IsZero() {
				t.Errorf("%q: got %q, %v", text, id, err)
			}
		})
	})
	for name, text := range map[string]string{
		"Nothing": "", "CapitalLetters": "Shop", "ABlank": "shop 1", "ANewline": "shop\n", "ASlash": "shop/1",
		"AParent":     "..",
		"ALeadingDot": ".shop", "ALeadingHyphen": "-shop", "ALeadingUnderscore": "_shop",
		"MoreThan63Bytes": strings.Repeat("a", 64),
		"OtherLetters":    "sh\u00f6p", "AZeroByte": "shop\x00", "BrokenUTF8": "shop\xff",
	} {
		t.Run("Refuses"+name, func(t *testing.T) {
			t.Parallel()
			if id, err := position.ParseTargetID(text); err == nil {
				t.Errorf("got %q, want an error", id)
			}
		})
	}
	t.Run("Takes63Bytes", func(t *testing.T) {
		t.Parallel()
		if _, err := position.ParseTargetID(strings.Repeat("a", 63)); err != nil {
			t.Error(err)
		}
	})
	t.Run("IsZeroWhenNoneIsNamed", func(t *testing.T) {
		t.Parallel()
		if id := position.TargetID(""); !id.IsZero() || id.Validate() == nil {
			t.Error("an empty id is neither zero nor refused")
		}
	})
}

func TestIncarnation(t *testing.T) {
	t.Parallel()
	const life = "0190c5ae-7e1f-7abc-8def-0123456789ab"
	t.Run("PrintsWhatItReads", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			text := rapid.StringMatching(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`).Draw(t, "life")
			if i, err := position.ParseIncarnation(text); err != nil || i.String() != text || i.IsZero() {
				t.Errorf("%q: got %q, %v", text, i, err)
			}
		})
	})
	for name, text := range map[string]string{
		"Nothing": "", "UpperCase": strings.ToUpper(life), "Braces": "{" + life + "}",
		"NoHyphens": strings.ReplaceAll(life, "-", ""),
		"AURN":      "urn:uuid:" + life, "ADigitTooFew": life[1:], "ADigitTooMany": life + "0", "ANewline": life + "\n",
		"ABlankBefore": " " + life, "ALetterBeyondF": "g" + life[1:],
		"AHyphenElsewhere": "0190c5a-e7e1f-7abc-8def-0123456789ab",
	} {
		t.Run("Refuses"+name, func(t *testing.T) {
			t.Parallel()
			if i, err := position.ParseIncarnation(text); err == nil {
				t.Errorf("got %q, want an error", i)
			}
		})
	}
	t.Run("IsZeroWhenNoneIsNamed", func(t *testing.T) {
		t.Parallel()
		if i := position.Incarnation(""); !i.IsZero() || i.Validate() == nil {
			t.Error("an empty incarnation is neither zero nor refused")
		}
	})
}

func TestLineage(t *testing.T) {
	t.Parallel()
	t.Run("PrintsWhatItReads", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			l := position.Lineage(rapid.Int64Min(1).Draw(t, "lineage"))
			if got, err := position.ParseLineage(l.String()); err != nil || got != l || l.IsZero() {
				t.Errorf("%s: got %d, %v", l, got, err)
			}
		})
	})
	t.Run("RefusesWhatNoLifeBears", func(t *testing.T) {
		t.Parallel()
		for _, text := range []string{
			"", "0", "-1", "-0", " 1", "1 ", "1_0", "0x1", "1.0", "one", "9223372036854775808", "-9223372036854775809",
		} {
			if got, err := position.ParseLineage(text); err == nil {
				t.Errorf("%q: got %d, want an error", text, got)
			}
		}
	})
	t.Run("BeginsAtOne", func(t *testing.T) {
		t.Parallel()
		for l, want := range map[position.Lineage]bool{math.MinInt64: false, -1: false, 0: false, 1: true, 1 << 62: true} {
			if got := l.Validate() == nil; got != want || l.IsZero() != (l == 0) {
				t.Errorf("%d: got valid %t, want %t; zero %t", l, got, want, l.IsZero())
			}
		}
	})
	t.Run("OrdersLives", func(t *testing.T) {
		t.Parallel()
		if !position.Lineage(9).Before(10) || position.Lineage(10).Before(9) || position.Lineage(9).Before(9) {
			t.Error("9, 10 are not in order")
		}
	})
}
