package reduction_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/apply/reduction"
	"tidemark/shared/change"
)

// gone is a cell that the record does not carry, null is SQL NULL. Any other word is a text.
const (
	gone = "-"
	null = "NULL"
)

func cell(word string) change.Value {
	switch word {
	case gone:
		return change.Missing()
	case null:
		return change.Null()
	}
	return change.Text([]byte(word))
}

func cells(words ...string) []change.Value {
	out := make([]change.Value, len(words))
	for i, word := range words {
		out[i] = cell(word)
	}
	return out
}

func word(v change.Value) string {
	if v.IsMissing() {
		return gone
	}
	return v.String()
}

func words(row []change.Value) string {
	out := make([]string, len(row))
	for i := range row {
		out[i] = word(row[i])
	}
	return strings.Join(out, "|")
}

// table is a relation whose changes a test writes as words.
type table struct{ *change.Relation }

// newTable is a table whose first column is its key, told apart by its text. A column's name may end in ! (Fixed) or
// = (Generated).
func newTable(name string, columns ...string) table {
	made := make([]change.Column, len(columns))
	for i, c := range columns {
		made[i] = change.Column{
			Name: strings.TrimRight(c, "!="), Fixed: strings.HasSuffix(c, "!"), Generated: strings.HasSuffix(c, "="),
			Type: change.Type{Equality: change.EqualityText},
		}
	}
	return table{change.NewRelation(change.Name{Schema: "public", Table: name}, made, []int{0})}
}

func (tb table) keyed(key ...int) table {
	tb.Key = key
	return tb
}

func (tb table) equality(e change.Equality) table {
	for i := range tb.Columns {
		tb.Columns[i].Type.Equality = e
	}
	return tb
}

func (tb table) ordered() table {
	tb.InOrder = true
	return tb
}

func (tb table) further() table {
	tb.Further = true
	return tb
}

func (tb table) below(parents ...string) table {
	for _, p := range parents {
		tb.Parents = append(tb.Parents, change.Name{Schema: "public", Table: p})
	}
	return tb
}

func (tb table) keyOf(row []change.Value) []change.Value {
	var key []change.Value
	for _, i := range tb.Key {
		key = append(key, row[i])
	}
	return key
}

func (tb table) insert(row ...string) change.Change {
	c := change.Change{Relation: tb.Relation, Op: change.Insert, Row: cells(row...)}
	c.Key = tb.keyOf(c.Row)
	return c
}

func (tb table) update(row ...string) change.Change {
	c := tb.insert(row...)
	c.Op = change.Update
	return c
}

func (tb table) delete(key ...string) change.Change {
	return change.Change{Relation: tb.Relation, Op: change.Delete, Key: cells(key...)}
}

func (tb table) truncate() change.Change {
	return change.Change{Relation: tb.Relation, Op: change.Truncate}
}

// replaceOld and deleteOld are changes of a table without a key.
func (tb table) replaceOld(old, row []string) change.Change {
	return change.Change{Relation: tb.Relation, Op: change.Update, Old: cells(old...), Row: cells(row...)}
}

func (tb table) deleteOld(old ...string) change.Change {
	return change.Change{Relation: tb.Relation, Op: change.Delete, Old: cells(old...)}
}

// moving makes a change one half of a move.
func moving(c change.Change) change.Change {
	c.Move = &change.Move{ID: "1", From: `["1"]`, To: `["2"]`}
	return c
}

// show prints a group on one line: operation, what the group says of itself, table, and of each change the row, or the
// key of a delete, or the old row. What is not in bulk says "one by one".
func show(g reduction.Group) string {
	parts := []string{g.Op.String()}
	for _, flag := range []struct {
		set  bool
		name string
	}{{g.Fresh, "fresh"}, {g.Reset, "reset"}, {g.Strict, "strict"}, {!g.Bulk, "one by one"}} {
		if flag.set {
			parts = append(parts, flag.name)
		}
	}
	parts = append(parts, g.Relation.Name.Table+":")
	for i := range g.Changes {
		c := &g.Changes[i]
		switch {
		case g.Op == change.Truncate:
			parts = append(parts, "all")
		case c.Old != nil && c.Row != nil:
			parts = append(parts, words(c.Old)+"->"+words(c.Row))
		case c.Old != nil:
			parts = append(parts, words(c.Old))
		case g.Op == change.Delete:
			parts = append(parts, words(c.Key))
		default:
			parts = append(parts, words(c.Row))
		}
	}
	return strings.Join(parts, " ")
}

// reduce returns the groups that changes come to and makes sure that no change was altered on the way.
func reduce(t failing, inOrder map[*change.Relation]bool, changes ...change.Change) []reduction.Group {
	t.Helper()
	set := change.Set{Changes: changes}
	before := frozen(changes)
	net := reduction.New(&set, inOrder)
	net.Add(changes)
	groups := net.Groups()
	if diff := cmp.Diff(before, frozen(changes)); diff != "" {
		t.Fatalf("changes were altered (-want +got):\n%s", diff)
	}
	return groups
}

type failing interface {
	Helper()
	Fatalf(format string, args ...any)
}

// frozen prints all of the changes, so that nothing done to them later goes unseen.
func frozen(changes []change.Change) []string {
	out := make([]string, len(changes))
	for i := range changes {
		c := &changes[i]
		out[i] = fmt.Sprintf("%p %s %d row %d %q key %d %q old %d %q move %+v", c.Relation, c.Op, c.Offset,
			len(c.Row), words(c.Row), len(c.Key), words(c.Key), len(c.Old), words(c.Old), c.Move)
	}
	return out
}

func shown(groups []reduction.Group) []string {
	var out []string
	for _, g := range groups {
		out = append(out, show(g))
	}
	return out
}

// mustReduce holds the groups that changes come to against want, a line each.
func mustReduce(t *testing.T, changes []change.Change, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, shown(reduce(t, nil, changes...))); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}
