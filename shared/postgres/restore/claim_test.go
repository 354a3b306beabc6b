package restore_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"tidemark/shared/apply"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/postgres/restore"
	applying "tidemark/shared/postgres/target"
	"tidemark/shared/recovery"
)

func TestLook(t *testing.T) {
	t.Parallel()
	for name, ddl := range map[string]string{
		"FindsNothing": "", "WithoutASchemaPublic": "DROP SCHEMA public", "LeavesExtensionsAlone": "CREATE EXTENSION hstore; CREATE EXTENSION btree_gist",
		"LeavesTemporariesAlone": "CREATE TEMPORARY TABLE passing (a serial PRIMARY KEY)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, d := target(t, restore.Options{})
			db.Exec(t, ddl)
			found, err := d.Look(t.Context())
			if diff := cmp.Diff(recovery.Found{}, found); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
	for what, ddl := range map[string]string{
		"table public.t": "CREATE TABLE t (a serial PRIMARY KEY)", "view public.v": "CREATE VIEW v AS SELECT 1 AS one",
		"materialized view public.m": "CREATE MATERIALIZED VIEW m AS SELECT 1 AS one", "sequence public.s": "CREATE SEQUENCE s",
		"type public.e": "CREATE TYPE e AS ENUM ()", "type public.d": "CREATE DOMAIN d AS integer",
		"type public.c": "CREATE TYPE c AS (a integer)", "type public.r": "CREATE TYPE r AS RANGE (SUBTYPE = date)",
		"function public.f()": "CREATE FUNCTION f() RETURNS integer LANGUAGE sql AS 'SELECT 1'", "schema s": "CREATE SCHEMA s",
		"collation public.k": `CREATE COLLATION k FROM "C"`, "publication p": "CREATE PUBLICATION p",
		"foreign-data wrapper w": "CREATE FOREIGN DATA WRAPPER w", "large object 77": "SELECT lo_create(77)",
		"operator public.#+#(integer,integer)": "CREATE OPERATOR #+# (LEFTARG = integer, RIGHTARG = integer, FUNCTION = int4pl)",
		"text search dictionary public.t":      "CREATE TEXT SEARCH DICTIONARY t (TEMPLATE = simple)",
	} {
		t.Run("RefusesA "+what, func(t *testing.T) {
			t.Parallel()
			db, d := target(t, restore.Options{})
			db.Exec(t, ddl)
			before := read(t, db)
			_, err := d.Look(t.Context())
			claimErr := d.Claim(t.Context(), tryOf(runID))
			for _, err := range []error{err, claimErr} {
				refusedAs(t, err, fault.Misconfigured, what)
				if !errors.Is(err, recovery.ErrNotEmpty) {
					t.Errorf("got %v, want ErrNotEmpty", err)
				}
			}
			sameSchema(t, before, db)
		})
	}
	t.Run("RefusesANewLedger", func(t *testing.T) {
		t.Parallel()
		db, d := target(t, restore.Options{})
		db.Migrate(t)
		if _, err := d.Look(t.Context()); !errors.Is(err, recovery.ErrNotEmpty) {
			t.Errorf("got %v, want ErrNotEmpty", err)
		}
	})
	t.Run("RefusesALiveTarget", func(t *testing.T) {
		t.Parallel()
		if _, err := at(t, postgrestest.Live(t, ""), restore.Options{}).Look(t.Context()); !errors.Is(err, recovery.ErrNotEmpty) {
			t.Errorf("got %v, want ErrNotEmpty", err)
		}
	})
}

// TestLife follows a try from an empty database to its end.
func TestLife(t *testing.T) {
	t.Parallel()
	original := postgrestest.Live(t, "CREATE TABLE t (a integer PRIMARY KEY); INSERT INTO t VALUES (1)")
	fillLedger(t, original)
	base, _ := baseOf(t, original, 10)
	db, d := target(t, restore.Options{})
	try := tryOf(runID)
	see := func(restored, settled bool) {
		t.Helper()
		got, err := d.Look(t.Context())
		want := recovery.Found{Try: &try, Restored: restored, Settled: settled}
		if settled {
			want.State = apply.StateHeld
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("look: %v (-want +got):\n%s", err, diff)
		}
	}
	end := recovery.Settlement{Try: try, State: apply.StateHeld, Report: map[string]any{"applied": 3}}
	if _, err := d.Restore(t.Context(), base); !fault.Is(err, fault.Bug) {
		t.Errorf("restored without a claim: %v", err)
	}
	claimed(t, d)
	see(false, false)
	refusedAs(t, d.Settle(t.Context(), end), fault.Bug, "not in")
	restored(t, d, base)
	see(true, false)
	cut, err := d.Positions(t.Context(), "shop")
	want := position.Cut{}
	for n := range int32(3) {
		want[position.Partition{Topic: "orders", Number: n}] = position.Offset(100 + n)
	}
	if diff := cmp.Diff(want, cut); diff != "" || err != nil {
		t.Errorf("positions: %v (-want +got):\n%s", err, diff)
	}
	for range 2 { // the second changes nothing
		if err := d.Settle(t.Context(), end); err != nil {
			t.Fatalf("settle: %v", err)
		}
		see(true, true)
		end.State = apply.StateLive
	}
	if got, want := life(t, db), "test-target\t"+newLife+"\t2\theld"; got != want {
		t.Errorf("life %q, want %q", got, want)
	}
	const audit = `ops	recover	{"state": "restoring"}	{"state": "held", "report": {"applied": 3}}	` + runID + "\n"
	if got := db.Copy(t, "SELECT actor, act, before, after, arguments ->> 'run_id' FROM tidemark.audit WHERE act = 'recover'"); got != audit {
		t.Errorf("audit %q, want %q", got, audit)
	}
	if got := db.Copy(t, "SELECT nspname FROM pg_namespace WHERE nspname ~ 'recovery'"); got != "" {
		t.Errorf("left schema %q", got)
	}
	other := end
	other.Try.RunID = otherRun
	refusedAs(t, d.Settle(t.Context(), other), fault.Fenced, runID)
	refusedAs(t, d.Claim(t.Context(), tryOf(otherRun)), fault.Fenced, runID)
	db.Exec(t, "UPDATE tidemark.target SET incarnation = gen_random_uuid()") // it lives on, in another life
	if _, err := d.Look(t.Context()); !errors.Is(err, recovery.ErrNotEmpty) {
		t.Errorf("got %v, want ErrNotEmpty", err)
	}
}

func TestClaim(t *testing.T) {
	t.Parallel()
	t.Run("IsWonByOne", func(t *testing.T) {
		t.Parallel()
		_, d := target(t, restore.Options{LockTimeout: patience})
		errs := make([]error, 4)
		var group errgroup.Group
		for i, run := range []recovery.Try{tryOf(runID), tryOf(otherRun), tryOf(backupRun), tryOf(newLife)} {
			group.Go(func() error { errs[i] = d.Claim(t.Context(), run); return nil })
		}
		_ = group.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
				continue
			}
			if !errors.Is(err, recovery.ErrNotEmpty) || !fault.Is(err, fault.Fenced) {
				t.Errorf("got %v of class %s, want ErrNotEmpty and fenced", err, fault.ClassOf(err))
			}
		}
		if won != 1 {
			t.Errorf("%d claims won, want 1", won)
		}
	})
	t.Run("IsRepeatedByTheSameTry", func(t *testing.T) {
		t.Parallel()
		db, d := target(t, restore.Options{})
		claimed(t, d)
		claimed(t, d)
		if got := life(t, db); got != restoringLife {
			t.Errorf("life %q, want %q", got, restoringLife)
		}
		changed := tryOf(runID)
		changed.Statement = "0" + changed.Statement[1:]
		refusedAs(t, d.Claim(t.Context(), changed), fault.Bug, runID)
	})
	t.Run("RefusesATryWithoutALife", func(t *testing.T) {
		t.Parallel()
		db, d := target(t, restore.Options{})
		try := tryOf(runID)
		try.Incarnation = ""
		refusedAs(t, d.Claim(t.Context(), try), fault.Bug)
		if got := read(t, db).Tables; len(got) > 0 {
			t.Errorf("tables %v", got)
		}
	})
	t.Run("KeepsApplyOut", func(t *testing.T) {
		t.Parallel()
		original := postgrestest.Live(t, "")
		fillLedger(t, original)
		base, _ := baseOf(t, original, 10)
		db, d := target(t, restore.Options{})
		claimed(t, d)
		if _, err := opened(t, db); !fault.Is(err, fault.Misconfigured) {
			t.Errorf("apply began in a claimed database: %v", err)
		}
		restored(t, d, base)
		ledger, err := opened(t, db)
		if err != nil || ledger.State != apply.StateRestoring || ledger.Incarnation != newLife {
			t.Errorf("apply sees %+v, %v, want the next life, restoring", ledger, err)
		}
		for at, c := range ledger.Checkpoints {
			if c.Incarnation != newLife || c.Next != 100 || at.Number != 0 {
				t.Errorf("checkpoint %s: %+v", at, c)
			}
		}
	})
}

// opened begins a transaction of apply and says what it sees.
func opened(t *testing.T, db *postgrestest.Database) (apply.Ledger, error) {
	t.Helper()
	to, err := applying.New(applying.Options{Database: db.URL, Flow: "shop", Now: time.Now})
	if err != nil {
		t.Fatalf("open the target: %v", err)
	}
	defer to.Close(t.Context())
	tx, err := to.Begin(t.Context(), apply.Opening{Flow: "shop", Partitions: []position.Partition{{Topic: "orders"}}})
	if err != nil {
		return apply.Ledger{}, err
	}
	defer tx.Rollback(t.Context())
	return tx.Ledger(), nil
}
