package restore_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/postgres/restore"
	"tidemark/shared/postgres/restore/claim"
	"tidemark/shared/recovery"
)

// numbers is a target with one table of three rows, in chunks of two.
func numbers(t *testing.T) (recovery.Base, *store) {
	t.Helper()
	db := postgrestest.Live(t, "CREATE TABLE numbers (id integer PRIMARY KEY, name text); INSERT INTO numbers VALUES (1, 'a'), (2, 'b'), (3, NULL)")
	return baseOf(t, db, 2)
}

func tableOf(b *recovery.Base, name string) *body.Table {
	b.Body.Tables = slices.Clone(b.Body.Tables)
	at := slices.IndexFunc(b.Body.Tables, func(t body.Table) bool { return t.Name.Name == name })
	return &b.Body.Tables[at]
}

// swap puts other bytes in the place of a table's last chunk, under a digest of their own.
func swap(b *recovery.Base, s *store, plain []byte) {
	t := tableOf(b, "numbers")
	t.Chunks = slices.Clone(t.Chunks)
	t.Chunks[len(t.Chunks)-1].Object = s.put(plain)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	last := func(b *recovery.Base, s *store) []byte {
		chunks := tableOf(b, "numbers").Chunks
		return s.plain[chunks[len(chunks)-1].Object.Digest]
	}
	tests := []struct {
		name   string
		change func(b *recovery.Base, s *store)
		class  fault.Class
		names  []string
	}{
		{"ABaseOfAnotherEncoding", func(b *recovery.Base, _ *store) { b.Body.Snapshot.Encoding = "LATIN1" }, fault.Misconfigured, []string{"LATIN1", "UTF8"}},
		{"ABaseOfAnotherLedger", func(b *recovery.Base, _ *store) { b.Body.Snapshot.LedgerSchema = "other" }, fault.Misconfigured, []string{"other"}},
		{"ANewerLedger", func(b *recovery.Base, _ *store) { b.Body.Snapshot.LedgerVersion = 99 }, fault.Misconfigured, []string{"99"}},
		{"AnOlderLedger", func(b *recovery.Base, _ *store) { b.Body.Snapshot.LedgerVersion = 1 }, fault.Misconfigured, []string{"1"}},
		{"ASchemaInItsOwnPlace", func(b *recovery.Base, _ *store) {
			b.Body.Definitions = append(slices.Clone(b.Body.Definitions), body.Definition{Kind: "schema", Name: "tidemark_recovery", SQL: "SELECT 1"})
		}, fault.Misconfigured, []string{"tidemark_recovery"}},
		{"AnotherTrysBase", func(b *recovery.Base, _ *store) { b.Try.RunID = otherRun }, fault.Fenced, []string{runID, "not empty"}},
		{"AnotherBaseOfTheSameTry", func(b *recovery.Base, _ *store) { b.Try.Statement = manifest.DigestOf([]byte("x")) }, fault.Bug, []string{runID}},
		{"BytesOfAnotherDigest", func(b *recovery.Base, s *store) {
			digest := tableOf(b, "numbers").Chunks[1].Object.Digest
			s.plain[digest] = append(slices.Clone(s.plain[digest]), 'x')
		}, fault.Corrupt, []string{"public.numbers", "chunk 2 of 2"}},
		{"BytesOfAnotherSize", func(b *recovery.Base, s *store) {
			b.Fetch = func(ctx context.Context, o manifest.Object) ([]byte, error) {
				plain, err := s.fetch(ctx, o)
				return plain[:len(plain)-2], err
			}
		}, fault.Corrupt, []string{"plain bytes"}},
		{"ARowCutShort", func(b *recovery.Base, s *store) { swap(b, s, last(b, s)[:len(last(b, s))-7]) }, fault.Corrupt, []string{"public.numbers", "chunk 2 of 2"}},
		{"RowsWithoutTheirEnd", func(b *recovery.Base, s *store) { swap(b, s, last(b, s)[:copyHeader]) }, fault.Corrupt, []string{"public.numbers"}},
		{
			"ARowTooFew", func(b *recovery.Base, s *store) {
				swap(b, s, append(slices.Clone(last(b, s)[:copyHeader]), 0xff, 0xff))
			},
			fault.Corrupt,
			[]string{"public.numbers", "0 rows", "says 1"},
		},
		{"RowsOfOtherTypes", func(b *recovery.Base, s *store) {
			swap(b, s, bytes.Replace(last(b, s), []byte{0, 0, 0, 4, 0, 0, 0, 3}, []byte{0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 3}, 1))
		}, fault.Corrupt, []string{"public.numbers", "chunk 2 of 2"}},
		{"NothingOfAStream", func(b *recovery.Base, s *store) { swap(b, s, []byte("PGDMP")) }, fault.Corrupt, []string{"public.numbers"}},
		{"RowsThatBreakTheirKey", func(b *recovery.Base, s *store) {
			t := tableOf(b, "numbers")
			swap(b, s, bytes.Replace(s.plain[t.Chunks[0].Object.Digest], []byte{'b'}, []byte{'c'}, 1))
			t = tableOf(b, "numbers")
			t.Chunks[1].Rows, t.Rows = 2, 4
		}, fault.Corrupt, []string{"primary key public.numbers_pkey of public.numbers"}},
		{"ADefinitionThatCannotBe", func(b *recovery.Base, _ *store) {
			b.Body.Definitions = slices.Clone(b.Body.Definitions)
			at := slices.IndexFunc(b.Body.Definitions, func(d body.Definition) bool { return d.Kind == "primary key" && d.Schema == "public" })
			b.Body.Definitions[at].SQL = "ALTER TABLE public.numbers ADD CONSTRAINT numbers_pkey PRIMARY KEY (nothing)"
		}, fault.Misconfigured, []string{"primary key public.numbers_pkey of public.numbers", `column "nothing"`, "42703"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			base, objects := numbers(t)
			test.change(&base, objects)
			for _, large := range []bool{false, true} {
				db, d := target(t, restore.Options{LedgerFrom: 2, LedgerTo: 3})
				if large {
					d.LoadWholeUpTo(0)
				}
				claimed(t, d)
				_, err := d.Restore(t.Context(), base)
				refusedAs(t, err, test.class, test.names...)
				if got := life(t, db); got != restoringLife {
					t.Errorf("life %q, want %q", got, restoringLife)
				}
				if found, err := d.Look(t.Context()); err != nil || found.Restored {
					t.Errorf("look: %+v, %v, want an unfinished try", found, err)
				}
			}
		})
	}
}

// TestHeld: only one process goes on with a try.
func TestHeld(t *testing.T) {
	t.Parallel()
	base, _ := numbers(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	db, _ := target(t, restore.Options{})
	first := at(t, db, restore.Options{Reached: func(_ context.Context, at claim.Moment) error {
		if at.Step == "sequences" && !at.Committed {
			close(entered)
			<-leave
		}
		return nil
	}})
	claimed(t, first)
	ended := make(chan error, 1)
	go func() {
		_, err := first.Restore(t.Context(), base)
		ended <- err
	}()
	<-entered
	second := at(t, db, restore.Options{LockTimeout: 1})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := second.Restore(ctx, base)
	refusedAs(t, err, fault.Retryable, runID, "another process")
	close(leave)
	if err := <-ended; err != nil {
		t.Errorf("the first: %v", err)
	}
	if got := restored(t, second, base); got.Rows != 0 {
		t.Errorf("the second loaded %d rows again", got.Rows)
	}
}

// TestLatecomer: a step that another session is in the midst of, as a killed process leaves it, is waited for and not done twice.
func TestLatecomer(t *testing.T) {
	t.Parallel()
	base, _ := numbers(t)
	db, d := target(t, restore.Options{})
	claimed(t, d)
	left, err := pgx.Connect(t.Context(), db.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = left.Close(context.WithoutCancel(t.Context())) }()
	ghost := &postgrestest.Database{URL: db.URL, Conn: left}
	ghost.Exec(t, "BEGIN; INSERT INTO tidemark_recovery.done (step) VALUES ('sequences')")
	ended := make(chan error, 1)
	go func() {
		_, err := d.Restore(t.Context(), base)
		ended <- err
	}()
	waits(t, db)
	select {
	case err := <-ended:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
	ghost.Exec(t, "ROLLBACK")
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// waits returns when a recovery waits for another session.
func waits(t *testing.T, db *postgrestest.Database) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for yes := false; !yes; {
		err := db.Conn.QueryRow(ctx, "SELECT count(*) > 0 FROM pg_stat_activity, pg_sleep(0.01) WHERE datname = current_database()"+
			" AND application_name = 'tidemark recover' AND cardinality(pg_blocking_pids(pid)) > 0").Scan(&yes)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestUnlogged: what a crashed server emptied is found.
func TestUnlogged(t *testing.T) {
	t.Parallel()
	original := postgrestest.Live(t, "CREATE UNLOGGED TABLE light (a integer); INSERT INTO light VALUES (1), (2)")
	base, _ := baseOf(t, original, 1)
	stop := errors.New("stop")
	db, _ := target(t, restore.Options{})
	d := at(t, db, restore.Options{Reached: func(_ context.Context, at claim.Moment) error {
		if at.Step == "sequences" {
			return stop
		}
		return nil
	}})
	claimed(t, d)
	if _, err := d.Restore(t.Context(), base); !errors.Is(err, stop) {
		t.Fatalf("got %v, want it stopped", err)
	}
	db.Exec(t, "DELETE FROM light") // as the server does when it comes up
	_, err := at(t, db, restore.Options{}).Restore(t.Context(), base)
	refusedAs(t, err, fault.Misconfigured, "unlogged table public.light", "0 of the 2 rows")
}
