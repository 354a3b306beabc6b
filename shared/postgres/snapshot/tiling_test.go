package snapshot_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/shared/backup"
	"tidemark/shared/postgres/postgrestest"
)

// keyed are tables with a key of many kinds, each with the expressions that make the key of row i.
var keyed = []struct{ name, ddl, rows string }{
	{"whole", "k bigint", "i * i - 1000000"},
	{"small", "k smallint, l integer", "i % 20, i"},
	{"text", `k text COLLATE "C"`, "md5(i::text)"},
	{"natural", "k text COLLATE counted", "'Ä ä' || i % 7 || ' x-' || i"},
	{"blind", "k text COLLATE blind", "'Ä ä' || i % 7 || ' X-' || i"},
	{"emoji", "k text, l text", `chr(128512 + i % 50) || '''"\', i || E'\n,(x)'`},
	{"numeric", "k numeric", "CASE i WHEN 1 THEN 'NaN' WHEN 2 THEN 'Infinity' WHEN 3 THEN '-Infinity' ELSE i / 7.0 END"},
	{"float", "k double precision, l real", "CASE i WHEN 1 THEN 'NaN' WHEN 2 THEN '-Infinity' ELSE sin(i) END, i / 3.0"},
	{"uuid", "k uuid", "md5(i::text)::uuid"},
	{"moment", "k timestamptz", "CASE i WHEN 1 THEN 'infinity' WHEN 2 THEN '-infinity' WHEN 3 THEN '0044-03-15 12:00+00 BC'" +
		" ELSE '2024-03-31 00:30+00'::timestamptz + i * interval '17.000001 min' END"},
	{"day", "k date, l boolean, m interval", "'2024-01-01'::date + i / 9, i % 2 = 0, i * interval '-1 month 3 days 4.5 s'"},
	{"domain", "k email, l mood", "'A' || i % 40 || '@EXAMPLE.org', (ARRAY['sad', 'so so', 'it''s'])[i % 3 + 1]::mood"},
	{"padded", "k character(9), l varchar(4), m bit(3)", "'a' || i, i % 10, (i % 8)::bit(3)"},
	{"bytes", "k bytea", "decode(md5(i::text), 'hex')"},
	{"cash", "k money, l name", "i * 1.01, 'n''\"' || i"},
	{"array", "k text[], l jsonb", `ARRAY[i % 5 || '"', NULL, '\,'], jsonb_build_object('a''', i)`},
	{"address", "k inet, l macaddr", "'10.0.0.0/8'::inet + i, '08:00:2b:01:02:03'"},
	{"turned", "k integer, l integer", "i % 13, i"},
}

func tilingDDL() string {
	var ddl strings.Builder
	ddl.WriteString(`CREATE COLLATION counted (provider = icu, locale = 'de-u-kn-true');
	CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
	CREATE DOMAIN email AS text COLLATE blind CHECK (length(VALUE) > 3); CREATE TYPE mood AS ENUM ('sad', 'so so', 'it''s');`)
	for _, k := range keyed {
		columns := strings.Split("k,l,m", ",")[:strings.Count(k.ddl, ",")+1]
		key := fmt.Sprintf("ALTER TABLE %q ADD PRIMARY KEY (%s);", k.name, strings.Join(append(columns, "i"), ", "))
		if k.name == "turned" {
			key = fmt.Sprintf(`ALTER TABLE %[1]q ALTER k SET NOT NULL, ALTER l SET NOT NULL, ALTER i SET NOT NULL;
				CREATE UNIQUE INDEX ON %[1]q (k DESC, l, i)`, k.name) + ";"
		}
		fmt.Fprintf(&ddl, `CREATE TABLE %[1]q (%[2]s, i integer, filler text, double integer GENERATED ALWAYS AS (i * 2) STORED);
			INSERT INTO %[1]q SELECT %[3]s, i, repeat('x', i %% 300) FROM generate_series(1, 300) AS s (i); %[4]s`,
			k.name, k.ddl, k.rows, key)
	}
	return ddl.String()
}

// TestParts: whatever the key is, parts from one bound to the next have every row once, in one order.
func TestParts(t *testing.T) {
	t.Parallel()
	db := postgrestest.Live(t, tilingDDL())
	// What a role prefers must not show in the texts of keys.
	db.Exec(t, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET DateStyle = ''SQL, DMY''', current_database());
		EXECUTE format('ALTER DATABASE %I SET extra_float_digits = -10', current_database());
		EXECUTE format('ALTER DATABASE %I SET TimeZone = ''Europe/Berlin''', current_database());
		EXECUTE format('ALTER DATABASE %I SET IntervalStyle = ''sql_standard''', current_database());
		EXECUTE format('ALTER DATABASE %I SET standard_conforming_strings = off', current_database());
		EXECUTE format('ALTER DATABASE %I SET bytea_output = ''escape''', current_database()); END $$`)
	s := held(t, db)
	for _, k := range keyed {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			r, of := joined(t, s), table(t, s, k.name)
			if n, err := r.Count(t.Context(), of); n != 300 || err != nil || len(of.Key) == 0 {
				t.Fatalf("%d rows by key %q, error %v", n, of.Key, err)
			}
			for parts := range 5 {
				tile(t, t, r, of, parts, []int{1, 150, 299}[:parts/2])
			}
		})
	}
	t.Run("any", func(t *testing.T) {
		t.Parallel()
		r := joined(t, s)
		rapid.Check(t, func(rt *rapid.T) {
			of := table(t, s, rapid.SampledFrom(keyed).Draw(rt, "table").name)
			rows := rapid.SliceOfNDistinct(rapid.IntRange(1, 299), 0, 4, rapid.ID).Draw(rt, "rows")
			tile(t, rt, r, of, rapid.IntRange(1, 12).Draw(rt, "parts"), rows)
		})
	})
}

// tile cuts a table by what Split says and at some rows, and holds the parts against the whole.
func tile(t *testing.T, report rapid.TB, r backup.Reader, of backup.Table, parts int, rows []int) {
	t.Helper()
	all := copied(t, r, of, backup.Range{})
	bounds, err := r.Split(t.Context(), of, parts)
	if err != nil || len(bounds) != max(parts, 1)-1 {
		report.Fatalf("%d parts of %s: bounds %q, error %v", parts, of, bounds, err)
	}
	for _, n := range rows {
		key, err := r.KeyAt(t.Context(), of, backup.Range{}, int64(n))
		if err != nil {
			report.Fatal(err)
		}
		bounds = append(bounds, key)
	}
	var found [][]string
	var part backup.Range
	for _, bound := range append(inOrder(t, r, of, all, bounds), nil) {
		part.Until = bound
		found = append(found, copied(t, r, of, part)...)
		part.From = bound
	}
	if diff := cmp.Diff(all, found); diff != "" {
		report.Fatalf("%s, bounds %q: whole, parts: %s", of, bounds, diff)
	}
}

// inOrder sorts bounds by how many rows stand before them and drops those that are there twice.
func inOrder(t *testing.T, r backup.Reader, of backup.Table, all [][]string, bounds [][]string) [][]string {
	t.Helper()
	at := map[int][]string{}
	var places []int
	for _, bound := range bounds {
		before := copied(t, r, of, backup.Range{Until: bound})
		place := len(before)
		if at[place] == nil {
			places = append(places, place)
		}
		at[place] = bound
		if place >= len(all) {
			t.Fatalf("bound %q is beyond the last row", bound)
		}
		// The row that the bound was taken from is the first of what follows: KeyAt agrees with Copy.
		key, err := r.KeyAt(t.Context(), of, backup.Range{}, int64(place))
		if err != nil || !slices.Equal(key, bound) {
			t.Fatalf("got key %q of row %d, error %v, want %q", key, place, err, bound)
		}
	}
	slices.Sort(places)
	sorted := make([][]string, len(places))
	for i, place := range places {
		sorted[i] = at[place]
	}
	return sorted
}

// TestPages: a table is read by its pages as it is by its key.
func TestPages(t *testing.T) {
	t.Parallel()
	db := postgrestest.Live(t, `CREATE TABLE keyless (i integer, t text);
		INSERT INTO keyless SELECT i, repeat('x', 100) FROM generate_series(1, 5000) AS s (i)`)
	s := held(t, db)
	r, of := joined(t, s), table(t, s, "keyless")
	all := copied(t, r, of, backup.Range{})
	pages := of.Pages
	if of.Ordered || len(of.Key) > 0 || len(all) != 5000 || pages < 50 {
		t.Fatalf("%d rows on %d pages of %+v", len(all), pages, of)
	}
	rapid.Check(t, func(rt *rapid.T) {
		bounds := rapid.SliceOfNDistinct(rapid.Int64Range(1, pages+10), 0, 5, rapid.ID).Draw(rt, "pages")
		slices.Sort(bounds)
		var parts [][]string
		last := int64(0)
		for _, page := range append(bounds, 0) {
			parts = append(parts, copied(t, r, of, backup.Range{FirstPage: last, UntilPage: page})...)
			last = page
		}
		if diff := cmp.Diff(all, parts); diff != "" {
			rt.Fatalf("pages %v: whole, parts: %s", bounds, diff)
		}
	})
}

// TestBounds is about bounds as an earlier backup may have left them, and what they are compared by.
func TestBounds(t *testing.T) {
	t.Parallel()
	db := postgrestest.Live(t, `CREATE TABLE item (a integer, b text COLLATE "C", PRIMARY KEY (a, b));
		INSERT INTO item VALUES (-5, 'x'), (1, 'a'), (1, 'b'), (1, ''), (2, 'a'), (9, 'z');
		CREATE DOMAIN short AS varchar(2) CHECK (VALUE < 'm'); CREATE TABLE strict (k short PRIMARY KEY, l character(2));
		INSERT INTO strict VALUES ('a'), ('ab'), ('b');
		CREATE COLLATION counted (provider = icu, locale = 'de-u-kn-true');
		CREATE TABLE other (k text COLLATE counted NOT NULL, n name COLLATE counted NOT NULL);
		CREATE UNIQUE INDEX ON other (k COLLATE "C", n COLLATE "POSIX"); INSERT INTO other VALUES ('a9', 'x'), ('a10', 'x9'), ('a10', 'x10')`)
	s := held(t, db)
	t.Run("HaveRowsBeyondThemInTheFirstPartAndTheLast", func(t *testing.T) {
		t.Parallel()
		count := counting(t, s, "item")
		got := []int{
			count(backup.Range{Until: []string{"1", "b"}}),
			count(backup.Range{From: []string{"1", "b"}, Until: []string{"1", "zzz"}}),
			count(backup.Range{From: []string{"1", "zzz"}}),
			count(backup.Range{From: []string{"10", ""}}),
			count(backup.Range{From: []string{"2", "a"}, Until: []string{"2", "a"}}),
		}
		if diff := cmp.Diff([]int{3, 1, 2, 0, 0}, got); diff != "" {
			t.Errorf("rows of parts, want, got: %s", diff)
		}
	})
	t.Run("NeedNotBeWhatTheColumnHolds", func(t *testing.T) {
		t.Parallel()
		count := counting(t, s, "strict")
		got := []int{
			count(backup.Range{Until: []string{"abc"}}), count(backup.Range{From: []string{"abc"}}),
			count(backup.Range{Until: []string{"zzz"}}),
		}
		if diff := cmp.Diff([]int{2, 1, 3}, got); diff != "" {
			t.Errorf("rows of parts, want, got: %s", diff)
		}
	})
	t.Run("AreComparedByTheIndexsCollation", func(t *testing.T) {
		t.Parallel()
		r, of := joined(t, s), table(t, s, "other")
		want := [][]string{{"a10", "x10"}, {"a10", "x9"}, {"a9", "x"}}
		if diff := cmp.Diff(want, copied(t, r, of, backup.Range{})); diff != "" {
			t.Errorf("rows, want, got: %s", diff)
		}
		if diff := cmp.Diff(want[1:2], copied(t, r, of, backup.Range{From: want[1], Until: want[2]})); diff != "" {
			t.Errorf("rows of a part, want, got: %s", diff)
		}
	})
}

// counting says how many rows a part of the table has.
func counting(t *testing.T, s backup.Snapshot, name string) func(backup.Range) int {
	t.Helper()
	r, of := joined(t, s), table(t, s, name)
	return func(part backup.Range) int { return len(copied(t, r, of, part)) }
}

// TestPart is about what a part costs: a table of a thousand parts must not be read a thousand times, whatever the planner
// thinks of its index.
func TestPart(t *testing.T) {
	t.Parallel()
	db := postgrestest.Live(t, `CREATE TABLE item (a integer, b integer, filler text, PRIMARY KEY (a, b));
		INSERT INTO item SELECT 1, i, repeat('x', 200) FROM generate_series(0, 19999) AS s (i) ORDER BY md5(i::text); ANALYZE item;
		DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET random_page_cost = 1000', current_database()); END $$`)
	const scans = "FROM pg_stat_user_tables WHERE relname = 'item'"
	db.Exec(t, "SELECT pg_stat_force_next_flush()")
	before := db.Copy(t, "SELECT seq_scan "+scans)
	s := held(t, db)
	r := joined(t, s)
	part := backup.Range{From: []string{"1", "19970"}}
	if rows := copied(t, r, table(t, s, "item"), part); len(rows) != 30 {
		t.Errorf("got %d rows, want 30", len(rows))
	}
	if key, err := r.KeyAt(t.Context(), table(t, s, "item"), part, 15); err != nil {
		t.Errorf("got key %q, error %v", key, err)
	}
	for _, c := range []interface{ Close(context.Context) error }{r, s} {
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, db, "SELECT idx_scan >= 2 "+scans)
	if diff := cmp.Diff(before, db.Copy(t, "SELECT seq_scan "+scans)); diff != "" {
		t.Errorf("readings of the whole table, want, got: %s", diff)
	}
}
