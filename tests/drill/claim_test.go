//go:build drill

package drill_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/backup"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/position"
	"tidemark/shared/postgres/ledger/runs"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/tests/internal/harness"
)

// claims is a record of backups behind a proxy.
type claims struct {
	db    *postgrestest.Database
	proxy *harness.Proxy
	runs  *runs.Runs
}

func newClaims(t *testing.T) *claims {
	t.Helper()
	db := postgrestest.Live(t, "")
	address := parseURL(t, db.URL)
	proxy, err := harness.Listen(t.Context(), address.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Errorf("close the proxy: %v", err)
		}
	})
	address.Host = proxy.Address()
	config, err := pgx.ParseConfig(address.String())
	if err != nil {
		t.Fatal("the proxy's address does not parse")
	}
	c := &claims{db: db, proxy: proxy}
	c.runs, err = runs.New(runs.Options{Database: config, NewID: newRunID})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newRunID() manifest.RunID {
	var random [6]byte
	_, _ = rand.Read(random[:]) // it never fails
	return manifest.RunID(fmt.Sprintf("00000000-0000-4000-8000-%x", random))
}

func drillRequest() backup.Request {
	return backup.Request{
		Target: postgrestest.TargetID, Scheduled: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), Actor: "drill",
		Newest: func(context.Context, position.Lineage) (int64, manifest.RunID, error) { return 0, "", nil },
	}
}

const claimStatement manifest.Digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// once begins a run and ends it.
func (c *claims) once(ctx context.Context) (begun, ended error) {
	claim, err := c.runs.Begin(ctx, drillRequest())
	if err != nil {
		return err, nil
	}
	return nil, claim.Finish(ctx, "done", claimStatement)
}

// rows are what the ledger says of all runs: number, attempt, state and statement.
func (c *claims) rows(t *testing.T) string {
	t.Helper()
	return c.db.Copy(t, "SELECT seq, attempt, state, coalesce(statement, '') FROM tidemark.backup_run ORDER BY seq")
}

// claimForm is how a claim is broken at one effect.
type claimForm struct {
	name    string
	trigger func(number int) harness.Trigger
	gone    bool // the process asks nobody afterwards, as if it had died
}

func claimForms() []claimForm {
	return []claimForm{
		{"ErrorBefore", harness.ErrorBefore, false},
		{"ReplyDropped", harness.ReplyDropped, false},
		{"GoneBefore", harness.ErrorBefore, true},
		{"GoneAfter", harness.ReplyDropped, true},
	}
}

// TestClaim breaks a backup's claim at every effect, from its first connection to the commit of its end. Whatever happens, no
// run is called done that the ledger does not know as done, and the next try succeeds with a number of its own, or finds that
// the scheduled time has its backup.
func TestClaim(t *testing.T) {
	t.Parallel()
	clean := newClaims(t)
	clean.proxy.Watch()
	if begun, ended := clean.once(t.Context()); begun != nil || ended != nil {
		t.Fatalf("without a fault: %v, %v", begun, ended)
	}
	effects := clean.proxy.Effects()
	t.Logf("%d effects: %v", len(effects), effects)
	if n := len(effects); n == 0 || effects[n-1].Text != commit {
		t.Fatal("the last effect of a claim is not its COMMIT")
	}
	for _, f := range claimForms() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			c := newClaims(t)
			for _, at := range effects {
				c.breakAt(t, f, at)
				if t.Failed() {
					t.Fatalf("at effect %s; the ledger says:\n%s", at, c.rows(t))
				}
			}
			t.Logf("all %d effects reached", len(effects))
		})
	}
	t.Run("Orphaned", claimOrphaned)
}

func (c *claims) breakAt(t *testing.T, f claimForm, at harness.Effect) {
	t.Helper()
	c.db.Exec(t, "DELETE FROM tidemark.backup_run")
	trigger := f.trigger(at.Number)
	if f.gone {
		trigger.Act = func(harness.Point) harness.Verdict {
			c.proxy.RefuseNext(1)
			return harness.Cut
		}
	}
	c.proxy.Arm(trigger)
	begun, ended := c.once(t.Context())
	if met, fired := c.proxy.Fired(); !fired || met.Effect != at {
		t.Errorf("the fault was not reached: fired %v at %s", fired, met.Effect)
	}
	c.proxy.RefuseNext(0)
	c.proxy.Watch()
	const done = "1\t1\tdone\t" + string(claimStatement) + "\n"
	switch rows := c.rows(t); {
	case begun != nil && !fault.Is(begun, fault.Retryable):
		t.Errorf("begin: got %s, want retryable", fault.Line(begun))
	case begun == nil && ended == nil && rows != done:
		t.Error("the run was called done, and the ledger does not say so")
	case ended != nil && (!f.gone || !fault.Is(ended, fault.UnknownOutcome)):
		t.Errorf("finish: got %s, want that the ledger decides", fault.Line(ended))
	case begun != nil && rows != "" && rows != "1\t1\trunning\t\n":
		t.Errorf("the run never began, and the ledger says %q", rows)
	}
	c.again(t, done)
}

// again makes the next try, when the server has found out that the first one is gone.
func (c *claims) again(t *testing.T, done string) {
	t.Helper()
	var claim backup.Claim
	var err error
	await(t, "the lock of the first try comes free", func() bool {
		claim, err = c.runs.Begin(t.Context(), drillRequest())
		return !errors.Is(err, backup.ErrRunning)
	})
	if found, ok := errors.AsType[*backup.DoneError](err); ok {
		if rows := c.rows(t); rows != done || found.Statement != claimStatement || found.Run.Seq != 1 {
			t.Errorf("the next try found %+v, and the ledger says %q", found, rows)
		}
		return
	}
	if err != nil {
		t.Errorf("the next try: %s", fault.Line(err))
		return
	}
	if err := claim.Finish(t.Context(), "done", claimStatement); err != nil {
		t.Errorf("the next try: %s", fault.Line(err))
	}
	const second = "1\t1\tcrashed\t\n2\t2\tdone\t" + string(claimStatement) + "\n"
	if rows := c.rows(t); rows != done && rows != second {
		t.Errorf("the ledger says %q, want one run, or a crashed one and another", rows)
	}
}

// A network that dies leaves the server's session open, and with it the lock: nobody can tell how the run ended, and nobody
// else runs, until the server finds out.
func claimOrphaned(t *testing.T) {
	t.Parallel()
	c := newClaims(t)
	claim, err := c.runs.Begin(t.Context(), drillRequest())
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	c.proxy.Arm(harness.Trigger{
		Text: "update tidemark.backup_run", Act: func(harness.Point) harness.Verdict { return harness.Orphan },
	})
	if err := claim.Finish(t.Context(), "done", claimStatement); !fault.Is(err, fault.UnknownOutcome) {
		t.Errorf("finish: got %v (%s), want an unknown outcome", err, fault.ClassOf(err))
	}
	if _, err := c.runs.Begin(t.Context(), drillRequest()); !errors.Is(err, backup.ErrRunning) {
		t.Errorf("beside the orphan: got %v, want that another is running", err)
	}
	c.proxy.CutAll()
	c.proxy.Watch()
	c.again(t, "")
}
