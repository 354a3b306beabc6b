package reduction_test

import (
	"testing"

	"tidemark/shared/change"
)

// TestTwins is about a table that two relations describe in one delivery, because its description was read again. Its changes still take effect in their order.
func TestTwins(t *testing.T) {
	t.Parallel()
	old, read := newTable("item", "id", "a"), newTable("item", "id", "a", "b")
	for _, test := range []struct {
		promise string
		changes []change.Change
		want    []string
	}{
		{
			"ADeleteComesBeforeTheInsertBehindIt",
			[]change.Change{old.delete("1"), read.insert("1", "a", "b")},
			[]string{"delete item: 1", "insert fresh item: 1|a|b"},
		},
		{
			"TheLastChangeWins",
			[]change.Change{old.insert("1", "a"), read.insert("1", "b", "b"), old.insert("1", "c")},
			[]string{"insert fresh item: 1|a", "insert fresh item: 1|b|b", "insert fresh item: 1|c"},
		},
		{
			"ABarrierStandsBehindBoth",
			[]change.Change{old.insert("1", "a"), read.truncate()},
			[]string{"insert fresh item: 1|a", "truncate one by one item: all"},
		},
	} {
		t.Run(test.promise, func(t *testing.T) {
			t.Parallel()
			mustReduce(t, test.changes, test.want...)
		})
	}
}

func TestFixedLeftOut(t *testing.T) {
	t.Parallel()
	item := newTable("item", "id", "a", "no!")
	mustReduce(t, read(item, "+ a -, + b 2"), "insert fresh item: 1|b|-")
}
