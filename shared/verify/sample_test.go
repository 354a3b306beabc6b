package verify_test

import (
	"testing"

	"tidemark/shared/verify"
)

func TestShare(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]verify.Share{"5%": 50_000, "100%": verify.All, "0.25%": 2_500, "0.0001%": 1, "7.5%": 75_000} {
		if got, err := verify.ParseShare(text); got != want || err != nil || got.String() != text {
			t.Errorf("%s: got %d, %v, %s", text, got, err, got)
		}
	}
	for _, text := range []string{"", "%", "5", "0%", "101%", "-5%", "+5%", "5.00001%", ".5%", "5.%%", "x%", "1e1%", "100.1%"} {
		if got, err := verify.ParseShare(text); err == nil {
			t.Errorf("%s is %s", text, got)
		}
	}
	for _, c := range []struct{ share, of, want int }{{50_000, 20, 1}, {50_000, 21, 2}, {70_000, 100, 7}, {1, 1, 1}, {1_000_000, 7, 7}, {50_000, 0, 0}} {
		if got := verify.Share(c.share).Of(c.of); got != c.want {
			t.Errorf("%d millionths of %d: got %d, want %d", c.share, c.of, got, c.want)
		}
	}
}
