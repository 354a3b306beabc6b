package reduction_test

import (
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/shared/apply/reduction"
	"tidemark/shared/change"
)

// TestMain gives the generated histories a fixed number and a seed that is known before anything fails. Flags of the
// command line win.
func TestMain(m *testing.M) {
	flag.Parse()
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	seed := strconv.FormatUint(rand.Uint64(), 10) //nolint:gosec // a seed
	for name, value := range map[string]string{
		"rapid.checks": "1000", "rapid.seed": seed, "rapid.nofailfile": "true",
	} {
		if err := flag.Set(name, value); !given[name] && err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

const (
	merges    = "fewer rows than changes"
	resets    = "a row made anew"
	strict    = "a delete that must meet its row"
	refusals  = "a change that meets no row"
	barriers  = "a bulk group behind others one by one"
	asked     = "a table asked for in order"
	spellings = "a key in another spelling"
	keyless   = "a change of a row without a key"
	mixed     = "groups of three tables"
	anew      = "a window written because of a change that it could not take"
)

// history is a generated run of changes over tables of every kind.
type history struct {
	t       *rapid.T
	tables  []table
	inOrder map[*change.Relation]bool
	live    model // after the changes so far, one by one
	changes []change.Change
	failed  bool // live refused a change: what comes behind does not matter
	seen    map[string]bool
}

func newHistory(t *rapid.T) *history {
	h := &history{t: t, inOrder: map[*change.Relation]bool{}, seen: map[string]bool{}}
	numbers := newTable("numbers", "id", "a", "no!").equality(change.EqualityInteger)
	child := newTable("child", "kind", "id", "a", "sum=", "b").keyed(1, 0).below("item").further()
	h.tables = []table{
		newTable("item", "id", "a", "b", "sum="), child, numbers,
		newTable("names", "id", "a").equality(change.EqualityUnknown),
		newTable("log", "x", "y").keyed(), newTable("watched", "id", "a", "b").ordered(), newTable("other", "id", "a", "b"),
	}
	h.tables = h.tables[:rapid.IntRange(1, len(h.tables)).Draw(t, "tables")]
	for _, tb := range h.tables {
		if rapid.IntRange(0, 7).Draw(t, "in order") == 7 {
			h.inOrder[tb.Relation] = true
		}
	}
	h.live = newModel(h.tables...)
	return h
}

// TestHistory: the groups, in order, leave the rows that the changes leave one by one (L6), and are refused if and only
// if a change one by one is.
func TestHistory(t *testing.T) {
	t.Parallel()
	total, found := 0, map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		h := newHistory(rt)
		before := model{}
		for n := range rapid.IntRange(1, 100).Draw(rt, "changes") {
			if n == 0 || rapid.IntRange(0, 29).Draw(rt, "a batch ends") == 29 && !h.failed {
				before, h.changes = h.live.clone(), nil
			}
			h.add()
		}
		h.check(before)
		total++
		for feature := range h.seen {
			found[feature]++
		}
	})
	t.Logf("%d histories with the seed %s", total, flag.Lookup("rapid.seed").Value)
	for _, feature := range []string{merges, resets, strict, refusals, barriers, asked, spellings, keyless, mixed, anew} {
		share := float64(found[feature]) / float64(max(total, 1))
		t.Logf("%5.1f %% have %s", 100*share, feature)
		if share < 0.05 && !t.Failed() {
			t.Errorf("%.1f %% of the histories have %s, want at least 5 %%", 100*share, feature)
		}
	}
}

// add draws a change that mostly meets the row it needs.
func (h *history) add() {
	tb := rapid.SampledFrom(h.tables).Draw(h.t, "table")
	var c change.Change
	if len(tb.Key) == 0 {
		c = h.drawWithoutKey(tb)
	} else {
		c = h.drawWithKey(tb)
	}
	if !h.failed {
		trial := h.live.clone()
		if err := trial.one(&c); err != nil && rapid.IntRange(0, 4).Draw(h.t, "may fail") < 4 {
			c.Op, c.Old = change.Insert, nil
			c.Row = h.drawRow(tb, c.Key)
		}
		h.failed = h.live.one(&c) != nil
	}
	h.changes = append(h.changes, c)
}

func (h *history) drawWithKey(tb table) change.Change {
	var key []change.Value
	for _, i := range tb.Key {
		pool := []string{"1", "1", "2", "3"}
		switch tb.Columns[i].Type.Equality {
		case change.EqualityInteger:
			pool = append(pool, "01", "+2")
		case change.EqualityUnknown:
			pool = []string{"a", "A", "b"}
		case change.EqualityText, change.EqualityUUID:
		}
		spelling := rapid.SampledFrom(pool).Draw(h.t, "key")
		h.seen[spellings] = h.seen[spellings] || slices.Contains([]string{"01", "+2", "A"}, spelling)
		key = append(key, cell(spelling))
	}
	c := change.Change{Relation: tb.Relation, Op: change.Delete, Key: key}
	switch rapid.IntRange(0, 40).Draw(h.t, "kind") { // small numbers are drawn more often
	case 40:
		return tb.truncate()
	case 39:
		return moving(c)
	case 38:
		c.Op, c.Row = change.Insert, h.drawRow(tb, key)
		return moving(c)
	case 0, 4, 8, 12, 16, 20, 24:
	case 1, 5, 9, 13, 17, 21, 25:
		c.Op, c.Row = change.Insert, h.drawRow(tb, key)
	default:
		c.Op, c.Row = change.Update, h.drawRow(tb, key)
		for i := range c.Row {
			if tb.Columns[i].Fixed && rapid.Bool().Draw(h.t, "fixed is missing") {
				c.Row[i] = change.Missing()
			}
		}
	}
	return c
}

// drawRow is a row of the key, if there is one. A fixed column is always carried: it is not the target's to invent.
func (h *history) drawRow(tb table, key []change.Value) []change.Value {
	row := make([]change.Value, len(tb.Columns))
	for i, column := range tb.Columns {
		pool := []string{gone, gone, null, "", "p", "q", "r"}
		if column.Fixed {
			pool = []string{"7", "8", "9"}
		}
		row[i] = cell(rapid.SampledFrom(pool).Draw(h.t, column.Name))
	}
	for n := range key {
		row[tb.Key[n]] = key[n]
	}
	return row
}

func (h *history) drawWithoutKey(tb table) change.Change {
	h.seen[keyless] = true
	c := change.Change{Relation: tb.Relation, Op: change.Insert, Row: h.drawRow(tb, nil)}
	switch rapid.IntRange(0, 15).Draw(h.t, "kind") {
	case 15:
		return tb.truncate()
	case 3:
		c.Op, c.Old = change.Update, h.drawRow(tb, nil)
	case 6:
		c.Op, c.Old, c.Row = change.Delete, h.drawRow(tb, nil), nil
	}
	return c
}

// check holds the groups of the last batch, on the rows before it, against the rows behind it.
func (h *history) check(got model) {
	groups := reduce(h.t, h.inOrder, h.changes...)
	h.look(groups)
	var refused error
	for _, g := range groups {
		if g.Bulk && h.inOrder[g.Relation] {
			h.t.Fatalf("%s: the table was asked for in order", show(g))
		}
		if refused = got.group(g); refused != nil {
			break
		}
	}
	if _, ok := errors.AsType[malformed](refused); ok || (refused != nil) != h.failed {
		h.t.Fatalf("the groups: %v, refused one by one: %t\n%s", refused, h.failed, dump(h.changes, groups))
	}
	if h.failed {
		return
	}
	if diff := cmp.Diff(h.live.print(), got.print()); diff != "" {
		h.t.Fatalf("rows (-one by one +groups):\n%s\n%s", diff, dump(h.changes, groups))
	}
}

func dump(changes []change.Change, groups []reduction.Group) string {
	out := ""
	for _, c := range frozen(changes) {
		out += c + "\n"
	}
	for _, g := range shown(groups) {
		out += g + "\n"
	}
	return out
}

func (h *history) look(groups []reduction.Group) {
	written, tables, ordered, windows := 0, map[*change.Relation]bool{}, false, map[*change.Relation]int{}
	for n, g := range groups {
		written += len(g.Changes)
		tables[g.Relation] = true
		h.seen[resets] = h.seen[resets] || g.Reset
		h.seen[strict] = h.seen[strict] || g.Strict
		h.seen[barriers] = h.seen[barriers] || g.Bulk && ordered
		h.seen[asked] = h.seen[asked] || h.inOrder[g.Relation]
		h.seen[anew] = h.seen[anew] || n > 0 && g.Bulk && groups[n-1].Bulk && groups[n-1].Op == change.Delete &&
			g.Op != change.Delete && groups[n-1].Relation == g.Relation && !g.Relation.Further
		ordered = ordered || !g.Bulk
		windows[g.Relation]++
	}
	h.seen[merges] = h.seen[merges] || written < len(h.changes)
	h.seen[mixed] = h.seen[mixed] || len(tables) >= 3
	h.seen[refusals] = h.seen[refusals] || h.failed
	for feature, yes := range h.seen {
		if !yes {
			delete(h.seen, feature)
		}
	}
}
