package snapshot

import (
	"testing"

	"tidemark/shared/postgres/snapshot/part"
)

// TestOrderIsKeptWhereItCostsLittle: by the key is read what is small, and what lies in the key's order.
func TestOrderIsKeptWhereItCostsLittle(t *testing.T) {
	t.Parallel()
	correlation := func(c float32) *float32 { return &c }
	for name, c := range map[string]struct {
		bytes       int64
		natural     bool
		correlation *float32
		want        bool
	}{
		"SmallAtRandom":   {smallTable, true, correlation(0), true},
		"LargeAtRandom":   {smallTable + 1, true, correlation(0.1), false},
		"LargeInOrder":    {1 << 40, true, correlation(0.9), true},
		"LargeBackwards":  {1 << 40, true, correlation(-0.9), true},
		"LargeAndUnknown": {1 << 40, true, nil, true},
		"SmallInNoOrder":  {1, false, correlation(1), false},
	} {
		r := readable{
			measure: measure{bytes: c.bytes},
			order:   order{key: []part.Column{{Name: "id"}}, natural: c.natural, correlation: c.correlation},
		}
		if got := r.isOrdered(); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
	if (readable{}).isOrdered() {
		t.Error("a table without a key has no order")
	}
}
