package catalog_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/change"
	"tidemark/shared/fault"
	"tidemark/shared/postgres/catalog"
)

func TestRead(t *testing.T) {
	t.Parallel()
	t.Run("RefusesWhatHoldsNoRowsOfItsOwn", func(t *testing.T) {
		t.Parallel()
		db := newDatabase(t, `CREATE TABLE base (id int PRIMARY KEY); CREATE VIEW "view" AS TABLE base;
			CREATE MATERIALIZED VIEW matview AS TABLE base; CREATE SEQUENCE sequence; CREATE TYPE composite AS (a int);
			CREATE FOREIGN DATA WRAPPER w; CREATE SERVER s FOREIGN DATA WRAPPER w;
			CREATE FOREIGN TABLE "foreign" (a int) SERVER s`)
		for _, name := range []string{"view", "matview", "sequence", "composite", "foreign", "base_pkey", "no such table"} {
			_, err := read(t, db, public(name))
			if !fault.Is(err, fault.Misconfigured) || fault.HintOf(err) == "" || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: got %v (%v) with the hint %q, want Misconfigured, the name and a hint",
					name, err, fault.ClassOf(err), fault.HintOf(err))
			}
		}
	})
	t.Run("TakesTablesOfEveryKind", func(t *testing.T) {
		t.Parallel()
		db := newDatabase(t, `CREATE TABLE ordinary (id int); CREATE UNLOGGED TABLE unlogged (id int);
			CREATE TABLE partitioned (id int) PARTITION BY LIST (id); CREATE TABLE "partition" PARTITION OF partitioned DEFAULT;
			CREATE TYPE row AS (id int); CREATE TABLE typed OF row`)
		for table, own := range map[string]string{
			"ordinary": `ONLY "public"."ordinary"`, "unlogged": `ONLY "public"."unlogged"`,
			"partitioned": `"public"."partitioned"`,
			"partition":   `ONLY "public"."partition"`, "typed": `ONLY "public"."typed"`,
		} {
			if got := mustRead(t, db, table); got.Own != own {
				t.Errorf("%s: its own rows are %s, want %s", table, got.Own, own)
			}
		}
	})
	t.Run("NamesAreTakenLiterally", func(t *testing.T) {
		t.Parallel()
		db := newDatabase(t, `CREATE SCHEMA "a.b""c"; CREATE TABLE "a.b""c"."D e" ("$1" int, "x""y" int);
			CREATE TABLE t (a int)`)
		table, err := read(t, db, change.Name{Schema: `a.b"c`, Table: "D e"})
		if err != nil {
			t.Fatal(err)
		}
		got := []string{table.Quoted, table.Columns[0].Quoted, table.Columns[1].Quoted, table.Relation.Columns[1].Name}
		if diff := cmp.Diff([]string{`"a.b""c"."D e"`, `"$1"`, `"x""y"`, `x"y`}, got); diff != "" {
			t.Errorf("names (-want +got):\n%s", diff)
		}
		others := []change.Name{public("T"), public("t "), public("%"), {Schema: "PUBLIC", Table: "t"}, {Table: "t"}}
		for _, other := range others {
			if _, err := read(t, db, other); !fault.Is(err, fault.Misconfigured) {
				t.Errorf("%s: got %v, want Misconfigured", other, err)
			}
		}
	})
	t.Run("ANameThatPostgresWouldCutIsAnotherName", func(t *testing.T) {
		t.Parallel()
		long := strings.Repeat("n", change.MaxNameBytes+1)
		db := newDatabase(t, "CREATE TABLE "+long+" (a int)") // is cut to 63 bytes
		if _, err := read(t, db, public(long)); !fault.Is(err, fault.Misconfigured) {
			t.Errorf("got %v, want Misconfigured", err)
		}
		if _, err := read(t, db, public(long[1:])); err != nil {
			t.Error(err)
		}
	})
	t.Run("ATableOfTheSameNameElsewhereDoesNotMatter", func(t *testing.T) {
		t.Parallel()
		db := newDatabase(t, `CREATE TABLE t (ours int PRIMARY KEY, v text);
			CREATE SCHEMA evil; CREATE TABLE evil.t (theirs text); CREATE TABLE evil.pg_class (x int);
			CREATE TABLE evil.pg_type (x int);
			CREATE FUNCTION evil.format_type(oid, int) RETURNS text LANGUAGE sql AS $$SELECT 'hijacked'$$;
			CREATE FUNCTION evil.set_config(text, text, boolean) RETURNS text LANGUAGE sql AS $$SELECT 'hijacked'$$;
			CREATE TEMPORARY TABLE t (temporary text); CREATE TYPE evil.text AS (a int)`)
		db.Exec(t, "SET search_path = evil, pg_catalog, public")
		table := mustRead(t, db, "t")
		if diff := cmp.Diff([]string{"ours"}, keyNames(table)); diff != "" {
			t.Errorf("key (-want +got):\n%s", diff)
		}
		if got := table.Columns[1].Cast; got != "text" {
			t.Errorf("the column v is cast to %q, want text", got)
		}
		var path string
		err := db.Conn.QueryRow(t.Context(), "SHOW search_path").Scan(&path)
		if err != nil || path != "evil, pg_catalog, public" {
			t.Errorf("the search path afterwards is %q (%v), want what it was", path, err)
		}
	})
	t.Run("DroppedColumnsAreGone", func(t *testing.T) {
		t.Parallel()
		db := newDatabase(t, `CREATE TABLE t (a int, b text, c int, d date);
			ALTER TABLE t DROP a, DROP c; ALTER TABLE t ADD a bigint`)
		table := mustRead(t, db, "t")
		var got []string
		for i, c := range table.Relation.Columns {
			got = append(got, c.Name+" "+table.Columns[i].Cast)
			if at, ok := table.Column([]byte(c.Name)); !ok || at != i {
				t.Errorf("column %s: found at %d (%v), want %d", c.Name, at, ok, i)
			}
		}
		if diff := cmp.Diff([]string{"b text", "d date", "a bigint"}, got); diff != "" {
			t.Errorf("columns (-want +got):\n%s", diff)
		}
	})
	t.Run("GeneratedAndFixedColumnsAreMarked", func(t *testing.T) {
		t.Parallel()
		db := newDatabase(t, `CREATE TABLE t (plain int, g int GENERATED ALWAYS AS (1) STORED,
			always int GENERATED ALWAYS AS IDENTITY, by_default int GENERATED BY DEFAULT AS IDENTITY, s serial)`)
		got := map[string][2]bool{}
		for _, c := range mustRead(t, db, "t").Relation.Columns {
			got[c.Name] = [2]bool{c.Generated, c.Fixed}
		}
		want := map[string][2]bool{"plain": {}, "g": {true, false}, "always": {false, true}, "by_default": {}, "s": {}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("generated and fixed (-want +got):\n%s", diff)
		}
	})
	t.Run("ARelationOfAnotherMakerIsABug", func(t *testing.T) {
		t.Parallel()
		if _, err := catalog.Of(change.NewRelation(public("t"), nil, nil)); !fault.Is(err, fault.Bug) {
			t.Errorf("got %v, want a Bug", err)
		}
	})
}

// TestConduct: what forbids to change a table's rows in any but the given order.
func TestConduct(t *testing.T) {
	t.Parallel()
	const function = "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
	tests := []struct {
		promise, ddl     string
		inOrder, further bool
		parents          []string
	}{
		{"APlainTable", "CREATE TABLE t (a int PRIMARY KEY)", false, false, nil},
		{
			"RowTriggers", function + `CREATE TABLE t (a int);
			CREATE TRIGGER f AFTER UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f()`,
			true, false, nil,
		},
		{
			"StatementTriggersDoNotSee", function + `CREATE TABLE t (a int);
			CREATE TRIGGER f AFTER UPDATE ON t EXECUTE FUNCTION f()`,
			false, false, nil,
		},
		{"DisabledTriggersDoNotFire", function + `CREATE TABLE t (a int);
			CREATE TRIGGER f AFTER UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f();
			ALTER TABLE t DISABLE TRIGGER f`, false, false, nil},
		{"AlwaysTriggersFire", function + `CREATE TABLE t (a int);
			CREATE TRIGGER f AFTER UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f();
			ALTER TABLE t ENABLE ALWAYS TRIGGER f`, true, false, nil},
		{"Rules", "CREATE TABLE t (a int); CREATE RULE r AS ON DELETE TO t DO ALSO NOTIFY x", true, false, nil},
		{
			"ReferencedWithAction", "CREATE TABLE t (a int PRIMARY KEY); CREATE TABLE c (a int REFERENCES t ON DELETE CASCADE)",
			true, false, nil,
		},
		{
			"ReferencedWithoutAction", "CREATE TABLE t (a int PRIMARY KEY); CREATE TABLE c (a int REFERENCES t)",
			false, false, nil,
		},
		{"ADeferrableKey", "CREATE TABLE t (a int PRIMARY KEY DEFERRABLE)", true, false, nil},
		{"AFurtherUniqueIndex", "CREATE TABLE t (a int PRIMARY KEY, b int UNIQUE)", false, true, nil},
		{"AUniqueIndexThatIsNoKey", "CREATE TABLE t (a int UNIQUE)", false, true, nil},
		{"AnExclusion", "CREATE TABLE t (a int PRIMARY KEY, b int4range, EXCLUDE USING gist (b WITH &&))", false, true, nil},
		{"AKeyWithIncludedColumns", "CREATE TABLE t (a int, b int, PRIMARY KEY (a) INCLUDE (b))", false, false, nil},
		{
			"Parents", `CREATE SCHEMA s; CREATE TABLE s.p (a int PRIMARY KEY, b int UNIQUE); CREATE TABLE q (a int PRIMARY KEY);
			CREATE TABLE t (a int REFERENCES s.p, b int REFERENCES s.p (b), c int REFERENCES q, d int PRIMARY KEY REFERENCES t)`,
			false, false,
			[]string{"p", "q"},
		},
	}
	var ddl []string
	for _, test := range tests {
		ddl = append(ddl, test.ddl)
	}
	tables := inSchemas(t, ddl...)
	for i, test := range tests {
		t.Run(test.promise, func(t *testing.T) {
			t.Parallel()
			table := tables[i]
			if table.InOrder != test.inOrder || table.Further != test.further {
				t.Errorf("got in order %v and further %v, want %v and %v", table.InOrder, table.Further, test.inOrder, test.further)
			}
			var parents []string
			for _, p := range table.Parents {
				parents = append(parents, p.Table)
			}
			slices.Sort(parents)
			if diff := cmp.Diff(test.parents, parents); diff != "" {
				t.Errorf("parents (-want +got):\n%s", diff)
			}
		})
	}
}
