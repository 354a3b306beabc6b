package capture_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres"
	"tidemark/shared/postgres/postgrestest"
)

// TestRows: rows go in after the first phase, by the columns that Tables names, and come out the same after the last.
func TestRows(t *testing.T) {
	t.Parallel()
	original := made(t, "testdata/rich.sql", "testdata/rows.sql")
	schema := read(t, original)
	copied := rebuild(t, schema, func(into *postgrestest.Database) {
		for _, table := range schema.Tables {
			copyRows(t, original, into, table)
		}
	})
	views := []string{"shop.zz_counts", "shop.aa_counts"}
	filled := 0
	for _, table := range schema.Tables {
		views = append(views, "ONLY "+postgres.QuoteTable(table.Schema, table.Name.Name))
	}
	for _, name := range views {
		query := `SELECT t::text FROM ` + name + ` AS t ORDER BY t::text COLLATE "C"`
		rows := original.Copy(t, query)
		if rows != "" {
			filled++
		}
		if diff := cmp.Diff(rows, copied.Copy(t, query)); diff != "" {
			t.Errorf("rows of %s (-original +rebuilt):\n%s", name, diff)
		}
	}
	if want := 25; filled != want {
		t.Errorf("%d tables and views have rows to compare, want %d", filled, want)
	}
}

func copyRows(t *testing.T, from, into *postgrestest.Database, table body.Table) {
	t.Helper()
	var names []string
	for _, c := range table.Columns {
		names = append(names, postgres.QuoteName(c.Name))
	}
	list, name := strings.Join(names, ", "), postgres.QuoteTable(table.Schema, table.Name.Name)
	var rows bytes.Buffer
	from.CopyTo(t, &rows, "COPY (SELECT "+list+" FROM ONLY "+name+") TO STDOUT (FORMAT binary)")
	if list != "" {
		list = "(" + list + ")"
	}
	if _, err := into.Conn.PgConn().CopyFrom(t.Context(), &rows, "COPY "+name+list+" FROM STDIN (FORMAT binary)"); err != nil {
		t.Fatalf("copy into %s: %v", name, err)
	}
}
