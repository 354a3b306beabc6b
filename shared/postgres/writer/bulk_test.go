package writer_test

import (
	"fmt"
	"strings"
	"testing"

	"tidemark/shared/apply/reduction"
	"tidemark/shared/change"
	"tidemark/shared/fault"
	"tidemark/shared/postgres"
)

// mustBulk applies changes in bulk and has to pass.
func (f *flow) mustBulk(tb testing.TB, group reduction.Group, changes ...change.Change) {
	tb.Helper()
	if err := f.inBulk(tb, group, changes...); err != nil {
		tb.Fatalf("apply in bulk: %v", err)
	}
}

func TestBulk(t *testing.T) {
	t.Parallel()
	plain := reduction.Group{}
	t.Run("NewAndOldRowsAtOnce", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, `CREATE TABLE t (id int PRIMARY KEY, v text, w text DEFAULT 'w');
			INSERT INTO t VALUES (1, 'old', 'kept')`)
		tab := f.table(t, "t")
		f.mustBulk(t, plain, tab.insert("1", "a", gone{}), tab.insert("2", nil, gone{}), tab.insert("3", "", gone{}))
		f.wantRows(t, "TABLE t ORDER BY id", "1\ta\tkept", "2\t\\N\tw", "3\t\tw")
	})
	t.Run("ResetPutsAbsentColumnsBackToTheirDefault", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, `CREATE TABLE t (id int PRIMARY KEY, v text, w text DEFAULT 'w', n int,
			a int GENERATED ALWAYS AS IDENTITY, g text GENERATED ALWAYS AS (v) STORED);
			INSERT INTO t OVERRIDING SYSTEM VALUE VALUES (1, 'old', 'old', 7, 77)`)
		tab := f.table(t, "t")
		f.mustBulk(t, reduction.Group{Reset: true}, tab.insert("1", "a", gone{}, gone{}, gone{}, gone{}))
		f.wantRows(t, "TABLE t", "1\ta\tw\t\\N\t77\ta")
		f.Exec(t, "UPDATE t SET n = 8")
		f.mustBulk(t, reduction.Group{Reset: true}, tab.insert("1", gone{}, gone{}, gone{}, gone{}, gone{}))
		f.wantRows(t, "TABLE t", "1\t\\N\tw\t\\N\t77\t\\N")
	})
	t.Run("APartialUpdateOfAMissingRowWritesNothing", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, "CREATE TABLE t (id int PRIMARY KEY, v text NOT NULL, w text); INSERT INTO t VALUES (1, 'a', 'w')")
		tab := f.table(t, "t")
		err := f.inBulk(t, plain, tab.update("1", gone{}, "b"), tab.update("2", gone{}, "b"))
		wantFault(t, err, fault.Poison, "TM002")
		err = f.inBulk(t, plain, tab.update("1", gone{}, gone{}), tab.update("2", gone{}, gone{}))
		wantFault(t, err, fault.Poison, "TM002")
		f.mustBulk(t, plain, tab.update("1", gone{}, "b"))
		f.wantRows(t, "TABLE t", "1\ta\tb")
	})
	t.Run("AStrictDeleteNeedsItsRows", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, "CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1), (2), (3)")
		tab := f.table(t, "t")
		wantFault(t, f.inBulk(t, reduction.Group{Strict: true}, tab.delete("1"), tab.delete("9")), fault.Poison, "TM002")
		f.mustBulk(t, plain, tab.delete("1"), tab.delete("9"))
		f.mustBulk(t, reduction.Group{Strict: true}, tab.delete("2"))
		f.wantRows(t, "TABLE t", "3")
	})
	t.Run("TwoTextsOfOneKeyAreRefused", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, "CREATE TABLE t (id numeric PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'a')")
		tab := f.table(t, "t")
		err := f.inBulk(t, plain, tab.insert("1.0", "b"), tab.insert("1.00", "c"))
		if got := stateOf(err); got != "21000" {
			t.Errorf("got SQLSTATE %q (%v), want 21000", got, err)
		}
		wantFault(t, f.inBulk(t, plain, tab.update("1.0", "b"), tab.update("1.00", "c")), fault.Poison, "TM002")
		f.wantRows(t, "TABLE t", "1\ta")
	})
	t.Run("RowsOfATableWithoutKeyMayRepeat", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, "CREATE TABLE t (a int, b text[])")
		tab := f.table(t, "t")
		f.mustBulk(t, plain, tab.insert("1", "{x,NULL}"), tab.insert("1", "{x,NULL}"), tab.insert(nil, nil))
		f.wantRows(t, "TABLE t ORDER BY a", "1\t{x,NULL}", "1\t{x,NULL}", "\\N\t\\N")
	})
	t.Run("AChildsRowsAreNotTheParents", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, `CREATE TABLE t (id int PRIMARY KEY, v text); CREATE TABLE child () INHERITS (t);
			INSERT INTO t VALUES (1, 'a'), (2, 'b'); INSERT INTO child VALUES (1, 'child'), (2, 'child')`)
		tab := f.table(t, "t")
		f.mustBulk(t, plain, tab.update("1", "c"), tab.update("2", "d"))
		f.mustBulk(t, reduction.Group{Strict: true}, tab.delete("1"), tab.delete("2"))
		f.wantRows(t, "TABLE t", "1\tchild", "2\tchild")
	})
	t.Run("KeysBehindDomainsAndInOtherSchemas", func(t *testing.T) {
		t.Parallel()
		const ddl = `CREATE SCHEMA x; CREATE EXTENSION citext SCHEMA x; CREATE TYPE mood AS ENUM ('a', 'b');
			CREATE DOMAIN feeling AS mood; CREATE TABLE t (f feeling, c x.citext, v text, PRIMARY KEY (c, f))`
		f := newFlow(t, "")
		if !hasExtensions(t, f, ddl) {
			return
		}
		f.Exec(t, ddl)
		tab := f.table(t, "t")
		f.mustBulk(t, plain, tab.insert("a", "Xy", "1"), tab.insert("b", "Xy", "2"))
		f.mustBulk(t, plain, tab.insert("a", "xY", "3"), tab.insert("b", "z", "4"))
		f.mustBulk(t, plain, tab.update("a", "XY", "5"), tab.update("b", "xy", "6"))
		f.mustBulk(t, reduction.Group{Strict: true}, tab.delete("xY", "b"), tab.delete("Z", "b"))
		f.wantRows(t, "TABLE t", "a\tXy\t5")
	})
	t.Run("NamesOfAnyKind", func(t *testing.T) {
		t.Parallel()
		var columns []string
		row := make([]any, 0, len(awkward))
		for i, n := range awkward {
			columns = append(columns, postgres.QuoteName(n)+" text")
			row = append(row, fmt.Sprint(i))
		}
		f := newFlow(t, fmt.Sprintf("CREATE TABLE excluded (%s, PRIMARY KEY (u, t, a1))", strings.Join(columns, ", ")))
		tab := f.table(t, "excluded")
		other := append([]any{"x", "x"}, row[2:]...)
		at := func(name string) int {
			i, _ := tab.Column([]byte(name))
			return i
		}
		other[at("u")] = "other"
		f.mustBulk(t, plain, tab.insert(row...), tab.insert(other...))
		f.mustBulk(t, plain, tab.insert(row...), tab.insert(other...))
		row[at("$1")], other[at("$1")] = gone{}, gone{}
		f.mustBulk(t, plain, tab.update(row...), tab.update(other...))
		f.wantRows(t, `SELECT "MixedCase", "$1", u FROM excluded ORDER BY 1`, "0\t8\t16", "x\t8\tother")
		f.mustBulk(t, reduction.Group{Strict: true}, tab.delete("16", "15", "18"), tab.delete("other", "15", "18"))
		f.wantRows(t, "SELECT count(*) FROM excluded", "0")
	})
}
