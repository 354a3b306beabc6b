//go:build integration

package integration_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/postgres/postgrestest"
)

// oldComesBack has a database that was given up, and lives on: its function still writes into it, and its schedule backs it up.
// The new life is unharmed.
func oldComesBack(t *testing.T, l *loss) {
	t.Helper()
	l = l.backedUp(t, 1)
	stale := l.function(t, nil)
	l.publish(t, 0, entries(10, 20)...)
	mustRun(t, l.source(t, l.topics[0], stale, nil))
	l2 := l.on(l.recovers(t, 0, []string{"10 records applied", "is live in life 2"}))

	l.publish(t, 0, entries(20, 30)...)
	mustRun(t, l.source(t, l.topics[0], stale, nil)) // nobody has told it
	shows(t, l.db, [2]int{0, 30})
	shows(t, l2.db, [2]int{0, 20})
	l2.stands(t, 0, 20)
	before := len(manifests(t, l.archive))
	l.tidemark(t, l.db, 11, []string{"a later life of the target exists: 2"}, "backup")
	l.tidemark(t, l.db, 11, nil, "backup")
	if got := len(manifests(t, l.archive)); got != before {
		t.Errorf("there are %d manifests, want %d: the old life has none any more", got, before)
	}
	l2.publish(t, 0, entries(30, 32)...)
	l2.apply(t)
	shows(t, l2.db, [2]int{0, 32})
	l2.tidemark(t, l2.db, 0, nil, "backup")
	shows(t, l2.recovers(t, 0, []string{"restore manifest 2/1", "is live in life 3"}), [2]int{0, 32})
}

// oldIsFenced has the old database's backup find that it lives no more: from then on its function changes nothing either.
func oldIsFenced(t *testing.T, l *loss) {
	t.Helper()
	l = l.backedUp(t, 1)
	l.recovers(t, 0, nil)
	l.tidemark(t, l.db, 11, nil, "backup")
	if got := l.db.Copy(t, "SELECT state, lineage FROM tidemark.target"); got != "fenced\t1\n" {
		t.Errorf("the old target is %q, want it fenced", got)
	}
	l.publish(t, 0, entries(10, 12)...)
	l.unapplied(t, "fenced", "fenced")
	shows(t, l.db, [2]int{0, 10})
}

// functionStaysWarm loses the database under a function that runs, and recovers into one of the same name. The function goes on
// in the new life without a start.
func functionStaysWarm(t *testing.T, l *loss) {
	t.Helper()
	l = l.backedUp(t, 1)
	l.publish(t, 0, entries(10, 20)...)
	f := l.function(t, nil)
	source := l.source(t, l.topics[0], f, nil)
	mustRun(t, source)
	shows(t, l.db, [2]int{0, 20})
	l.db = madeAnew(t, l.db)
	l.tidemark(t, l.db, 0, []string{"is live in life 2"}, "recover")
	l.publish(t, 0, entries(20, 30)...)
	mustRun(t, source)
	mustRun(t, l.source(t, l.topics[0], f, nil)) // from the log's beginning, as a mapping made anew would
	shows(t, l.db, [2]int{0, 30})
	l.stands(t, 0, 30)
	if got := f.Counts().ColdStarts; got != 1 {
		t.Errorf("the function was started %d times, want once", got)
	}
}

// madeAnew drops a database, with the sessions in it, and makes an empty one of its name.
func madeAnew(t *testing.T, db *postgrestest.Database) *postgrestest.Database {
	t.Helper()
	address, err := url.Parse(db.URL)
	if err != nil {
		t.Fatal("the database's address is no URL")
	}
	if err := db.Conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	server, name := postgrestest.Empty(t), strings.TrimPrefix(address.Path, "/")
	server.Exec(t, "DROP DATABASE "+name+" WITH (FORCE)")
	server.Exec(t, "CREATE DATABASE "+name+" TEMPLATE template0")
	conn, err := pgx.Connect(t.Context(), db.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return &postgrestest.Database{URL: db.URL, Conn: conn}
}
