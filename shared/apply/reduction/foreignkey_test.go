package reduction_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/shared/change"
)

// TestForeignKeys: where each change alone keeps the foreign keys, each group does too, so a target that checks them at
// the end of every statement takes the groups as they are.
func TestForeignKeys(t *testing.T) {
	t.Parallel()
	grand := newTable("grand", "id", "a")
	parent := newTable("parent", "id", "up", "a").below("grand")
	child := newTable("child", "id", "up", "a").below("parent")
	tables := []table{child, grand, parent}
	up := map[*change.Relation]*change.Relation{child.Relation: parent.Relation, parent.Relation: grand.Relation}
	merged := 0
	rapid.Check(t, func(t *rapid.T) {
		live := newModel(tables...)
		before, changes := live.clone(), []change.Change(nil)
		for range rapid.IntRange(1, 60).Draw(t, "changes") {
			if rapid.IntRange(0, 29).Draw(t, "a batch ends") == 29 {
				before, changes = live.clone(), nil
			}
			c := drawTied(t, rapid.SampledFrom(tables).Draw(t, "table"))
			if trial := live.clone(); trial.one(&c) == nil && trial.orphan(up) == "" {
				live, changes = trial, append(changes, c)
			}
		}
		groups := reduce(t, nil, changes...)
		if len(groups) < len(changes) {
			merged++
		}
		for _, g := range groups {
			if err := before.group(g); err != nil {
				t.Fatalf("%v\n%s", err, dump(changes, groups))
			}
			if orphan := before.orphan(up); orphan != "" {
				t.Fatalf("%s leaves %s\n%s", show(g), orphan, dump(changes, groups))
			}
		}
		if diff := cmp.Diff(live.print(), before.print()); diff != "" {
			t.Fatalf("rows (-one by one +groups):\n%s\n%s", diff, dump(changes, groups))
		}
	})
	if merged == 0 {
		t.Error("no history had fewer groups than changes")
	}
}

func drawTied(t *rapid.T, tb table) change.Change {
	row := []string{rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "key")}
	for range tb.Columns[1:] {
		row = append(row, rapid.SampledFrom([]string{"1", "2", "3", null, gone}).Draw(t, "cell"))
	}
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		return tb.delete(row[0])
	case 1:
		return tb.update(row...)
	}
	return tb.insert(row...)
}

// orphan names a row whose second column points to no row of the table above its own.
func (m model) orphan(up map[*change.Relation]*change.Relation) string {
	for relation, above := range up {
		for key, row := range m[relation].byKey {
			if row[1] != null && row[1] != none && m[above].byKey[fmt.Sprintf("%q", row[1])] == nil {
				return fmt.Sprintf("the row %s of %s without its %s in %s", key, relation.Name, row[1], above.Name)
			}
		}
	}
	return ""
}
