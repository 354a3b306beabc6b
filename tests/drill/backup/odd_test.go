//go:build drill

package backup_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/archive/packing"
	"tidemark/shared/backup"
	"tidemark/shared/fault"
	"tidemark/shared/postgres"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/postgres/snapshot"
)

const wideColumns = 1600 // PostgreSQL's own limit

// oddName is all that a name can have against it.
const oddName = "na'me of \"quotes\", \\ spaces\tand\nlines 🐘 Ünï"

// oddTable is a table that something is the matter with, and how it gets rows.
type oddTable struct {
	schema, name string
	make, fill   string // of the quoted name, %[1]s
}

func oddTables() []oddTable {
	return []oddTable{
		{"public", "empty", "CREATE TABLE %[1]s (id int PRIMARY KEY, v text)", ""},
		{"public", "empty_keyless", "CREATE TABLE %[1]s (v text)", ""},
		{"public", "columnless", "CREATE TABLE %[1]s ()", "INSERT INTO %[1]s DEFAULT VALUES; INSERT INTO %[1]s DEFAULT VALUES"},
		{"public", "columnless_empty", "CREATE TABLE %[1]s ()", ""},
		{
			"public", "keyless", "CREATE TABLE %[1]s (a int, b text)",
			"INSERT INTO %[1]s SELECT n %% 7, nullif('x' || n %% 3, 'x1') FROM generate_series(1, 500) AS n",
		},
		{
			"public", "wide", "CREATE TABLE %[1]s (" + columnList("int") + ", PRIMARY KEY (column_0001))",
			"INSERT INTO %[1]s SELECT " + columnValues() + " FROM generate_series(1, 9) AS n",
		},
		{
			oddName, oddName, `CREATE TABLE %[1]s ("select" int PRIMARY KEY, "na'me ""of"" 🐘" text, " " int, "%%s $1 \" text, "naïve" int)`,
			`INSERT INTO %[1]s SELECT n, 'v🦊' || n, n, E'\\N\t' || n, NULL FROM generate_series(1, 20) AS n`,
		},
		{
			"public", "user", `CREATE TABLE %[1]s ("order" int, "group" text, "user" text, "offset" int, PRIMARY KEY ("order", "offset"))`,
			`INSERT INTO %[1]s SELECT n, 'group', 'user', -n FROM generate_series(1, 20) AS n`,
		},
		{
			"select", "table", `CREATE TABLE %[1]s ("from" "select"."enum" PRIMARY KEY, "where" int GENERATED ALWAYS AS (1 + 1) STORED)`,
			`INSERT INTO %[1]s VALUES ('null'), ('🐘')`,
		},
		{
			"public", strings.Repeat("n", 63), "CREATE TABLE %[1]s (id text COLLATE \"C\" PRIMARY KEY)",
			"INSERT INTO %[1]s VALUES (''), (' '), ('NULL'), (E'\\\\N'), ('🐘')",
		},
	}
}

func columnList(kind string) string {
	columns := make([]string, wideColumns)
	for i := range columns {
		columns[i] = fmt.Sprintf("column_%04d %s", i+1, kind)
	}
	return strings.Join(columns, ", ")
}

func columnValues() string {
	values := make([]string, wideColumns)
	for i := range values {
		values[i] = fmt.Sprintf("nullif(n * %d, %d)", i+1, 3*(i+1))
	}
	values[0] = "n"
	return strings.Join(values, ", ")
}

func (o oddTable) quoted() string { return postgres.QuoteTable(o.schema, o.name) }

// oddSchemas makes what the odd tables stand in, and the tables.
func oddSchemas() string {
	ddl := "CREATE SCHEMA " + postgres.QuoteName(oddName) + `; CREATE SCHEMA "select"; CREATE TYPE "select"."enum" AS ENUM ('null', '🐘');`
	for _, o := range oddTables() {
		ddl += fmt.Sprintf(o.make, o.quoted()) + ";"
	}
	return ddl
}

// TestOddTables backs tables up that something is the matter with, by the command, and loads them again.
func TestOddTables(t *testing.T) {
	t.Parallel()
	v, scratch := newVault(t, oddSchemas(), 1), postgrestest.Empty(t)
	scratch.Exec(t, oddSchemas())
	for _, o := range oddTables() {
		if o.fill != "" {
			v.db.Exec(t, fmt.Sprintf(o.fill, o.quoted()))
		}
	}
	for range 2 { // the second time with the bounds of the first
		if m := v.run(t, 0).made(t); len(m.Warnings) > 0 {
			t.Errorf("got the warnings %q", m.Warnings)
		}
	}
	v.sound(t)
	a := v.archive(t)
	b := newest(t, a).Body
	for _, o := range oddTables() {
		load(t, a, scratch, tableOf(t, b, o.schema, o.name))
		rows := "SELECT r::text FROM " + o.quoted() + " AS r ORDER BY r::text COLLATE \"C\""
		want, got := v.db.Copy(t, rows), scratch.Copy(t, rows)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("table %s.%s (-target +backup):\n%s", o.schema, o.name, diff)
		}
		if n := int64(strings.Count(want, "\n")); tableOf(t, b, o.schema, o.name).Rows != n {
			t.Errorf("table %s.%s: the manifest says %d rows, want %d", o.schema, o.name, tableOf(t, b, o.schema, o.name).Rows, n)
		}
	}
}

// TestCollapseIsWarnedOf empties a table between two backups.
func TestCollapseIsWarnedOf(t *testing.T) {
	t.Parallel()
	v := newVault(t, kiosk, 1)
	v.run(t, 0)
	v.db.Exec(t, "TRUNCATE item")
	const want = "table public.item has no rows, it had 50 in the manifest before"
	if m := v.run(t, 3).made(t); len(m.Warnings) != 1 || m.Warnings[0] != want {
		t.Errorf("got the warnings %q, want %q", m.Warnings, want)
	}
	if b := newest(t, v.archive(t)).Body; len(b.Warnings) != 1 || b.Warnings[0] != want {
		t.Errorf("the manifest has the warnings %q, want %q", b.Warnings, want)
	}
	v.run(t, 0) // once is enough
}

const largeValue = 200_000_000

// TestLargeValues is about one value of 200 MB: one that compresses is taken, one that does not has no place in an archive.
func TestLargeValues(t *testing.T) {
	t.Parallel()
	const table = "CREATE TABLE large (id int PRIMARY KEY, v bytea); ALTER TABLE large ALTER COLUMN v SET STORAGE EXTERNAL"
	v, scratch := newVault(t, table, 1), postgrestest.Empty(t)
	scratch.Exec(t, table)
	v.db.Exec(t, fmt.Sprintf("INSERT INTO large VALUES (1, convert_to(repeat('0123456789abcdef', %d), 'UTF8'))", largeValue/16))
	v.run(t, 0)
	a := v.archive(t)
	load(t, a, scratch, tableOf(t, newest(t, a).Body, "public", "large"))
	const sums = "SELECT id, length(v), md5(v) FROM large"
	if diff := cmp.Diff(v.db.Copy(t, sums), scratch.Copy(t, sums)); diff != "" {
		t.Errorf("the value (-target +backup):\n%s", diff)
	}
	v.db.Exec(t, "TRUNCATE large")
	random := make([]byte, largeValue)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(random) // it never fails
	if _, err := v.db.Conn.Exec(t.Context(), "INSERT INTO large VALUES (2, $1)", random); err != nil {
		t.Fatal(err)
	}
	_, err := backup.Run(t.Context(), v.inProcess(t, 2, snapshot.Options{}))
	if !errors.Is(err, packing.ErrTooLarge) || !strings.Contains(fault.Line(err), "public.large") || !fault.Is(err, fault.Misconfigured) {
		t.Errorf("got %s, want that the value in public.large is too large", fault.Line(err))
	}
	p := v.start(t)
	if code := p.Wait(t, patience); code == 0 || code == 1 || code == 3 || !strings.Contains(p.Errors.String(), "public.large") {
		t.Errorf("exit code %d: %s; want a refusal that names the table", code, &p.Errors)
	}
	if listed := v.sound(t); len(listed) != 1 {
		t.Errorf("%d manifests are listed, want the first alone", len(listed))
	}
	v.db.Exec(t, "DELETE FROM large")
	v.run(t, 3) // a table that had a row has none
	if listed := v.sound(t); len(listed) != 2 {
		t.Errorf("%d manifests are listed, want two", len(listed))
	}
}
