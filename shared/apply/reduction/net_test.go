package reduction_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/apply/reduction"
	"tidemark/shared/change"
)

// read makes changes of the key 1 of tb from a text: "+ a b" inserts, "~ a b" updates, "x" deletes.
func read(tb table, steps string) []change.Change {
	var out []change.Change
	for step := range strings.SplitSeq(steps, ", ") {
		fields := strings.Fields(step)
		row := append([]string{"1"}, fields[1:]...)
		switch fields[0] {
		case "+":
			out = append(out, tb.insert(row...))
		case "~":
			out = append(out, tb.update(row...))
		case "x":
			out = append(out, tb.delete("1"))
		}
	}
	return out
}

// TestKey: what all changes of one key come to, for every step from every state.
func TestKey(t *testing.T) {
	t.Parallel()
	item := newTable("item", "id", "a", "b")
	for _, test := range []struct {
		promise, steps string
		want           []string
	}{
		// From nothing.
		{"AnInsertMakesTheRow", "+ a b", []string{"insert fresh item: 1|a|b"}},
		{"AnInsertMayMissCells", "+ a -", []string{"insert fresh item: 1|a|-"}},
		{"AFullUpdateMakesTheRowThatMostLikelyIsThere", "~ a b", []string{"insert item: 1|a|b"}},
		{"AnUpdateWithMissingCellsMustMeetItsRow", "~ - b", []string{"update item: 1|-|b"}},
		{"ADeleteNeedNotMeetItsRow", "x", []string{"delete item: 1"}},

		// Behind an insert.
		{"InsertInsertIsTheLater", "+ a b, + c d", []string{"insert fresh item: 1|c|d"}},
		{"InsertInsertKeepsWhatTheLaterMisses", "+ a b, + - d", []string{"insert fresh item: 1|a|d"}},
		{"InsertInsertFillsWhatTheFirstMisses", "+ a -, + - d", []string{"insert fresh item: 1|a|d"}},
		{"InsertUpdateIsTheUpdatedRow", "+ a b, ~ c d", []string{"insert fresh item: 1|c|d"}},
		{"InsertUpdateKeepsWhatTheUpdateMisses", "+ a b, ~ - d", []string{"insert fresh item: 1|a|d"}},
		{"InsertUpdateMayStillMissCells", "+ a -, ~ c -", []string{"insert fresh item: 1|c|-"}},
		{"InsertDeleteIsADelete", "+ a b, x", []string{"delete item: 1"}},
		{"InsertOfSomeCellsDeleteIsADelete", "+ a -, x", []string{"delete item: 1"}},

		// Behind a full update, which is an insert.
		{"FullUpdateInsertIsTheLater", "~ a b, + c d", []string{"insert item: 1|c|d"}},
		{"FullUpdateUpdateIsMerged", "~ a b, ~ - d", []string{"insert item: 1|a|d"}},
		{"FullUpdateDeleteIsADelete", "~ a b, x", []string{"delete item: 1"}},

		// Behind an update that must meet its row.
		{"UpdateUpdateTakesTheLaterPresentValue", "~ a -, ~ - d, ~ c -", []string{"update item: 1|c|d"}},
		{"UpdatesThatTogetherHaveAllCellsMustStillMeetTheRow", "~ a -, ~ - b", []string{"update item: 1|a|b"}},
		{"UpdateInsertMustStillMeetTheRow", "~ a -, + c d", []string{"update item: 1|c|d"}},
		{"UpdateFullUpdateMustStillMeetTheRow", "~ - b, ~ c d", []string{"update item: 1|c|d"}},
		{"UpdateDeleteMustMeetTheRow", "~ a -, x", []string{"delete strict item: 1"}},
		{"UpdateInsertDeleteMustMeetTheRow", "~ a -, + c d, x", []string{"delete strict item: 1"}},

		// Behind a delete.
		{"DeleteDeleteIsOne", "x, x", []string{"delete item: 1"}},
		{"DeleteInsertMakesTheRowAnew", "x, + a b", []string{"insert reset item: 1|a|b"}},
		{"DeleteInsertPutsAbsentCellsToTheirDefault", "x, + a -", []string{"insert reset item: 1|a|-"}},
		{"DeleteFullUpdateMakesTheRowAnew", "x, ~ a b", []string{"insert reset item: 1|a|b"}},
		{"DeleteUpdateMeetsNoRow", "x, ~ a -", []string{"delete item: 1", "update item: 1|a|-"}},
		{"InsertDeleteInsertMakesTheRowAnew", "+ a b, x, + c -", []string{"insert reset item: 1|c|-"}},
		{"InsertDeleteUpdateMeetsNoRow", "+ a b, x, ~ c -", []string{"delete item: 1", "update item: 1|c|-"}},

		// Behind a row made anew.
		{"ReplaceInsertKeepsTheReset", "x, + a -, + c -", []string{"insert reset item: 1|c|-"}},
		{"ReplaceUpdateMeetsItsRow", "x, + a -, ~ - d", []string{"insert reset item: 1|a|d"}},
		{"ReplaceFullUpdateKeepsTheReset", "x, + a -, ~ c d", []string{"insert reset item: 1|c|d"}},
		{"ReplaceDeleteIsADelete", "x, + a b, x", []string{"delete item: 1"}},
		{"ReplaceDeleteInsertForgetsTheFirst", "x, + a b, x, + - d", []string{"insert reset item: 1|-|d"}},

		// Behind a delete that must meet its row.
		{"StrictDeleteDeleteIsStrict", "~ a -, x, x", []string{"delete strict item: 1"}},
		{"StrictDeleteInsertIsWritten", "~ a -, x, + c d", []string{"delete strict item: 1", "insert fresh item: 1|c|d"}},
		{"StrictDeleteFullUpdateIsWritten", "~ a -, x, ~ c d", []string{"delete strict item: 1", "insert item: 1|c|d"}},
		{"StrictDeleteUpdateMeetsNoRow", "~ a -, x, ~ c -", []string{"delete strict item: 1", "update item: 1|c|-"}},
		{
			"AWindowBeginsAnewBehindARefusal", "~ a -, x, + c d, x, + e -",
			[]string{"delete strict item: 1", "insert reset item: 1|e|-"},
		},

		// NULL is a present value, and so is the empty text.
		{"NullTakesTheValue", "+ a b, ~ NULL -", []string{"insert fresh item: 1|NULL|b"}},
		{"AValueTakesNull", "+ NULL b, ~ c -", []string{"insert fresh item: 1|c|b"}},
		{"MissingDoesNotTakeNull", "~ NULL -, ~ - d", []string{"update item: 1|NULL|d"}},
	} {
		t.Run(test.promise, func(t *testing.T) {
			t.Parallel()
			mustReduce(t, read(item, test.steps), test.want...)
		})
	}
	t.Run("AnEmptyTextTakesTheValue", func(t *testing.T) {
		t.Parallel()
		mustReduce(t, []change.Change{item.insert("1", "a", "b"), item.update("1", "", gone)}, "insert fresh item: 1||b")
	})
}

// TestGenerated: a column that the target computes is never missed.
func TestGenerated(t *testing.T) {
	t.Parallel()
	item := newTable("item", "id", "a", "sum=")
	for promise, test := range map[string]struct {
		steps string
		want  []string
	}{
		"AnUpdateOfAllOthersIsFull":       {"~ a -", []string{"insert item: 1|a|-"}},
		"AnUpdateOfItAloneMustMeetItsRow": {"~ - 7", []string{"update item: 1|-|7"}},
		"DeleteUpdateMakesTheRowAnew":     {"x, ~ a -", []string{"insert reset item: 1|a|-"}},
	} {
		t.Run(promise, func(t *testing.T) {
			t.Parallel()
			mustReduce(t, read(item, test.steps), test.want...)
		})
	}
}

// TestFixed: a column that only an insert may set keeps what the row was made with.
func TestFixed(t *testing.T) {
	t.Parallel()
	item := newTable("item", "id", "a", "no!")
	for _, test := range []struct {
		promise, steps string
		want           []string
	}{
		{"AnInsertSetsIt", "+ a 1", []string{"insert fresh item: 1|a|1"}},
		{"ALaterInsertDoesNot", "+ a 1, + b 2", []string{"insert fresh item: 1|b|1"}},
		{"AnUpdateDoesNot", "+ a 1, ~ b 2, ~ - 3", []string{"insert fresh item: 1|b|1"}},
		{"ADeletedRowCannotBeMadeAnewByAnUpdate", "x, + a 1", []string{"delete item: 1", "insert fresh item: 1|a|1"}},
		{"NorOneThatWasMadeBefore", "+ a 1, x, + b 2", []string{"delete item: 1", "insert fresh item: 1|b|2"}},
		{"NorByAFullUpdate", "+ a 1, x, ~ b 2", []string{"delete item: 1", "insert item: 1|b|2"}},
		{"ADeleteIsOneAllTheSame", "+ a 1, x, x", []string{"delete item: 1"}},
		{"AnUpdateMayMissIt", "~ a -", []string{"update item: 1|a|-"}},
	} {
		t.Run(test.promise, func(t *testing.T) {
			t.Parallel()
			mustReduce(t, read(item, test.steps), test.want...)
		})
	}
}

// TestKeys: keys are one only if all of their parts are.
func TestKeys(t *testing.T) {
	t.Parallel()
	pair := newTable("pair", "a", "b", "v").keyed(0, 1)
	t.Run("AreNotOneWhenTheirPartsRunTogether", func(t *testing.T) {
		t.Parallel()
		for _, keys := range [][2][2]string{
			{{"a", "bc"}, {"ab", "c"}},
			{{"", "a"}, {"a", ""}},
			{{"a", "b"}, {"b", "a"}},
			{{"\x01a", "b"}, {"", "a\x01b"}},
			{{strings.Repeat("a", 200), ""}, {"", strings.Repeat("a", 200)}},
		} {
			groups := reduce(t, nil, pair.insert(keys[0][0], keys[0][1], "1"), pair.insert(keys[1][0], keys[1][1], "2"))
			if len(groups) != 1 || len(groups[0].Changes) != 2 {
				t.Errorf("%q: got %q, want two rows", keys, shown(groups))
			}
		}
	})
	t.Run("AreOneWhenAllPartsAre", func(t *testing.T) {
		t.Parallel()
		mustReduce(t, []change.Change{pair.insert("a", "b", "1"), pair.update("a", "b", "2")}, "insert fresh pair: a|b|2")
	})
	t.Run("HaveTheirPartsInKeyOrder", func(t *testing.T) {
		t.Parallel()
		turned := newTable("turned", "a", "b", "v").keyed(1, 0)
		mustReduce(t, []change.Change{turned.insert("x", "y", "1"), turned.delete("y", "x")}, "delete turned: y|x")
	})
}

// TestGroup: changes of many keys become as few groups as statements can write.
func TestGroup(t *testing.T) {
	t.Parallel()
	item := newTable("item", "id", "a", "b")
	all := []change.Change{
		item.insert("6", "a", "b"), item.insert("1", "a", "b"), item.insert("2", "a", gone), item.update("3", "c", "d"),
		item.update("4", "c", gone), item.update("5", gone, "d"), item.delete("7"), item.update("8", "e", gone),
		item.delete("8"),
		item.delete("9"), item.insert("9", "f", "g"), item.delete("0"), item.insert("a", null, "b"),
		item.update("b", "c", "d"),
	}
	want := []string{
		"insert fresh item: 1|a|b 6|a|b a|NULL|b", "insert fresh item: 2|a|-", "insert item: 3|c|d b|c|d",
		"update item: 4|c|-", "update item: 5|-|d", "insert reset item: 9|f|g", "delete item: 0 7", "delete strict item: 8",
	}
	t.Run("HoldsRowsOfOneKindWithTheSameCells", func(t *testing.T) {
		t.Parallel()
		mustReduce(t, all, want...)
	})
	t.Run("IsTheSameHoweverManyAddsThereAre", func(t *testing.T) {
		t.Parallel()
		set := change.Set{Changes: all}
		net := reduction.New(&set, nil)
		net.Add(nil)
		for i := range all {
			net.Add(all[i : i+1])
		}
		if diff := cmp.Diff(want, shown(net.Groups())); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("KeepsKeysInTheSameOrderHoweverTheyCame", func(t *testing.T) {
		t.Parallel()
		turned := slices.Clone(all)
		slices.Reverse(turned[:6]) // one change a key
		mustReduce(t, turned, want...)
	})
	t.Run("IsNoneWithoutChanges", func(t *testing.T) {
		t.Parallel()
		mustReduce(t, nil)
	})
	t.Run("SharesNoRowWithTheChangesItMerged", func(t *testing.T) {
		t.Parallel()
		changes := []change.Change{item.insert("1", "a", "b"), item.update("1", gone, "d")}
		groups := reduce(t, nil, changes...)
		groups[0].Changes[0].Row[1] = change.Null()
		if got := words(changes[0].Row); got != "1|a|b" {
			t.Errorf("the first change became %s", got)
		}
	})
	t.Run("TakesTheRowsOfATableWithoutAKeyAsTheyCame", func(t *testing.T) {
		t.Parallel()
		log := newTable("log", "x", "y").keyed()
		mustReduce(t, []change.Change{
			log.insert("2", "b"), log.insert("1", "a"), log.insert("2", "b"), log.insert("3", gone), log.insert("1", "a"),
		}, "insert fresh log: 2|b 1|a 2|b 1|a", "insert fresh log: 3|-")
	})
}
