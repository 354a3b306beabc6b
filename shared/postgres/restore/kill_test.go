package restore_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/apply"
	"tidemark/shared/fault"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/postgres/restore"
	"tidemark/shared/postgres/restore/claim"
	"tidemark/shared/recovery"
)

// killer ends calls at commits that it has not met before, every so many.
type killer struct {
	every int
	how   func(ctx context.Context, pid uint32) error

	mu      sync.Mutex
	met     map[string]bool
	passed  int    // since the last strike
	strike  func() // ends the call in hand; nil: it was struck
	strikes int
}

func (k *killer) reached(ctx context.Context, at claim.Moment) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	name := fmt.Sprintf("%s %t", at.Step, at.Committed)
	switch {
	case k.strike == nil && !at.Committed: // the call is ending: what another job would commit now is met by the next call
		return context.Canceled
	case k.met[name] || k.strike == nil:
		return nil
	}
	k.met[name] = true
	if k.passed++; k.passed < k.every {
		return nil
	}
	k.strike()
	k.passed, k.strike, k.strikes = 0, nil, k.strikes+1
	return k.how(ctx, at.PID)
}

// until makes the call until one comes through unharmed.
func (k *killer) until(t *testing.T, cancelled bool, call func(ctx context.Context) error, between func()) {
	t.Helper()
	for {
		ctx, cancel := context.WithCancel(t.Context())
		k.strike = func() {}
		if cancelled {
			k.strike = cancel
		}
		err := call(ctx)
		cancel()
		if err == nil && k.strike != nil {
			return
		}
		if class := fault.ClassOf(err); err != nil && class != fault.Retryable && class != fault.UnknownOutcome {
			t.Fatalf("%v of class %s", err, class)
		}
		between()
	}
}

// TestKilled: whatever a call is killed at, by the server or by its own process, the same call goes on; the result is the same,
// and nobody ever sees the target live before the end.
func TestKilled(t *testing.T) {
	t.Parallel()
	small := func(t *testing.T) *postgrestest.Database {
		t.Helper()
		db := postgrestest.Live(t, `CREATE TABLE a (id serial PRIMARY KEY, b integer); INSERT INTO a (b) SELECT g FROM generate_series(1, 50) AS g;
			CREATE TABLE c (id integer PRIMARY KEY REFERENCES a); INSERT INTO c VALUES (3); CREATE INDEX ON a (b);`)
		fillLedger(t, db)
		return db
	}
	tests := []struct {
		name        string
		make        func(t *testing.T) *postgrestest.Database
		every, jobs int
		byServer    bool
	}{
		{"ByTheServerAtEveryCommit", small, 1, 3, true},
		{"ByItsOwnProcessAtEveryCommit", small, 1, 2, false},
		{"ByTheServerNowAndThen", func(t *testing.T) *postgrestest.Database { t.Helper(); return rich(t) }, 41, 2, true},
		{"ByItsOwnProcessNowAndThen", func(t *testing.T) *postgrestest.Database { t.Helper(); return rich(t) }, 37, 3, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			original := test.make(t)
			want := read(t, original)
			base, _ := baseOf(t, original, 20)
			base.Jobs = test.jobs
			k := &killer{every: test.every, met: map[string]bool{}, how: func(ctx context.Context, _ uint32) error { return ctx.Err() }}
			if test.byServer {
				k.how = terminate(t, original.URL)
			}
			copied, d := target(t, restore.Options{Reached: k.reached, LockTimeout: patience})
			k.until(t, !test.byServer, func(ctx context.Context) error { return d.Claim(ctx, base.Try) }, func() {})
			k.until(t, !test.byServer, func(ctx context.Context) error { _, err := d.Restore(ctx, base); return err }, func() {
				if got := life(t, copied); got != restoringLife {
					t.Fatalf("life %q, want %q", got, restoringLife)
				}
			})
			sameRows(t, original, copied)
			end := recovery.Settlement{Try: base.Try, State: apply.StateLive}
			k.until(t, !test.byServer, func(ctx context.Context) error { return d.Settle(ctx, end) }, func() {})
			sameSchema(t, want, copied, raisedSequences()...)
			t.Logf("%d met, %d struck, %d definitions", len(k.met), k.strikes, len(base.Body.Definitions))
			if least := 2 * len(base.Body.Definitions); len(k.met) < least || k.strikes < len(k.met)/k.every-3 {
				t.Errorf("struck at %d of %d commits, want %d commits or more", k.strikes, len(k.met), least)
			}
		})
	}
}

// terminate ends a server's process from a session of its own.
func terminate(t *testing.T, url string) func(ctx context.Context, pid uint32) error {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return func(ctx context.Context, pid uint32) error {
		_, err := conn.Exec(context.WithoutCancel(ctx), "SELECT pg_terminate_backend($1)", int32(pid)) //nolint:gosec // a process
		return err
	}
}
