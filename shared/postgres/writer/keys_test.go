package writer_test

import (
	"testing"

	"tidemark/shared/fault"
)

func TestKeys(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ promise, ddl string }{
		{"PrimaryKey", "CREATE TABLE t (v text, id int PRIMARY KEY)"},
		{"DeferrableImmediate", "CREATE TABLE t (v text, id int PRIMARY KEY DEFERRABLE)"},
		{"Deferred", "CREATE TABLE t (v text, id int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED)"},
		{"DeferredUnique", "CREATE TABLE t (v text, id int NOT NULL, UNIQUE (id) DEFERRABLE INITIALLY DEFERRED)"},
		{"UniqueIndexOnly", "CREATE TABLE t (v text, id int NOT NULL); CREATE UNIQUE INDEX ON t (id)"},
		{"ReplicaIdentity", "CREATE TABLE t (v text, id int NOT NULL);" +
			"CREATE UNIQUE INDEX i ON t (id); ALTER TABLE t REPLICA IDENTITY USING INDEX i"},
		{"WithIncludedColumns", "CREATE TABLE t (v text, id int, PRIMARY KEY (id) INCLUDE (v))"},
		{"Partitioned", "CREATE TABLE t (v text, id int PRIMARY KEY) PARTITION BY RANGE (id);" +
			"CREATE TABLE a PARTITION OF t FOR VALUES FROM (MINVALUE) TO (2); CREATE TABLE b PARTITION OF t DEFAULT"},
		{"GeneratedKey", "CREATE TABLE t (v text, id int PRIMARY KEY, g int GENERATED ALWAYS AS (id * 2) STORED)"},
		{"DroppedColumns", "CREATE TABLE t (a int, v text, b int, id int PRIMARY KEY);" +
			"ALTER TABLE t DROP a, DROP b"},
	} {
		t.Run("OneRowAKey/"+test.promise, func(t *testing.T) {
			t.Parallel()
			f := newFlow(t, test.ddl)
			tab := f.table(t, "t")
			row := func(v any, id string) []any { return []any{v, id, gone{}}[:len(tab.Columns)] }
			f.must(t, tab.insert(row("a", "1")...), tab.insert(row("b", "1")...), tab.update(row("c", "2")...),
				tab.update(row("d", "3")...), tab.insert(row("e", "3")...), tab.delete("2"), tab.delete("99"))
			f.wantRows(t, "SELECT id, v FROM t ORDER BY id", "1\tb", "3\te")
			f.must(t, tab.update(row(nil, "1")...))
			f.wantRows(t, "SELECT id, v FROM t ORDER BY id", "1\t\\N", "3\te")
		})
	}
	t.Run("ColumnsMayStandInAnotherOrderThanTheKey", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, "CREATE TABLE t (a int, v text, b text, c int, PRIMARY KEY (c, a, b))")
		tab := f.table(t, "t")
		f.must(t, tab.insert("1", "x", "2", "3"), tab.insert("3", "y", "2", "1"), tab.update("1", "z", "2", "3"),
			tab.delete("1", "3", "2"))
		f.wantRows(t, "TABLE t", "1\tz\t2\t3")
	})
	t.Run("AllColumnsMayBeKey", func(t *testing.T) {
		t.Parallel()
		for _, deferrable := range []string{"", " DEFERRABLE"} {
			f := newFlow(t, "CREATE TABLE t (a int, b text, PRIMARY KEY (a, b)"+deferrable+")")
			tab := f.table(t, "t")
			f.must(t, tab.insert("1", "x"), tab.insert("1", "x"), tab.update("1", "x"), tab.insert("2", "y"),
				tab.delete("2", "y"))
			f.wantRows(t, "TABLE t", "1\tx")
		}
	})
	t.Run("AKeyThatIsNullOrMissingIsPoison", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, "CREATE TABLE t (id int PRIMARY KEY, v text)")
		tab := f.table(t, "t")
		for _, key := range []any{nil, gone{}} {
			wantFault(t, f.try(t, tab.insert(key, "a")), fault.Poison, "")
			wantFault(t, f.try(t, tab.delete(key)), fault.Poison, "")
		}
	})
}

// TestEqualKeys: other texts that the index holds equal lead to the row that is there.
func TestEqualKeys(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ promise, ddl, here, same, other, want string }{
		{"Citext", "CREATE EXTENSION citext", "Ab", "aB", "b", "Ab"},
		{"CitextOutsideTheSearchPath", "CREATE SCHEMA x; CREATE EXTENSION citext SCHEMA x", "Ab", "aB", "b", "Ab"},
		{
			"DomainOverCitext", "CREATE SCHEMA x; CREATE EXTENSION citext SCHEMA x; CREATE DOMAIN key AS x.citext",
			"Ab", "aB", "b", "Ab",
		},
		{"Numeric", "CREATE DOMAIN key AS numeric", "1.0", "1", "1.1", "1.0"},
		{"Char", "CREATE DOMAIN key AS char(3)", "a", "a  ", "b", "a  "},
		{"MinusZero", "CREATE DOMAIN key AS float8", "0", "-0", "1", "0"},
		{"Interval", "CREATE DOMAIN key AS interval", "1 mon", "30 days", "1 day", "1 mon"},
		{
			"Timestamptz", "CREATE DOMAIN key AS timestamptz", "2020-01-01 00:00:00+00", "2020-01-01 02:00:00+02", "infinity",
			"2020-01-01 00:00:00+00",
		},
		{"DomainOverEnum", "CREATE TYPE e AS ENUM ('a', 'b'); CREATE DOMAIN key AS e", "a", "a", "b", "a"},
		{"DomainOverRange", "CREATE DOMAIN key AS int4range", "[1,2]", "[1,3)", "empty", "[1,3)"},
		{"DomainOverArray", "CREATE DOMAIN key AS numeric[]", "{1.0}", "{1}", "{}", "{1.0}"},
		{
			"DomainOverComposite", "CREATE TYPE c AS (a int, b text); CREATE DOMAIN key AS c",
			"(1,a)", "( 1,a)", "(,)", "(1,a)",
		},
		{"Jsonb", "CREATE DOMAIN key AS jsonb", `{"a": 1.0}`, `{"a":1}`, "null", `{"a": 1.0}`},
		{"CollationWithoutCase", `CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
			CREATE DOMAIN key AS text COLLATE nocase`, "Ab", "aB", "b", "Ab"},
	} {
		t.Run(test.promise, func(t *testing.T) {
			t.Parallel()
			f := newFlow(t, "")
			if !hasExtensions(t, f, test.ddl) {
				return
			}
			f.Exec(t, test.ddl)
			typ := map[string]string{"Citext": "citext", "CitextOutsideTheSearchPath": "x.citext"}[test.promise]
			if typ == "" {
				typ = "key"
			}
			f.Exec(t, "CREATE TABLE t (id "+typ+" PRIMARY KEY, v text, w text)")
			tab := f.table(t, "t")
			f.must(t, tab.insert(test.other, "other", "w"))
			f.must(t, tab.insert(test.here, "a", "w"), tab.insert(test.same, "b", "w"), tab.update(test.same, "c", gone{}))
			f.wantRows(t, "SELECT id, v, w FROM t WHERE v <> 'other'", test.want+"\tc\tw")
			f.must(t, tab.delete(test.same))
			f.wantRows(t, "SELECT v FROM t", "other")
		})
	}
}

// TestInheritance: a table's changes are its own. Its key says nothing about the rows of tables that inherit from it.
func TestInheritance(t *testing.T) {
	t.Parallel()
	const ddl = "CREATE TABLE parent (id int PRIMARY KEY, v text); CREATE TABLE child () INHERITS (parent);" +
		"CREATE TABLE bag (v text); CREATE TABLE inner_bag () INHERITS (bag)"
	t.Run("AChildsRowsAreNotTheParents", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, ddl+"; INSERT INTO child VALUES (1, 'child'), (2, 'child')")
		tab := f.table(t, "parent")
		f.must(t, tab.insert("1", "a"), tab.update("1", "b"), tab.delete("2"))
		wantFault(t, f.try(t, tab.update("2", gone{})), fault.Poison, "TM002")
		f.must(t, tab.update("1", gone{}), tab.delete("1"))
		f.wantRows(t, "SELECT id, v FROM child ORDER BY id", "1\tchild", "2\tchild")
		f.wantRows(t, "SELECT id, v FROM ONLY parent")
	})
	t.Run("AChildIsATable", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, ddl+"; ALTER TABLE child ADD PRIMARY KEY (id)")
		tab := f.table(t, "child")
		f.must(t, tab.insert("1", "a"), tab.insert("1", "b"), tab.update("1", "c"))
		f.wantRows(t, "SELECT id, v FROM parent", "1\tc")
	})
	t.Run("AKeylessParentKeepsItsChildsRows", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, ddl+"; INSERT INTO inner_bag VALUES ('a')")
		tab := f.table(t, "bag")
		wantFault(t, f.try(t, tab.remove("a")), fault.Poison, "TM002")
		f.must(t, tab.insert("a"), tab.replace(cells("a"), "b"), tab.remove("b"))
		f.wantRows(t, "SELECT v FROM bag", "a")
	})
	t.Run("TruncateSparesTheChild", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, ddl+"; INSERT INTO child VALUES (1, 'child'); INSERT INTO parent VALUES (1, 'parent')")
		f.must(t, f.table(t, "parent").truncate())
		f.wantRows(t, "SELECT v FROM parent", "child")
	})
}
