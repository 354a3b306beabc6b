package runs_test

import (
	"context"
	"errors"
	"math"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tidemark/shared/apply"
	"tidemark/shared/backup"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/position"
	"tidemark/shared/postgres/postgrestest"
)

func TestBegin(t *testing.T) {
	t.Parallel()
	t.Run("CommitsTheRunBeforeAnythingElse", commitsTheRun)
	t.Run("LetsOneOfManyIn", letsOneOfManyIn)
	t.Run("CountsAttemptsOfACrashedRun", countsAttempts)
	t.Run("MakesOneBackupOfAScheduledTime", oneOfAScheduledTime)
	t.Run("KnowsNoOtherLifesBackups", knowsNoOtherLife)
	t.Run("TakesANumberAboveTheArchives", takesANumberAbove)
	t.Run("RefusesWhenNumbersAreUsedUp", refusesUsedUpNumbers)
	t.Run("RefusesAnArchiveThatIsShared", refusesASharedArchive)
	t.Run("RefusesWhatIsNoLiveTarget", refusesNoLiveTarget)
	t.Run("RefusesALifeThatBeganMeanwhile", refusesAnotherLife)
	t.Run("AsksForMigrate", asksForMigrate)
	t.Run("NeedsFewRights", needsFewRights)
	t.Run("TellsOfAStuckRun", tellsOfAStuckRun)
	t.Run("PassesOnWhatTheArchiveSays", passesOnTheArchivesError)
}

func commitsTheRun(t *testing.T) {
	t.Parallel()
	db := postgrestest.Live(t, "")
	got := mustBegin(t, record(t, db), request(noon())).Run()
	incarnation := strings.TrimSpace(db.Copy(t, "SELECT incarnation FROM tidemark.target"))
	want := backup.Claimed{RunID: got.RunID, Lineage: 1, Incarnation: position.Incarnation(incarnation), Seq: 1, Attempt: 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("claimed (-want +got):\n%s", diff)
	}
	mustSay(t, db, "SELECT run_id, lineage, seq, incarnation, scheduled, attempt, state, ended_at, statement, actor FROM tidemark.backup_run",
		got.RunID.String()+"\t1\t1\t"+incarnation+"\t2026-01-02 12:00:00.123456+00\t1\trunning\t\\N\t\\N\ttest\n")
}

// Many begin at once, some of them between the two transactions of another.
func letsOneOfManyIn(t *testing.T) {
	t.Parallel()
	db := postgrestest.Live(t, "")
	r := record(t, db)
	const rounds, many = 5, 8
	for range rounds {
		var group sync.WaitGroup
		var mu sync.Mutex
		var claims []backup.Claim
		for range many {
			group.Go(func() {
				claim, err := r.Begin(t.Context(), request(time.Time{}))
				if err != nil {
					if !errors.Is(err, backup.ErrRunning) || !fault.Is(err, fault.Retryable) || fault.HintOf(err) == "" {
						t.Errorf("got %v (%s), want that another is running", err, fault.ClassOf(err))
					}
					return
				}
				mu.Lock()
				defer mu.Unlock()
				claims = append(claims, claim)
			})
		}
		group.Wait()
		if len(claims) != 1 {
			t.Fatalf("%d claims were given, want 1", len(claims))
		}
		_, err := r.Begin(t.Context(), request(time.Time{}))
		mustBe(t, err, fault.Retryable, claims[0].Run().RunID.String(), `by "test"`, "held by session")
		mustFinish(t, claims[0], "done")
	}
	mustSay(t, db, "SELECT count(*), count(DISTINCT seq) = count(*) FROM tidemark.backup_run WHERE state = 'done'", "5\tt\n")
	mustSay(t, db, "SELECT count(*) FROM tidemark.backup_run WHERE state = 'running'", "0\n")
}

func countsAttempts(t *testing.T) {
	t.Parallel()
	db := postgrestest.Live(t, "")
	r := record(t, db)
	first := mustBegin(t, r, request(noon()))
	endHolder(t, db)
	second := mustBegin(t, r, request(noon().In(time.FixedZone("east", 3600))))
	if got := second.Run(); got.Attempt != 2 || got.Seq != 2 || got.RunID == first.Run().RunID {
		t.Errorf("got %+v, want attempt 2 as number 2", got)
	}
	if err := second.Close(t.Context()); err != nil {
		t.Errorf("close: %v", err)
	}
	mustMake(t, r, request(noon()), "failed")
	mustMake(t, r, request(noon()), "continuation")
	mustMake(t, r, request(noon().Add(time.Hour)), "done")
	if got := mustBegin(t, r, request(noon())).Run(); got.Attempt != 5 {
		t.Errorf("got %+v, want attempt 5", got)
	}
	mustSay(t, db, rowsQuery, "1\t1\tcrashed\n2\t2\tcrashed\n3\t3\tfailed\n4\t4\tcontinuation\n5\t1\tdone\n6\t5\trunning\n")
	mustSay(t, db, "SELECT count(*) FROM tidemark.backup_run WHERE state = 'crashed' AND ended_at IS NOT NULL", "2\n")
}

func oneOfAScheduledTime(t *testing.T) {
	t.Parallel()
	db := postgrestest.Live(t, "")
	r := record(t, db)
	mustMake(t, r, request(noon()), "failed")
	made := mustMake(t, r, request(noon()), "done")
	mustBegin(t, r, request(noon().Add(time.Hour))) // a retry of what is done succeeds beside it
	before := db.Copy(t, rowsQuery)
	_, err := r.Begin(t.Context(), request(noon().Add(700*time.Nanosecond))) // finer than the server keeps it
	done, ok := errors.AsType[*backup.DoneError](err)
	if !ok || !errors.Is(err, backup.ErrDone) {
		t.Fatalf("got %v, want that it is done", err)
	}
	if diff := cmp.Diff(&backup.DoneError{Run: made, Statement: statement}, done); diff != "" {
		t.Errorf("done (-want +got):\n%s", diff)
	}
	mustSay(t, db, rowsQuery, before)
}

func knowsNoOtherLife(t *testing.T) {
	t.Parallel()
	db := postgrestest.Live(t, "")
	r := record(t, db)
	mustMake(t, r, request(noon()), "done")
	mustBegin(t, r, request(noon().Add(time.Hour))) // as it stands in the base of a recovery
	endHolder(t, db)
	db.Exec(t, "UPDATE tidemark.target SET lineage = 2, incarnation = gen_random_uuid()")
	if got := mustBegin(t, r, request(noon())).Run(); got.Lineage != 2 || got.Seq != 1 || got.Attempt != 1 {
		t.Errorf("got %+v, want number 1 of life 2", got)
	}
}

func takesANumberAbove(t *testing.T) {
	t.Parallel()
	db := postgrestest.Live(t, "")
	r := record(t, db)
	first := mustMake(t, r, request(time.Time{}), "done")
	asked := position.Lineage(0)
	q := request(time.Time{})
	q.Newest = func(_ context.Context, lineage position.Lineage) (int64, manifest.RunID, error) {
		asked = lineage
		return first.Seq, first.RunID, nil
	}
	mustMake(t, r, q, "failed")
	if got := mustMake(t, r, q, "failed"); got.Seq != 3 || asked != 1 {
		t.Errorf("got number %d, asked of life %s, want 3 of life 1", got.Seq, asked)
	}
	// The ledger's own number is behind: only the row that the archive names is left.
	db.Exec(t, "DELETE FROM tidemark.backup_run WHERE seq > 1; UPDATE tidemark.backup_run SET seq = 41")
	q.Newest = listing(41, first.RunID)
	if got := mustMake(t, r, q, "failed"); got.Seq != 42 {
		t.Errorf("got number %d, want 42", got.Seq)
	}
}

func refusesUsedUpNumbers(t *testing.T) {
	t.Parallel()
	db := postgrestest.Live(t, "")
	r := record(t, db)
	made := mustMake(t, r, request(time.Time{}), "done")
	db.Exec(t, "UPDATE tidemark.backup_run SET seq = "+strconv.FormatInt(math.MaxInt64, 10))
	q := request(time.Time{})
	q.Newest = listing(math.MaxInt64, made.RunID)
	_, err := r.Begin(t.Context(), q)
	mustBe(t, err, fault.Corrupt, "used up")
	mustSay(t, db, "SELECT count(*) FROM tidemark.backup_run", "1\n")
}

// A clone has the ledger as it was, and the archive goes on: that is how it shows.
func refusesASharedArchive(t *testing.T) {
	t.Parallel()
	db := postgrestest.Live(t, "")
	r := record(t, db)
	made := mustMake(t, r, request(time.Time{}), "done")
	mustBegin(t, r, request(time.Time{}))
	endHolder(t, db)
	before := db.Copy(t, rowsQuery)
	for name, newest := range map[string]func(context.Context, position.Lineage) (int64, manifest.RunID, error){
		"another run":                    listing(3, "11111111-1111-4111-8111-111111111111"),
		"our run under another's number": listing(3, made.RunID),
	} {
		q := request(time.Time{})
		q.Newest = newest
		_, err := r.Begin(t.Context(), q)
		if !errors.Is(err, backup.ErrPrefixShared) {
			t.Errorf("%s: got %v, want that the archive is shared", name, err)
		}
		mustBe(t, err, fault.Fenced, "another id", "1/3")
	}
	mustSay(t, db, rowsQuery, before)
}

func refusesNoLiveTarget(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"restoring", "held", "fenced"} {
		db := postgrestest.Live(t, "UPDATE tidemark.target SET state = '"+state+"'")
		_, err := record(t, db).Begin(t.Context(), request(noon()))
		mustBe(t, err, fault.Fenced, "is "+state)
		mustSay(t, db, rowsQuery, "")
	}
	db := postgrestest.Empty(t)
	db.Migrate(t)
	_, err := record(t, db).Begin(t.Context(), request(noon()))
	mustBe(t, err, fault.Fenced, "is new", "run: tidemark init")

	db = postgrestest.Live(t, "")
	q := request(noon())
	q.Target = "another"
	_, err = record(t, db).Begin(t.Context(), q)
	mustBe(t, err, fault.Misconfigured, "another", "TIDEMARK_TARGET_ID")
	if !errors.Is(err, apply.ErrOtherTarget) {
		t.Errorf("got %v, want ErrOtherTarget", err)
	}
	mustSay(t, db, rowsQuery, "")
}

// The archive is asked before the lock: what it said of one life says nothing of the next.
func refusesAnotherLife(t *testing.T) {
	t.Parallel()
	for change, class := range map[string]fault.Class{
		"lineage = 2, incarnation = gen_random_uuid()": fault.Retryable, "state = 'fenced'": fault.Fenced,
	} {
		db := postgrestest.Live(t, "")
		q := request(noon())
		q.Newest = func(ctx context.Context, _ position.Lineage) (int64, manifest.RunID, error) {
			_, err := db.Conn.Exec(ctx, "UPDATE tidemark.target SET "+change)
			return 0, "", err
		}
		_, err := record(t, db).Begin(t.Context(), q)
		mustBe(t, err, class)
		mustSay(t, db, rowsQuery, "")
	}
}

func asksForMigrate(t *testing.T) {
	t.Parallel()
	_, err := record(t, postgrestest.Empty(t)).Begin(t.Context(), request(noon()))
	mustBe(t, err, fault.Misconfigured, "run: tidemark migrate")
	db := postgrestest.Live(t, "DELETE FROM tidemark.schema_version WHERE version_id > 2")
	_, err = record(t, db).Begin(t.Context(), request(noon()))
	mustBe(t, err, fault.Misconfigured, "version 2", "run: tidemark migrate")
	db = postgrestest.Live(t, "INSERT INTO tidemark.schema_version (version_id, is_applied) VALUES (99, true)")
	_, err = record(t, db).Begin(t.Context(), request(noon()))
	mustBe(t, err, fault.Misconfigured, "version 99", "deploy a release")
}

// A role of its own needs these rights and no others.
func needsFewRights(t *testing.T) {
	t.Parallel()
	db := postgrestest.Live(t, "")
	address, err := url.Parse(db.URL)
	if err != nil {
		t.Fatal("the test's address is no URL")
	}
	role := "backup_" + strings.TrimPrefix(address.Path, "/tidemark_test_")
	db.Exec(t, "CREATE ROLE "+role+" LOGIN PASSWORD 'x'; GRANT USAGE ON SCHEMA tidemark TO "+role+
		"; GRANT SELECT ON tidemark.schema_version, tidemark.target TO "+role)
	t.Cleanup(func() {
		if _, err := db.Conn.Exec(context.WithoutCancel(t.Context()), "DROP OWNED BY "+role+"; DROP ROLE "+role); err != nil {
			t.Errorf("drop the role: %v", err)
		}
	})
	address.User = url.UserPassword(role, "x")
	r := record(t, &postgrestest.Database{URL: address.String()})
	_, err = r.Begin(t.Context(), request(noon()))
	mustBe(t, err, fault.Misconfigured, "42501", "grant")
	db.Exec(t, "GRANT SELECT, INSERT, UPDATE, DELETE ON tidemark.backup_run TO "+role)
	claim := mustBegin(t, r, request(noon()))
	_, err = r.Begin(t.Context(), request(noon()))
	mustBe(t, err, fault.Retryable, claim.Run().RunID.String(), "held by session")
	mustFinish(t, claim, "done")
}

func tellsOfAStuckRun(t *testing.T) {
	t.Parallel()
	db := postgrestest.Live(t, "")
	r := record(t, db)
	run := mustBegin(t, r, request(noon())).Run()
	endHolder(t, db)
	db.Exec(t, "UPDATE tidemark.backup_run SET started_at = now() - interval '12 hours 1 minute'")
	holder, err := pgx.Connect(t.Context(), db.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = holder.Close(t.Context()) }() // the database is dropped with its sessions
	if _, err := holder.Exec(t.Context(), "BEGIN"); err != nil {
		t.Fatal(err)
	}
	if _, err := holder.Exec(t.Context(), "SELECT FROM tidemark.backup_run FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	_, err = r.Begin(t.Context(), request(noon()))
	mustBe(t, err, fault.Retryable, "stuck", "12 hours", run.RunID.String(),
		"pg_terminate_backend("+strconv.FormatUint(uint64(holder.PgConn().PID()), 10)+")")
	if !errors.Is(err, backup.ErrRunning) {
		t.Errorf("got %v, want ErrRunning", err)
	}
}

func passesOnTheArchivesError(t *testing.T) {
	t.Parallel()
	db := postgrestest.Live(t, "")
	for _, class := range []fault.Class{fault.Misconfigured, fault.Corrupt, fault.Retryable, fault.Unclassified} {
		q := request(noon())
		away := errors.New("the bucket is away")
		q.Newest = func(context.Context, position.Lineage) (int64, manifest.RunID, error) {
			if class == fault.Unclassified {
				return 0, "", away
			}
			return 0, "", fault.Wrap(class, away)
		}
		_, err := record(t, db).Begin(t.Context(), q)
		if !errors.Is(err, away) || fault.ClassOf(err) != class {
			t.Errorf("got %v (%s), want the archive's %s", err, fault.ClassOf(err), class)
		}
	}
	mustSay(t, db, rowsQuery, "")
}
