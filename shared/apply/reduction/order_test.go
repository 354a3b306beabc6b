package reduction_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/change"
)

// TestOrder: rows of parents come before rows of their children, deletes behind and the other way round.
func TestOrder(t *testing.T) {
	t.Parallel()
	grand := newTable("grand", "id", "a")
	parent := newTable("parent", "id", "grand").below("grand")
	child := newTable("child", "id", "parent").below("parent", "absent")
	other := newTable("other", "id", "a")
	unique := newTable("unique", "id", "mail").further()
	for _, test := range []struct {
		promise string
		changes []change.Change
		want    []string
	}{
		{
			"ParentsComeFirst",
			[]change.Change{child.insert("1", "1"), parent.insert("1", "1"), grand.insert("1", "a")},
			[]string{"insert fresh grand: 1|a", "insert fresh parent: 1|1", "insert fresh child: 1|1"},
		},
		{
			"DeletesOfChildrenComeFirst",
			[]change.Change{grand.delete("1"), child.delete("1"), parent.delete("1")},
			[]string{"delete child: 1", "delete parent: 1", "delete grand: 1"},
		},
		{
			"AllDeletesComeBehindAllRows",
			[]change.Change{
				grand.delete("1"), child.insert("2", "2"), grand.insert("2", "a"), parent.delete("1"), parent.insert("2",
					"2"), child.delete("1"),
			},
			[]string{
				"insert fresh grand: 2|a", "insert fresh parent: 2|2", "insert fresh child: 2|2", "delete child: 1",
				"delete parent: 1", "delete grand: 1",
			},
		},
		{
			"TablesThatNothingTiesComeAsTheyAppeared",
			[]change.Change{
				other.insert("1", "a"), grand.insert("1", "a"), unique.insert("1", "a"), grand.insert("2", "a"),
				other.insert("2", "a"),
			},
			[]string{"insert fresh other: 1|a 2|a", "insert fresh grand: 1|a 2|a", "insert fresh unique: 1|a"},
		},
		{
			"DeletesOfTablesWithFurtherConstraintsComeFirst",
			[]change.Change{
				other.insert("1", "a"), other.delete("2"), unique.insert("2", "m"), unique.update("4", gone),
				unique.delete("4"), unique.delete("1"),
			},
			[]string{
				"delete unique: 1", "delete strict unique: 4", "insert fresh other: 1|a", "insert fresh unique: 2|m",
				"delete other: 2",
			},
		},
		{
			"DeletesThatNeedNotMeetTheirRowComeBeforeThoseThatMust",
			[]change.Change{other.update("1", gone), other.delete("1"), other.delete("2")},
			[]string{"delete other: 2", "delete strict other: 1"},
		},
		{
			"TwoTablesOfOneKeyAreKeptApart",
			[]change.Change{
				other.insert("1", "a"), grand.insert("1", "b"), other.delete("1"), grand.update("1", "c"), other.insert("1",
					"d"), grand.delete("2"),
			},
			[]string{"insert reset other: 1|d", "insert fresh grand: 1|c", "delete grand: 2"},
		},
	} {
		t.Run(test.promise, func(t *testing.T) {
			t.Parallel()
			mustReduce(t, test.changes, test.want...)
		})
	}
	t.Run("FurtherTablesAmongThemselvesGoByTheirForeignKeys", func(t *testing.T) {
		t.Parallel()
		mail := newTable("mail", "id", "unique").below("unique").further()
		mustReduce(t, []change.Change{unique.delete("1"), mail.delete("1"), mail.insert("2", "2"), unique.insert("2", "m")},
			"delete mail: 1", "delete unique: 1", "insert fresh unique: 2|m", "insert fresh mail: 2|2")
	})
	t.Run("DoesNotHangOnATableBelowItself", func(t *testing.T) {
		t.Parallel()
		tree := newTable("tree", "id", "up").below("tree")
		mustReduce(t, []change.Change{tree.insert("1", null), tree.insert("2", "1"), tree.delete("3")},
			"insert fresh tree: 1|NULL 2|1", "delete tree: 3")
	})
	t.Run("LosesNoTableOfACircle", func(t *testing.T) {
		t.Parallel()
		one, two := newTable("one", "id", "two").below("two"), newTable("two", "id", "one").below("one")
		groups := reduce(t, nil, one.insert("1", null), two.insert("1", "1"), one.delete("2"), two.delete("2"))
		got := map[string]int{}
		for _, line := range shown(groups) {
			got[line]++
		}
		want := map[string]int{
			"insert fresh one: 1|NULL": 1, "insert fresh two: 1|1": 1, "delete one: 2": 1, "delete two: 2": 1,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("groups (-want +got):\n%s", diff)
		}
	})
	t.Run("IsTheSameHoweverTiedTablesAppeared", func(t *testing.T) {
		t.Parallel()
		all := [][]change.Change{
			{grand.insert("1", "a"), grand.delete("2")},
			{parent.insert("1", "1"), parent.delete("2")},
			{child.insert("1", "1"), child.delete("2")},
		}
		want := []string{
			"insert fresh grand: 1|a", "insert fresh parent: 1|1", "insert fresh child: 1|1", "delete child: 2",
			"delete parent: 2", "delete grand: 2",
		}
		for _, p := range [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
			var changes []change.Change
			for _, i := range p {
				changes = append(changes, all[i]...)
			}
			t.Run(fmt.Sprint(p), func(t *testing.T) {
				t.Parallel()
				mustReduce(t, changes, want...)
			})
		}
	})
}
