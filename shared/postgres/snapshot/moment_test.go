package snapshot_test

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/backup"
	"tidemark/shared/fault"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/postgres/snapshot"
)

// The table that another session holds comes first, so that a snapshot waits with its list read and the rest unlocked.
const momentDDL = `CREATE TABLE a_first (id integer PRIMARY KEY, v text); INSERT INTO a_first VALUES (1, 'old');
	CREATE TABLE item (id integer PRIMARY KEY, v text); INSERT INTO item VALUES (1, 'old'), (2, 'old');`

const firstHeld = "LOCK TABLE a_first IN ACCESS EXCLUSIVE MODE"

// TestMoment is about what other sessions do between the list of the tables, their locks and the snapshot (B1).
func TestMoment(t *testing.T) {
	t.Parallel()
	rows := func(t *testing.T, s backup.Snapshot, name string) [][]string {
		t.Helper()
		of := table(t, s, name)
		found := copied(t, joined(t, s), of, backup.Range{})
		for i := range found {
			found[i] = found[i][1:]
		}
		return found
	}
	tests := []struct {
		name, meanwhile string
		want            [][]string // of item
	}{
		{"SeesATruncateAndWhatFollowedIt", "TRUNCATE item; INSERT INTO item VALUES (3, 'new')", [][]string{{"new"}}},
		{
			"FindsATableThatWasMadeAgain",
			"ALTER TABLE item RENAME TO other; CREATE TABLE item (id integer PRIMARY KEY, v text); INSERT INTO item VALUES (3, 'new')",
			[][]string{{"new"}},
		},
		{
			"FindsATableThatWasDroppedAndMadeAgain",
			"DROP TABLE item; CREATE TABLE item (id integer PRIMARY KEY, v text); INSERT INTO item VALUES (3, 'new')",
			[][]string{{"new"}},
		},
		{"FindsANewTable", "CREATE TABLE later (id integer PRIMARY KEY)", [][]string{{"old"}, {"old"}}},
		{"FindsAColumnThatCame", "ALTER TABLE item ADD w integer DEFAULT 258", [][]string{
			{"old", "\x00\x00\x01\x02"}, {"old", "\x00\x00\x01\x02"},
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			db := postgrestest.Live(t, momentDDL)
			s, err := during(t, db, source(t, db), firstHeld, func() { db.Exec(t, test.meanwhile) })
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, rows(t, s, "item")); diff != "" {
				t.Errorf("rows of item, want, got: %s", diff)
			}
			want := db.Copy(t, "SELECT format('%s.%s', n.nspname, c.relname) FROM pg_class AS c JOIN pg_namespace AS n"+
				" ON n.oid = c.relnamespace WHERE n.nspname = 'public' AND c.relkind = 'r' ORDER BY 1")
			if diff := cmp.Diff(strings.Fields(want), names(s)); diff != "" {
				t.Errorf("tables, want, got: %s", diff)
			}
		})
	}
	t.Run("WaitsForATruncateUnderWay", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Live(t, momentDDL)
		s, err := during(t, db, source(t, db), "TRUNCATE item; INSERT INTO item VALUES (3, 'new')", func() {})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([][]string{{"new"}}, rows(t, s, "item")); diff != "" {
			t.Errorf("rows of item, want, got: %s", diff)
		}
	})
	t.Run("GoesOnWithoutATableThatWent", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Live(t, momentDDL)
		s, err := during(t, db, source(t, db), firstHeld, func() { db.Exec(t, "DROP TABLE item") })
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"public.a_first"}, names(s)); diff != "" {
			t.Errorf("tables, want, got: %s", diff)
		}
	})
	t.Run("IsGivenUpAfterSomeTries", func(t *testing.T) {
		t.Parallel()
		for _, meanwhile := range []string{
			"CREATE TABLE later ()", "DROP TABLE item",
			// Of the four tables of two schemas, one is locked twice and one never.
			"ALTER SCHEMA b1 RENAME TO b3; ALTER SCHEMA b2 RENAME TO b1; ALTER SCHEMA b3 RENAME TO b2",
		} {
			db := postgrestest.Live(t, momentDDL+`CREATE SCHEMA b1; CREATE TABLE b1.t (); CREATE TABLE b1.u ();
				CREATE SCHEMA b2; CREATE TABLE b2.t (); CREATE TABLE b2.u ()`)
			from := snapshot.New(config(t, db), snapshot.Options{LockTimeout: patience, Tries: 1})
			_, err := during(t, db, from, "LOCK TABLE b1.u IN ACCESS EXCLUSIVE MODE", func() { db.Exec(t, meanwhile) })
			if !fault.Is(err, fault.Retryable) || fault.HintOf(err) == "" {
				t.Errorf("%s: got %v of class %s, want retryable with a hint", meanwhile, err, fault.ClassOf(err))
				continue
			}
			eventually(t, db, "NOT ("+backupIsThere+")")
		}
	})
	t.Run("IsGivenUpWhereALockIsNotToBeHad", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Live(t, momentDDL)
		blocker := session(t, db)
		blocker.Exec(t, "BEGIN; LOCK TABLE item IN ACCESS EXCLUSIVE MODE")
		from := snapshot.New(config(t, db), snapshot.Options{LockTimeout: time.Millisecond, Tries: 2})
		if _, err := from.Snapshot(t.Context()); !fault.Is(err, fault.Retryable) || stateOf(err) != "55P03" {
			t.Errorf("got %v of class %s, want retryable", err, fault.ClassOf(err))
		}
	})
}

// endFirst ends the oldest session of the backup, which holds the snapshot, and waits for its end.
func endFirst(t *testing.T, db *postgrestest.Database) {
	t.Helper()
	pid := strings.TrimSpace(db.Copy(t, "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"+
		" AND application_name = 'tidemark backup' ORDER BY backend_start LIMIT 1"))
	db.Exec(t, "SELECT pg_terminate_backend("+pid+")")
	eventually(t, db, "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = "+pid)
}

// TestHeld is about what a snapshot is worth while others write.
func TestHeld(t *testing.T) {
	t.Parallel()
	t.Run("ShowsAllReadersOneState", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Live(t, momentDDL)
		s := held(t, db)
		first, of := joined(t, s), table(t, s, "item")
		db.Exec(t, "UPDATE item SET v = 'new'; INSERT INTO item VALUES (3, 'new'); DELETE FROM item WHERE id = 1")
		second := joined(t, s)
		for _, r := range []backup.Reader{first, second} {
			got := copied(t, r, of, backup.Range{})
			if diff := cmp.Diff([][]string{{"\x00\x00\x00\x01", "old"}, {"\x00\x00\x00\x02", "old"}}, got); diff != "" {
				t.Errorf("rows, want, got: %s", diff)
			}
			if n, err := r.Count(t.Context(), of); n != 2 || err != nil {
				t.Errorf("got %d rows, error %v, want 2", n, err)
			}
		}
	})
	t.Run("MakesAnAlterWait", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Live(t, momentDDL)
		s := held(t, db)
		r, of := joined(t, s), table(t, s, "item")
		altered := make(chan error, 1)
		other := session(t, db)
		go func() {
			_, err := other.Conn.Exec(t.Context(), "ALTER TABLE item DROP v; TRUNCATE a_first")
			altered <- err
		}()
		eventually(t, db, "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
		// A reader that asked for its lock only now would wait behind the ALTER TABLE, which waits for the snapshot.
		if got := copied(t, r, of, backup.Range{}); len(got) != 2 || len(got[0]) != 2 {
			t.Errorf("got %q, want the rows as they were", got)
		}
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		r = joined(t, s) // the next one need not ask either
		if got := copied(t, r, table(t, s, "a_first"), backup.Range{}); len(got) != 1 {
			t.Errorf("got %q, want the row that was there", got)
		}
		for _, c := range []interface{ Close(context.Context) error }{r, s} {
			if err := c.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-altered; err != nil {
			t.Errorf("alter: %v", err)
		}
	})
	t.Run("NamesWhoStandsInAReadersWay", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Live(t, momentDDL)
		s, err := snapshot.New(config(t, db), snapshot.Options{LockTimeout: 200 * time.Millisecond}).Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		altered, other := make(chan error, 1), session(t, db)
		go func() {
			_, err := other.Conn.Exec(t.Context(), "SET application_name = 'the other one'; TRUNCATE item")
			altered <- err
		}()
		eventually(t, db, "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
		_, err = s.Reader(t.Context())
		hint := fault.HintOf(err)
		if !fault.Is(err, fault.Retryable) || stateOf(err) != "55P03" || !strings.Contains(hint, "(the other one) on table public.item") {
			t.Errorf("got %v with hint %q, want who stands in the way", err, hint)
		}
		if err := s.Close(t.Context()); err != nil { // its session was asked, and is as good as before
			t.Error(err)
		}
		if err := <-altered; err != nil {
			t.Errorf("truncate: %v", err)
		}
	})
	t.Run("OutlivesTheGarbageCollector", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Live(t, momentDDL)
		s := held(t, db)
		of := table(t, s, "item")
		for range 10 {
			for range 3 {
				runtime.GC()
			}
			if got := copied(t, joined(t, s), of, backup.Range{}); len(got) != 2 {
				t.Errorf("got %q, want 2 rows", got)
			}
		}
	})
	t.Run("SaysThatItsSessionIsGone", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Live(t, momentDDL)
		s := held(t, db)
		r, of := joined(t, s), table(t, s, "item")
		endFirst(t, db)
		_, err := s.Reader(t.Context())
		if !errors.Is(err, snapshot.ErrGone) || !fault.Is(err, fault.Retryable) || fault.HintOf(err) == "" {
			t.Errorf("got %v of class %s, want that the session is gone", err, fault.ClassOf(err))
		}
		// A reader that was there before has its own locks, so what it says is still the state of the snapshot.
		truncate := session(t, db)
		if _, err := truncate.Conn.Exec(t.Context(), "SET lock_timeout = '1ms'; TRUNCATE item"); stateOf(err) != "55P03" {
			t.Errorf("truncate: got %v, want that it has to wait", err)
		}
		if got := copied(t, r, of, backup.Range{}); len(got) != 2 {
			t.Errorf("got %q, want 2 rows", got)
		}
		if err := s.Close(t.Context()); !errors.Is(err, snapshot.ErrGone) {
			t.Errorf("close: got %v, want that the session is gone", err)
		}
	})
	t.Run("ReplacesAReaderWhoseSessionEnded", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Live(t, momentDDL)
		s := held(t, db)
		r, of := joined(t, s), table(t, s, "item")
		db.Exec(t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"+
			" AND application_name = 'tidemark backup' ORDER BY backend_start DESC LIMIT 1")
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := copied(t, joined(t, s), of, backup.Range{}); len(got) != 2 {
			t.Errorf("got %q, want 2 rows", got)
		}
	})
	t.Run("OpensNoReaderOnceClosed", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Live(t, momentDDL)
		s := held(t, db)
		for range 2 {
			if err := s.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Reader(t.Context()); !errors.Is(err, snapshot.ErrGone) {
			t.Errorf("got %v, want that it is gone", err)
		}
		eventually(t, db, "NOT ("+backupIsThere+")")
	})
	t.Run("SurvivesAReaderThatWasCancelled", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Live(t, momentDDL)
		s := held(t, db)
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Reader(cancelled); !fault.Is(err, fault.Retryable) {
			t.Errorf("got %v of class %s, want retryable", err, fault.ClassOf(err))
		}
		if _, err := joined(t, s).Copy(cancelled, table(t, s, "item"), backup.Range{}, &bytes.Buffer{}); !fault.Is(err, fault.Retryable) {
			t.Errorf("got %v of class %s, want retryable", err, fault.ClassOf(err))
		}
		joined(t, s)
	})
	t.Run("NoticesASchemaUnderItsOldName", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Live(t, momentDDL)
		s := held(t, db)
		r, of := joined(t, s), table(t, s, "item")
		db.Exec(t, "ALTER SCHEMA public RENAME TO before; CREATE SCHEMA public; CREATE TABLE public.item (id integer, v text)")
		if n, err := r.Copy(t.Context(), of, backup.Range{}, &bytes.Buffer{}); !fault.Is(err, fault.Retryable) {
			t.Errorf("got %d rows, error %v: took another table for this one", n, err)
		}
		if n, err := r.Count(t.Context(), of); !fault.Is(err, fault.Retryable) {
			t.Errorf("got %d rows, error %v: took another table for this one", n, err)
		}
	})
}
