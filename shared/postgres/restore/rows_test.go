package restore_test

import (
	"testing"

	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/postgres/restore"
)

// TestRestoreFreezes: the rows of a table are written as frozen when there are many of them, and a small one keeps the file that
// it was made with.
func TestRestoreFreezes(t *testing.T) {
	t.Parallel()
	original := postgrestest.Live(t, `CREATE TABLE small AS SELECT g AS id FROM generate_series(1, 2000) AS g;
		CREATE TABLE large AS SELECT g AS id, md5(g::text) AS text FROM generate_series(1, 30000) AS g`)
	base, _ := baseOf(t, original, 10_000)
	db, d := target(t, restore.Options{})
	claimed(t, d)
	restored(t, d, base)
	got := db.Copy(t, `SELECT relname, relpages > 0, relallvisible = relpages, pg_relation_filenode(oid) = oid
		FROM pg_class WHERE relname IN ('small', 'large') ORDER BY relname`)
	if want := "large\tt\tt\tf\nsmall\tt\tf\tt\n"; got != want {
		t.Errorf("table, pages, all of them visible to all, its first file:\n%swant\n%s", got, want)
	}
	for _, table := range []string{"small", "large"} {
		sameRowsIn(t, original, db, table, table)
	}
}
