package runs_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/backup"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/postgres/ledger/runs"
	"tidemark/shared/postgres/postgrestest"
)

// Between the commit of a run's row and the lock on it another process may come.
func TestBeginIsOvertaken(t *testing.T) {
	t.Parallel()
	t.Run("GivesWayToAnotherRun", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Live(t, "")
		first, second := record(t, db), record(t, db)
		var other backup.Claim
		first.SetBetween(func() { other = mustBegin(t, second, request(noon())) })
		_, err := first.Begin(t.Context(), request(noon()))
		mustBe(t, err, fault.Retryable, "gives way")
		if !errors.Is(err, backup.ErrRunning) {
			t.Errorf("got %v, want ErrRunning", err)
		}
		mustSay(t, db, rowsQuery, "1\t1\tcrashed\n2\t2\trunning\n")
		mustFinish(t, other, "done")
		mustSay(t, db, rowsQuery, "1\t1\tcrashed\n2\t2\tdone\n")
	})
	t.Run("GoesOnWhenTheOtherIsRefused", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Live(t, "")
		first := record(t, db)
		other, err := pgx.Connect(t.Context(), db.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = other.Close(t.Context()) }() // the database is dropped with its sessions
		gone := make(chan struct{})
		first.SetBetween(func() {
			if _, err := other.Exec(t.Context(), "BEGIN; LOCK TABLE tidemark.backup_run IN SHARE ROW EXCLUSIVE MODE;"+
				"SELECT FROM tidemark.backup_run FOR UPDATE"); err != nil {
				t.Error(err)
			}
			go func() {
				defer close(gone)
				awaitWaiter(t, db)
				if _, err := other.Exec(t.Context(), "ROLLBACK"); err != nil {
					t.Error(err)
				}
			}()
		})
		claim := mustBegin(t, first, request(noon()))
		<-gone
		mustFinish(t, claim, "done")
		mustSay(t, db, rowsQuery, "1\t1\tdone\n")
	})
}

// awaitWaiter returns when a session of the database waits for a lock.
func awaitWaiter(t *testing.T, db *postgrestest.Database) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for waits := false; !waits; <-tick.C {
		err := db.Conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()"+
			" AND wait_event_type = 'Lock')").Scan(&waits)
		if err != nil {
			t.Errorf("wait for a session that waits: %v", err)
			return
		}
	}
}

func TestFinish(t *testing.T) {
	t.Parallel()
	t.Run("RecordsTheEnd", recordsTheEnd)
	t.Run("RecordsTheEndAlthoughTheSessionIsGone", recordsAnewAfterTheSessionWent)
	t.Run("RefusesAfterAnotherTookOver", refusesAfterAnotherTookOver)
	t.Run("LeavesTheOutcomeOpenWhenNobodyCanBeAsked", leavesTheOutcomeOpen)
	t.Run("RefusesWhatIsNoEnd", refusesWhatIsNoEnd)
	t.Run("RefusesAfterTheLedgerForgot", refusesAfterTheLedgerForgot)
}

func recordsTheEnd(t *testing.T) {
	t.Parallel()
	db := postgrestest.Live(t, "")
	r := record(t, db)
	mustMake(t, r, request(noon()), "done")
	mustMake(t, r, request(time.Time{}), "failed")
	mustSay(t, db, "SELECT seq, state, statement, ended_at >= started_at FROM tidemark.backup_run ORDER BY seq",
		"1\tdone\t"+statement.String()+"\tt\n2\tfailed\t\\N\tt\n")
	claim := mustBegin(t, r, request(time.Time{}))
	mustFinish(t, claim, "done")
	mustBe(t, claim.Finish(t.Context(), "done", statement), fault.Bug)
}

func recordsAnewAfterTheSessionWent(t *testing.T) {
	t.Parallel()
	db := postgrestest.Live(t, "")
	claim := mustBegin(t, record(t, db), request(noon()))
	endHolder(t, db)
	mustFinish(t, claim, "done")
	mustSay(t, db, rowsQuery, "1\t1\tdone\n")
}

func refusesAfterAnotherTookOver(t *testing.T) {
	t.Parallel()
	db := postgrestest.Live(t, "")
	r := record(t, db)
	claim := mustBegin(t, r, request(noon()))
	endHolder(t, db)
	other := mustBegin(t, r, request(noon()))
	err := claim.Finish(t.Context(), "done", statement)
	mustBe(t, err, fault.Fenced, "lost")
	if !errors.Is(err, runs.ErrLost) {
		t.Errorf("got %v, want ErrLost", err)
	}
	mustFinish(t, other, "done")
	mustSay(t, db, rowsQuery, "1\t1\tcrashed\n2\t2\tdone\n")
}

func leavesTheOutcomeOpen(t *testing.T) {
	t.Parallel()
	db := postgrestest.Live(t, "")
	config, err := pgx.ParseConfig(db.URL)
	if err != nil {
		t.Fatal("the test's address does not parse")
	}
	away := false
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if away {
			return nil, &net.OpError{Op: "dial", Err: errors.New("no route")}
		}
		return dial(ctx, network, address)
	}
	r, err := runs.New(runs.Options{Database: config, NewID: randomID})
	if err != nil {
		t.Fatal(err)
	}
	claim := mustBegin(t, r, request(noon()))
	endHolder(t, db)
	away = true
	err = claim.Finish(t.Context(), "done", statement)
	mustBe(t, err, fault.UnknownOutcome, claim.Run().RunID.String())
	if err := claim.Close(t.Context()); err != nil {
		t.Errorf("close behind finish: %v", err)
	}
	mustSay(t, db, rowsQuery, "1\t1\trunning\n")
}

func refusesWhatIsNoEnd(t *testing.T) {
	t.Parallel()
	db := postgrestest.Live(t, "")
	claim := mustBegin(t, record(t, db), request(noon()))
	for _, end := range []struct {
		outcome   string
		statement manifest.Digest
	}{{"running", ""}, {"crashed", ""}, {"", statement}, {"done", ""}, {"failed", "0123"}} {
		mustBe(t, claim.Finish(t.Context(), end.outcome, end.statement), fault.Bug)
	}
	mustSay(t, db, rowsQuery, "1\t1\trunning\n")
	mustFinish(t, claim, "done") // it is still held
}

func refusesAfterTheLedgerForgot(t *testing.T) {
	t.Parallel()
	db := postgrestest.Live(t, "")
	claim := mustBegin(t, record(t, db), request(noon()))
	endHolder(t, db)
	db.Exec(t, "DELETE FROM tidemark.backup_run")
	mustBe(t, claim.Finish(t.Context(), "done", statement), fault.Fenced, "does not know the run")
}

func TestClose(t *testing.T) {
	t.Parallel()
	db := postgrestest.Live(t, "")
	r := record(t, db)
	claim := mustBegin(t, r, request(noon()))
	for range 2 {
		if err := claim.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	mustSay(t, db, rowsQuery, "1\t1\trunning\n")
	claim = mustBegin(t, r, request(noon())) // at once: the lock is gone when Close returns
	mustSay(t, db, rowsQuery, "1\t1\tcrashed\n2\t2\trunning\n")
	endHolder(t, db)
	err := claim.Close(t.Context())
	mustBe(t, err, fault.Retryable, claim.Run().RunID.String())
}

// A claim idles for hours, whatever a role's limits are.
func TestClaimOutlivesTheRolesLimits(t *testing.T) {
	t.Parallel()
	db := postgrestest.Live(t, "")
	name := strings.TrimSpace(db.Copy(t, "SELECT current_database()"))
	db.Exec(t, "ALTER DATABASE "+name+" SET idle_in_transaction_session_timeout = '50ms'; "+
		"ALTER DATABASE "+name+" SET statement_timeout = '10s'; ALTER DATABASE "+name+" SET synchronous_commit = off;"+
		"ALTER DATABASE "+name+" SET datestyle = 'German'")
	r := record(t, db)
	claim := mustBegin(t, r, request(noon()))
	outlived, err := pgx.Connect(t.Context(), db.URL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := outlived.Exec(t.Context(), "BEGIN"); err != nil {
		t.Fatal(err)
	}
	if err := outlived.PgConn().WaitForNotification(t.Context()); err == nil { // the server ends that session
		t.Fatal("a session outlived the role's limit")
	}
	_, err = r.Begin(t.Context(), request(noon()))
	mustBe(t, err, fault.Retryable, "since 2")
	mustFinish(t, claim, "done")
}

func TestPrune(t *testing.T) {
	t.Parallel()
	db := postgrestest.Live(t, "")
	r := record(t, db)
	oldest := mustMake(t, r, request(time.Time{}), "done")
	db.Exec(t, "INSERT INTO tidemark.backup_run (run_id, lineage, seq, incarnation, attempt, state, started_at, ended_at, statement, actor)"+
		" SELECT gen_random_uuid(), 1, n, gen_random_uuid(), 1, CASE WHEN n <= 120 THEN 'done' ELSE 'failed' END,"+
		" now() - interval '91 days', now(), repeat('0', 64), 'test' FROM generate_series(2, 200) AS n;"+
		"UPDATE tidemark.backup_run SET started_at = now() - interval '1 year' WHERE seq = 1;"+
		"UPDATE tidemark.backup_run SET started_at = now() - interval '89 days' WHERE seq IN (2, 150)")
	q := request(time.Time{})
	q.Newest = listing(oldest.Seq, oldest.RunID)
	if got := mustMake(t, r, q, "done").Seq; got != 201 {
		t.Errorf("got number %d, want 201", got)
	}
	mustSay(t, db, "SELECT string_agg(seq::text, ',' ORDER BY seq) FROM tidemark.backup_run WHERE seq NOT BETWEEN 21 AND 120", "1,2,150,201\n")
	mustSay(t, db, "SELECT count(*) FROM tidemark.backup_run WHERE seq BETWEEN 21 AND 120", "100\n")
	mustMake(t, r, q, "done") // the newest that the archive lists is still known
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	config, err := pgx.ParseConfig("postgres://u@127.0.0.1:1/db?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []runs.Options{{}, {Database: config}, {NewID: randomID}} {
		_, err := runs.New(o)
		mustBe(t, err, fault.Bug)
	}
	r, err := runs.New(runs.Options{Database: config, NewID: randomID})
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Begin(t.Context(), request(noon()))
	mustBe(t, err, fault.Retryable, "cannot be reached")
	_, err = r.Begin(t.Context(), backup.Request{Target: postgrestest.TargetID})
	mustBe(t, err, fault.Bug)
	db := postgrestest.Live(t, "")
	if config, err = pgx.ParseConfig(db.URL); err != nil {
		t.Fatal("the test's address does not parse")
	}
	r, err = runs.New(runs.Options{Database: config, NewID: func() manifest.RunID { return "ONE" }})
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Begin(t.Context(), request(noon()))
	mustBe(t, err, fault.Bug)
	mustSay(t, db, rowsQuery, "")
}
