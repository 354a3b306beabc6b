package runs_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/localstack/services/servicestest"
	"tidemark/shared/backup"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/position"
	"tidemark/shared/postgres/ledger/runs"
	"tidemark/shared/postgres/postgrestest"
)

func TestMain(m *testing.M) { os.Exit(servicestest.Run(m)) }

const statement manifest.Digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func noon() time.Time { return time.Date(2026, 1, 2, 12, 0, 0, 123456000, time.UTC) }

func randomID() manifest.RunID {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return manifest.RunID(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]))
}

// record is the record of backups of one database.
func record(t *testing.T, db *postgrestest.Database) *runs.Runs {
	t.Helper()
	config, err := pgx.ParseConfig(db.URL)
	if err != nil {
		t.Fatal("the test's address does not parse")
	}
	r, err := runs.New(runs.Options{Database: config, NewID: randomID})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// listing answers as an archive whose newest manifest that is.
func listing(seq int64, run manifest.RunID) func(context.Context, position.Lineage) (int64, manifest.RunID, error) {
	return func(context.Context, position.Lineage) (int64, manifest.RunID, error) { return seq, run, nil }
}

// request asks for a run of a scheduled time, beside an empty archive.
func request(scheduled time.Time) backup.Request {
	return backup.Request{Target: postgrestest.TargetID, Scheduled: scheduled, Newest: listing(0, ""), Actor: "test"}
}

func mustBegin(t *testing.T, r *runs.Runs, q backup.Request) backup.Claim {
	t.Helper()
	claim, err := r.Begin(t.Context(), q)
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	t.Cleanup(func() { _ = claim.Close(context.WithoutCancel(t.Context())) }) // some lose their session on purpose
	return claim
}

// mustMake is a whole run.
func mustMake(t *testing.T, r *runs.Runs, q backup.Request, outcome string) backup.Claimed {
	t.Helper()
	claim := mustBegin(t, r, q)
	mustFinish(t, claim, outcome)
	return claim.Run()
}

func mustFinish(t *testing.T, claim backup.Claim, outcome string) {
	t.Helper()
	digest := statement
	if outcome != "done" {
		digest = ""
	}
	if err := claim.Finish(t.Context(), outcome, digest); err != nil {
		t.Fatal(fault.Line(err))
	}
	if err := claim.Close(t.Context()); err != nil {
		t.Errorf("close behind finish: %v", err)
	}
}

func mustSay(t *testing.T, db *postgrestest.Database, query, want string) {
	t.Helper()
	if got := db.Copy(t, query); got != want {
		t.Errorf("%s: got %q, want %q", query, got, want)
	}
}

const rowsQuery = "SELECT seq, attempt, state FROM tidemark.backup_run ORDER BY lineage, seq"

func mustBe(t *testing.T, err error, class fault.Class, parts ...string) {
	t.Helper()
	if !fault.Is(err, class) {
		t.Errorf("got %v (%s), want %s", err, fault.ClassOf(err), class)
		return
	}
	for _, part := range parts {
		if !strings.Contains(fault.Line(err), part) {
			t.Errorf("got %q, want %q in it", fault.Line(err), part)
		}
	}
}

// endHolder ends the session that holds a run, as its death would, and returns when the lock is free.
func endHolder(t *testing.T, db *postgrestest.Database) {
	t.Helper()
	db.Exec(t, "SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN tidemark.backup_run r ON l.transactionid = r.xmax"+
		" WHERE l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock' AND r.state = 'running'")
	db.Exec(t, "BEGIN; SELECT FROM tidemark.backup_run FOR UPDATE; COMMIT") // waits
}
