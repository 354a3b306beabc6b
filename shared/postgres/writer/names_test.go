package writer_test

import (
	"fmt"
	"strings"
	"testing"

	"tidemark/shared/apply/reduction"
	"tidemark/shared/change"
	"tidemark/shared/postgres"
)

// awkward are names that need quotes, or that mean something to SQL or to the writer's own statements.
var awkward = []string{
	"MixedCase", "with space", `quo"te`, "it's", "semi;colon--", "back\\slash", "per%cent", "🐘", "$1", "$2::text",
	"user", "select", "excluded", "EXCLUDED", "default", "t", "u", "m", "a1", "met", "gone", "kept", "old", "done",
	"row_values", "flow", "new", "tableoid ", strings.Repeat("n", change.MaxNameBytes), strings.Repeat("🐘", 15) + "abc",
}

// everyOperation writes, changes, moves and deletes rows of a table (id, v, w).
func (f *flow) everyOperation(tb testing.TB, tab table, quoted string) {
	tb.Helper()
	f.must(tb, tab.insert("1", "a", "b"), tab.insert("1", "a2", "b2"), tab.update("1", "a3", gone{}),
		tab.insert("2", "x", "y"), tab.delete("2"))
	f.wantRows(tb, "TABLE "+quoted, "1\ta3\tb2")
	move := &change.Move{ID: "move", From: "1", To: "3"}
	deleted, inserted := tab.delete("1"), tab.insert("3", gone{}, "b3")
	deleted.Move, inserted.Move = move, move
	f.must(tb, deleted, inserted)
	f.wantRows(tb, "TABLE "+quoted, "3\ta3\tb3")
	f.must(tb, tab.truncate())
	f.wantRows(tb, "TABLE "+quoted)
	f.wantRows(tb, "TABLE tidemark.moved_row")
}

func TestNames(t *testing.T) {
	t.Parallel()
	t.Run("TablesMayHaveAnyName", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, `CREATE SCHEMA "sche.ma ""q"" 🐘"`)
		for _, n := range awkward {
			at := name(`sche.ma "q" 🐘`, n)
			quoted := postgres.QuoteTable(at.Schema, at.Table)
			f.Exec(t, "CREATE TABLE "+quoted+" (id int PRIMARY KEY, v text, w text)")
			f.everyOperation(t, f.named(t, at), quoted)
		}
	})
	t.Run("ColumnsMayHaveAnyName", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, "")
		for i, n := range awkward {
			at := fmt.Sprintf("t%d", i)
			key, other := postgres.QuoteName(n+"k"), postgres.QuoteName(n)
			if len(n) == change.MaxNameBytes {
				key = "k"
			}
			f.Exec(t, fmt.Sprintf("CREATE TABLE %s (%s int PRIMARY KEY, %s text, w text)", at, key, other))
			f.everyOperation(t, f.table(t, at), at)
			f.Exec(t, fmt.Sprintf("CREATE TABLE k%s (%s int PRIMARY KEY, v text, w text)", at, other))
			f.everyOperation(t, f.table(t, "k"+at), "k"+at)
		}
	})
	t.Run("TablesWithoutKeyMayHaveAnyColumns", func(t *testing.T) {
		t.Parallel()
		var columns []string
		var before, after []any
		for i, n := range awkward {
			columns = append(columns, postgres.QuoteName(n)+" text")
			before, after = append(before, fmt.Sprint(i)), append(after, fmt.Sprint(-i))
		}
		f := newFlow(t, "CREATE TABLE excluded ("+strings.Join(columns, ", ")+")")
		tab := f.table(t, "excluded")
		f.must(t, tab.insert(before...), tab.replace(cells(before...), after...))
		f.wantRows(t, "SELECT count(*) FROM excluded WHERE t = '-15'", "1")
		f.must(t, tab.remove(after...))
		f.wantRows(t, "SELECT count(*) FROM excluded", "0")
	})
	t.Run("TypesMayHaveAnyName", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, `CREATE SCHEMA "a.b ""c"`)
		for i, n := range awkward {
			typ := postgres.QuoteTable(`a.b "c`, n)
			f.Exec(t, fmt.Sprintf("CREATE TYPE %s AS ENUM ('one', 'two')", typ))
			f.Exec(t, fmt.Sprintf("CREATE TABLE e%d (id %s PRIMARY KEY, v %s[])", i, typ, typ))
			tab := f.table(t, fmt.Sprintf("e%d", i))
			f.must(t, tab.insert("one", "{one,two}"), tab.insert("two", "{}"), tab.update("two", "{two}"), tab.delete("one"))
			f.wantRows(t, fmt.Sprintf("TABLE e%d", i), "two\t{two}")
		}
	})
}

func TestWideTable(t *testing.T) {
	t.Parallel()
	const width = 1600
	var columns []string
	row, patch := []any{"1"}, []any{"1"}
	for i := 1; i < width; i++ {
		columns = append(columns, fmt.Sprintf("c%d int", i))
		row, patch = append(row, fmt.Sprint(i)), append(patch, gone{})
	}
	patch[width-1] = "-1"
	sum := strings.Join(columns, " + ")
	sum = strings.ReplaceAll(sum, " int", "")
	all := strings.Join(columns, ", ")
	t.Run("ARowOf1600ColumnsIsWrittenAndDeleted", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, "CREATE TABLE wide (id int PRIMARY KEY, "+all+")")
		tab := f.table(t, "wide")
		f.must(t, tab.insert(row...), tab.insert(row...), tab.update(patch...))
		f.wantRows(t, "SELECT id, c1, c1598, c1599, "+sum+" FROM wide", "1\t1\t1598\t-1\t1277600")
		moved := append([]any{"2"}, patch[1:]...)
		deleted, inserted := tab.delete("1"), tab.insert(moved...)
		deleted.Move = &change.Move{ID: "move", From: "1", To: "2"}
		inserted.Move = deleted.Move
		f.must(t, deleted, inserted)
		f.wantRows(t, "SELECT id, c1, c1598, c1599 FROM wide", "2\t1\t1598\t-1")
		f.must(t, tab.delete("2"))
		f.wantRows(t, "SELECT id FROM wide")
	})
	t.Run("RowsOf1600ColumnsGoInBulk", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, "CREATE TABLE wide (id int PRIMARY KEY, "+all+")")
		tab := f.table(t, "wide")
		second := append([]any{"2"}, row[1:]...)
		f.mustBulk(t, reduction.Group{}, tab.insert(row...), tab.insert(second...))
		f.mustBulk(t, reduction.Group{}, tab.update(row...), tab.update(second...))
		f.mustBulk(t, reduction.Group{Strict: true}, tab.delete("1"))
		f.wantRows(t, "SELECT id, c1, c1599 FROM wide", "2\t1\t1599")
	})
	t.Run("ARowOf1600ColumnsWithoutKeyIsFoundAgain", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, "CREATE TABLE wide (id int, "+all+")")
		tab := f.table(t, "wide")
		f.must(t, tab.insert(row...), tab.insert(row...), tab.replace(cells(row...), patch...), tab.remove(row...))
		f.wantRows(t, "SELECT id, c1598, c1599 FROM wide", "1\t1598\t-1")
	})
}
