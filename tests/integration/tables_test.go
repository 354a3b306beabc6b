//go:build integration

package integration_test

import (
	"testing"

	"tidemark/shared/postgres/postgrestest"
)

// TestRecoverOtherwise brings rows back into tables that migrations made, and single tables beside the target that lives on.
func TestRecoverOtherwise(t *testing.T) {
	t.Parallel()
	l := newLoss(t)
	l.publish(t, 0, entries(0, 50)...)
	l.apply(t)
	l.tidemark(t, l.db, 0, nil, "backup")
	backedUp := l.db.Copy(t, all)
	l.publish(t, 1, entries(50, 70)...)
	l.apply(t)
	lost := l.db
	want := lost.Copy(t, all)

	kafka := map[string]string{}
	for name, value := range l.env {
		if len(name) > len("TIDEMARK_KAFKA") && name[:len("TIDEMARK_KAFKA")] == "TIDEMARK_KAFKA" {
			kafka[name] = value
			delete(l.env, name)
		}
	}
	l.tidemark(t, lost, 2, []string{`"shop.entrys"`, "did you mean shop.entries?"}, "recover", "--table", "shop.entrys", "--into", "back")
	l.tidemark(t, lost, 2, []string{"--into"}, "recover", "--table", "shop.entries")
	l.tidemark(t, lost, 2, []string{"replays nothing"}, "recover", "--table", "shop.entries", "--into", "back", "--allow-gap", "x")
	l.tidemark(t, lost, 0, []string{"as of the cut of manifest", "nothing was written"}, "recover", "--table", "shop.entries", "--into", "back", "--dry-run")
	l.tidemark(t, lost, 0, []string{"the log after it is not replayed", "schema back has 1 table, 50 rows"},
		"recover", "--table", "shop.entries", "--into", "back", "--jobs", "4")
	if got := lost.Copy(t, "SELECT id, note FROM back.entries ORDER BY id"); got != backedUp {
		t.Errorf("the copy has other rows:\n%s\nwant:\n%s", got, backedUp)
	}
	l.tidemark(t, lost, 15, []string{"target_not_empty", "schema back is there"}, "recover", "--table", "shop.entries", "--into", "back")
	if got := lost.Copy(t, all); got != want {
		t.Errorf("the rows that live have changed:\n%s", got)
	}

	for name, value := range kafka {
		l.env[name] = value
	}
	migrated := postgrestest.Empty(t)
	migrated.Exec(t, tables)
	before := l.lives(t)
	l.tidemark(t, migrated, 15, []string{"target_not_empty", "--schema existing"}, "recover")
	l.tidemark(t, migrated, 2, []string{"want existing"}, "recover", "--schema", "new")
	other := postgrestest.Empty(t)
	other.Exec(t, "CREATE SCHEMA shop; CREATE TABLE shop.entries (id text PRIMARY KEY)")
	l.tidemark(t, other, 15, []string{"schema_mismatch", "shop.entries"}, "recover", "--schema", "existing")
	if got := l.lives(t); got != before {
		t.Errorf("%d lives are taken, want %d: nothing was to be written", got, before)
	}
	l.tidemark(t, migrated, 0, []string{"is live in life 2"}, "recover", "--schema", "existing")
	if got := migrated.Copy(t, all); got != want {
		t.Errorf("the rows differ from those that were lost:\n%s\nwant:\n%s", got, want)
	}
	l.db = migrated
	l.publish(t, 0, entries(70, 80)...)
	l.apply(t)
	l.holds(t, 80)
}
