package restore_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/postgres/restore"
)

// TestWarnings: a database may be without these; they are named, and made by the next call that can.
func TestWarnings(t *testing.T) {
	t.Parallel()
	const missing = "tidemark_no_such_role"
	original := postgrestest.Live(t, `
		CREATE TABLE t (a integer PRIMARY KEY); INSERT INTO t VALUES (1);
		CREATE MATERIALIZED VIEW m AS SELECT 10 / a AS b FROM t;
		CREATE TABLE u (); GRANT SELECT ON u TO pg_monitor; ALTER TABLE t OWNER TO pg_monitor;
		CREATE POLICY p ON t TO pg_monitor USING (true); COMMENT ON TABLE t IS 'x';
		ALTER DEFAULT PRIVILEGES FOR ROLE pg_monitor GRANT SELECT ON TABLES TO pg_read_all_data`)
	want := read(t, original)
	base, _ := baseOf(t, original, 10)
	whole := slices.Clone(base.Body.Definitions)
	for i, d := range base.Body.Definitions {
		base.Body.Definitions[i].SQL = strings.ReplaceAll(d.SQL, "pg_monitor", missing)
		switch d.Kind {
		case "comment":
			base.Body.Definitions[i].SQL = strings.Replace(d.SQL, "TABLE public.t ", "TABLE public.other ", 1)
		case "refresh":
			base.Body.Definitions[i].SQL += "_none"
		}
	}
	base.Body.Snapshot.Collation = "c German"
	base.Body.Snapshot.ServerVersion = 990001
	copied, d := target(t, restore.Options{})
	claimed(t, d)
	got := restored(t, d, base)
	wanted := []string{
		`comment of public.t was not made: relation "public.other" does not exist`, "default privileges pg_monitor was not made",
		"grant public.u was not made", "owner public.t was not made: role \"" + missing + "\" does not exist", "policy public.p of public.t was not made",
		"refresh public.m was not made", "the database's collation is", "the server is of version",
	}
	if len(got.Warnings) != len(wanted) {
		t.Errorf("got %d warnings, want %d", len(got.Warnings), len(wanted))
	}
	for i, w := range got.Warnings {
		if i < len(wanted) && !strings.HasPrefix(w, wanted[i]) {
			t.Errorf("got %q, want %q first", w, wanted[i])
		}
	}
	if found, err := d.Look(t.Context()); err != nil || !found.Restored {
		t.Errorf("look: %+v, %v, want it restored", found, err)
	}
	// Now the server has what they need.
	base.Body.Definitions = whole
	base.Body.Snapshot = snapshotOf(t, original)
	if again := restored(t, d, base); len(again.Warnings) > 0 || again.Rows > 0 {
		t.Errorf("again: %+v", again)
	}
	settled(t, d)
	sameSchema(t, want, copied, raisedSequences()...)
	sameRows(t, original, copied)
}

// TestPath: functions that look for names by the path of the database's sessions find them.
func TestPath(t *testing.T) {
	t.Parallel()
	original := postgrestest.Live(t, `
		CREATE FUNCTION lowered(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN lower($1); END';
		CREATE FUNCTION keyed(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN lowered($1); END';
		CREATE DOMAIN small AS text CHECK (keyed(VALUE) = VALUE);
		CREATE TABLE t (a text CHECK (keyed(a) <> 'x'), b text GENERATED ALWAYS AS (keyed(a)) STORED, c small);
		CREATE INDEX by_key ON t (keyed(a));
		INSERT INTO t VALUES ('A', DEFAULT, 'c');
		CREATE MATERIALIZED VIEW m AS SELECT keyed(a) FROM t`)
	want := read(t, original)
	base, _ := baseOf(t, original, 10)
	copied, d := target(t, restore.Options{})
	claimed(t, d)
	if got := restored(t, d, base); len(got.Warnings) > 0 {
		t.Errorf("warnings %q", got.Warnings)
	}
	settled(t, d)
	sameSchema(t, want, copied, raisedSequences()...)
	sameRows(t, original, copied)
}

// TestExtensionThatIsThere: a managed server brings some.
func TestExtensionThatIsThere(t *testing.T) {
	t.Parallel()
	original := postgrestest.Live(t, "CREATE EXTENSION hstore; CREATE TABLE t (a hstore); INSERT INTO t VALUES ('a=>1')")
	base, _ := baseOf(t, original, 10)
	copied, d := target(t, restore.Options{})
	copied.Exec(t, "CREATE EXTENSION hstore; CREATE EXTENSION btree_gist")
	claimed(t, d)
	restored(t, d, base)
	sameRows(t, original, copied)
}

// TestKeysSideBySide: large tables and many jobs give the same.
func TestKeysSideBySide(t *testing.T) {
	t.Parallel()
	original := rich(t)
	want := read(t, original)
	base, objects := baseOf(t, original, 5)
	base.Jobs = 4
	copied, d := target(t, restore.Options{})
	d.LoadWholeUpTo(0)
	claimed(t, d)
	restored(t, d, base)
	var chunks int
	for _, table := range base.Body.Tables {
		for _, c := range table.Chunks {
			if c.Rows > 0 && table.Name != (body.Name{Schema: "tidemark", Name: "target"}) {
				chunks++
			}
		}
	}
	if objects.fetched != chunks {
		t.Errorf("fetched %d chunks, want each of %d once", objects.fetched, chunks)
	}
	settled(t, d)
	sameSchema(t, want, copied, raisedSequences()...)
	if diff := cmp.Diff(life(t, copied), "test-target\t"+newLife+"\t2\tlive"); diff != "" {
		t.Error(diff)
	}
}
