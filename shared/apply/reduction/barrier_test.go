package reduction_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/change"
)

// TestBarrier: what touches more than the row of one key stands between what came before it and what comes behind it.
func TestBarrier(t *testing.T) {
	t.Parallel()
	item := newTable("item", "id", "a")
	log := newTable("log", "x", "y").keyed()
	for _, test := range []struct {
		promise string
		between change.Change
		want    []string
	}{
		{
			"IsATruncate", item.truncate(),
			[]string{"insert fresh item: 1|a", "truncate one by one item: all", "insert fresh item: 1|b"},
		},
		{
			"IsTheHalfOfAMoveThatDeletes", moving(item.delete("1")),
			[]string{"insert fresh item: 1|a", "delete one by one item: 1", "insert fresh item: 1|b"},
		},
		{
			"IsTheHalfOfAMoveThatInserts", moving(item.insert("2", "c")),
			[]string{"insert fresh item: 1|a", "insert one by one item: 2|c", "insert fresh item: 1|b"},
		},
		{
			"IsAKeyThatIsNull", item.delete(null),
			[]string{"insert fresh item: 1|a", "delete one by one item: NULL", "insert fresh item: 1|b"},
		},
		{
			"IsAKeyThatIsMissing", item.delete(gone),
			[]string{"insert fresh item: 1|a", "delete one by one item: -", "insert fresh item: 1|b"},
		},
		{
			"IsAKeyOfTooFewCells", item.delete(),
			[]string{"insert fresh item: 1|a", "delete one by one item: ", "insert fresh item: 1|b"},
		},
	} {
		t.Run(test.promise, func(t *testing.T) {
			t.Parallel()
			mustReduce(t, []change.Change{item.insert("1", "a"), test.between, item.insert("1", "b")}, test.want...)
		})
	}
	for _, test := range []struct {
		promise string
		between change.Change
		want    string
	}{
		{"IsAnUpdateWithoutAKey", log.replaceOld([]string{"1", "a"}, []string{"1", "b"}), "update one by one log: 1|a->1|b"},
		{"IsADeleteWithoutAKey", log.deleteOld("1", "a"), "delete one by one log: 1|a"},
		{"IsATruncateWithoutAKey", log.truncate(), "truncate one by one log: all"},
	} {
		t.Run(test.promise, func(t *testing.T) {
			t.Parallel()
			mustReduce(t, []change.Change{log.insert("1", "a"), log.insert("2", "a"), test.between, log.insert("1", "a")},
				"insert fresh log: 1|a 2|a", test.want, "insert fresh log: 1|a")
		})
	}
	t.Run("IsFollowedByOthersOfItsKindInOneGroup", func(t *testing.T) {
		t.Parallel()
		mustReduce(t, []change.Change{
			log.deleteOld("1", "a"), log.deleteOld("1", "a"), log.truncate(), log.truncate(), log.deleteOld("2", "b"),
		}, "delete one by one log: 1|a 1|a", "truncate one by one log: all all", "delete one by one log: 2|b")
	})
	t.Run("WritesDeletesOfItsTableToo", func(t *testing.T) {
		t.Parallel()
		mustReduce(t, []change.Change{item.delete("2"), item.insert("1", "a"), item.truncate()},
			"insert fresh item: 1|a", "delete item: 2", "truncate one by one item: all")
	})
	t.Run("LeavesTablesAloneThatNothingTiesToIt", func(t *testing.T) {
		t.Parallel()
		other := newTable("other", "id", "a")
		mustReduce(t, []change.Change{
			other.insert("1", "a"), item.insert("1", "a"), item.truncate(), other.update("1", "b"), item.insert("1", "c"),
		}, "insert fresh item: 1|a", "truncate one by one item: all", "insert fresh other: 1|b", "insert fresh item: 1|c")
	})
	t.Run("LeavesOtherTablesAloneWhenItIsARefusal", func(t *testing.T) {
		t.Parallel()
		other := newTable("other", "id", "a")
		mustReduce(t, []change.Change{
			other.insert("1", "a"), item.delete("1"), item.update("1", gone), other.insert("1", "b"), item.delete("1"),
		}, "delete item: 1", "insert fresh other: 1|b", "delete strict item: 1")
	})
}

// TestTied: a barrier stands between all tables when foreign keys, triggers or actions tie its table to others.
func TestTied(t *testing.T) {
	t.Parallel()
	item, other := newTable("item", "id", "a"), newTable("other", "id", "a")
	child := newTable("child", "id", "item").below("item")
	watched := newTable("watched", "id", "a").ordered()
	for _, test := range []struct {
		promise string
		changes []change.Change
		want    []string
	}{
		{
			"AChildsBarrierWritesItsParents",
			[]change.Change{item.insert("1", "a"), child.truncate(), item.insert("1", "b")},
			[]string{"insert fresh item: 1|a", "truncate one by one child: all", "insert fresh item: 1|b"},
		},
		{
			"AParentsBarrierWritesItsChildren",
			[]change.Change{child.delete("1"), moving(item.delete("1")), child.insert("1", "2")},
			[]string{"delete child: 1", "delete one by one item: 1", "insert fresh child: 1|2"},
		},
		{
			"AParentsRefusalWritesItsChildren",
			[]change.Change{child.delete("1"), item.delete("1"), item.update("1", gone), child.insert("1", "2")},
			[]string{"delete child: 1", "delete item: 1", "update item: 1|-", "insert fresh child: 1|2"},
		},
		{
			"AChildsRefusalWritesItsParents",
			[]change.Change{item.insert("1", "a"), child.delete("1"), child.update("1", gone), item.update("1", "b")},
			[]string{"insert fresh item: 1|a", "delete child: 1", "insert item: 1|b", "update child: 1|-"},
		},
		{
			"AChangeOfATableInOrderWritesAll",
			[]change.Change{item.insert("1", "a"), other.insert("1", "a"), watched.insert("1", "a"), item.insert("1", "b")},
			[]string{
				"insert fresh item: 1|a", "insert fresh other: 1|a", "insert one by one watched: 1|a", "insert fresh item: 1|b",
			},
		},
		{
			"ATableInOrderIsNeverGathered",
			[]change.Change{
				watched.insert("1", "a"), watched.insert("1", "b"), watched.update("1", gone), watched.delete("1"),
				watched.insert("1", "c"),
			},
			[]string{
				"insert one by one watched: 1|a 1|b", "update one by one watched: 1|-", "delete one by one watched: 1",
				"insert one by one watched: 1|c",
			},
		},
	} {
		t.Run(test.promise, func(t *testing.T) {
			t.Parallel()
			mustReduce(t, test.changes, test.want...)
		})
	}
}

// TestInOrder: a table that the caller asks for in order is not gathered, and the others still are.
func TestInOrder(t *testing.T) {
	t.Parallel()
	item, other := newTable("item", "id", "a"), newTable("other", "id", "a")
	child := newTable("child", "id", "item").below("item")
	for _, test := range []struct {
		promise string
		ordered table
		changes []change.Change
		want    []string
	}{
		{
			"KeepsEveryChange", item,
			[]change.Change{item.insert("1", "a"), item.insert("1", "b"), item.delete("1"), item.delete("1")},
			[]string{"insert one by one item: 1|a 1|b", "delete one by one item: 1 1"},
		},
		{
			"GathersTheOthers", item,
			[]change.Change{other.insert("1", "a"), item.insert("1", "a"), other.insert("1", "b"), item.insert("1", "b")},
			[]string{"insert one by one item: 1|a 1|b", "insert fresh other: 1|b"},
		},
		{
			"WritesChildrenBeforeTheirParent", item,
			[]change.Change{child.delete("1"), child.delete("2"), item.delete("1"), child.insert("3", "2")},
			[]string{"delete child: 1 2", "delete one by one item: 1", "insert fresh child: 3|2"},
		},
		{
			"WritesParentsBeforeTheirChild", child,
			[]change.Change{item.insert("1", "a"), child.insert("1", "1"), item.insert("2", "a")},
			[]string{"insert fresh item: 1|a", "insert one by one child: 1|1", "insert fresh item: 2|a"},
		},
	} {
		t.Run(test.promise, func(t *testing.T) {
			t.Parallel()
			got := shown(reduce(t, map[*change.Relation]bool{test.ordered.Relation: true, nil: true}, test.changes...))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("GathersATableThatIsSaidNotToBeInOrder", func(t *testing.T) {
		t.Parallel()
		groups := reduce(t, map[*change.Relation]bool{item.Relation: false}, item.insert("1", "a"), item.insert("1", "b"))
		if got := shown(groups); len(got) != 1 {
			t.Errorf("got %q", got)
		}
	})
}

// TestExactKeys: a key is gathered only if no other text means the same row to the target.
func TestExactKeys(t *testing.T) {
	t.Parallel()
	const uuid = "0190c5ae-7e1f-7abc-8def-0123456789ab"
	for name, test := range map[string]struct {
		equality       change.Equality
		exact, inexact []string
	}{
		"Text": {change.EqualityText, []string{"", "a", "A", "01", " ", "NULL ", "a\x00b", "\u00e4"}, nil},
		"Integer": {
			change.EqualityInteger,
			[]string{"0", "1", "-1", "10", "-10", "9223372036854775807", "-9223372036854775808", strings.Repeat("9", 40)},
			[]string{
				"", "00", "01", "-0", "-01", "+1", "+0", " 1", "1 ", "\t1", "1\n", "--1", "1-", "1.0", "1e3", "0x1F", "0b1",
				"0o7", "1_000",
				"a", "NaN", "\u0661",
			},
		},
		"UUID": {
			change.EqualityUUID,
			[]string{uuid, "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"},
			[]string{
				"", strings.ToUpper(uuid), uuid[:35] + "B", strings.ReplaceAll(uuid, "-", ""), "{" + uuid + "}", " " + uuid,
				uuid + " ",
				uuid[1:], uuid + "0", uuid[:35] + "g", uuid[:8] + "0" + uuid[9:], uuid[:7] + "-" + uuid[8:],
				"0190-c5ae-7e1f-7abc-8def-0123-4567-89", strings.Repeat("-", 36),
			},
		},
		"Unknown":   {change.EqualityUnknown, nil, []string{"", "1", "1.0", "a", uuid}},
		"NoneKnown": {change.Equality(99), nil, []string{"1", "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tb := newTable("t", "id", "a").equality(test.equality)
			for _, key := range test.exact {
				mustReduce(t, []change.Change{tb.insert(key, "1"), tb.insert(key, "2")}, "insert fresh t: "+key+"|2")
			}
			for _, key := range test.inexact {
				mustReduce(t, []change.Change{tb.insert(key, "1"), tb.insert(key, "2")},
					"insert one by one t: "+key+"|1 "+key+"|2")
			}
		})
	}
	t.Run("AreJudgedPartByPart", func(t *testing.T) {
		t.Parallel()
		tb := newTable("t", "id", "kind", "a").keyed(1, 0)
		tb.Columns[0].Type.Equality, tb.Columns[2].Type.Equality = change.EqualityInteger, change.EqualityUnknown
		mustReduce(t, []change.Change{tb.insert("1", "01", "1"), tb.insert("1", "01", "2")}, "insert fresh t: 1|01|2")
		mustReduce(t, []change.Change{tb.insert("01", "1", "1"), tb.insert("01", "1", "2")},
			"insert one by one t: 01|1|1 01|1|2")
	})
	t.Run("StandBetweenOthersThatMayBeTheirRow", func(t *testing.T) {
		t.Parallel()
		tb := newTable("t", "id", "a").equality(change.EqualityInteger)
		mustReduce(t, []change.Change{tb.insert("1", "a"), tb.insert("01", "b"), tb.insert("1", "c")},
			"insert fresh t: 1|a", "insert one by one t: 01|b", "insert fresh t: 1|c")
	})
}
