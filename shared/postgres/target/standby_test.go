package target_test

import (
	"testing"
	"time"

	"tidemark/shared/apply"
	"tidemark/shared/apply/applytest"
	"tidemark/shared/fault"
	"tidemark/shared/record"
)

// TestStandby is about a server that must not confirm a commit before a standby has it, while the standby is away (A14).
func TestStandby(t *testing.T) {
	t.Parallel()
	run := items(0, 3, "a")
	// away is a bench on such a server; reading and changing it from the test waits for nobody.
	away := func(t *testing.T) (*applytest.Bench, *subject) {
		t.Helper()
		_, s := ownServer(t)
		s.db.Exec(t, "SET synchronous_commit = local")
		b := s.bench(apply.Options{})
		b.MustDeliver(applytest.Want{Applied: 3, Next: at0(3)}, run)
		s.require("absent")
		s.awaitRequired()
		return b, s
	}
	t.Run("ACommitThatWaitsIsUnknownAndNeverCancelled", func(t *testing.T) {
		t.Parallel()
		b, s := away(t)
		outcome, err := b.Apply(within(t, time.Second), record.Batch{items(3, 6, "b")})
		b.Check(applytest.Want{Class: fault.UnknownOutcome, Next: at0(3)}, outcome, err)
		s.await(waits) // a cancelled COMMIT would have ended
		s.require("")
		b.MustDeliver(applytest.Want{Skipped: 3, Next: at0(6)}, items(3, 6, "b"))
		b.MustStand(at0(6), applytest.RowsOf(run, items(3, 6, "b")))
	})
	t.Run("ACommitThatGaveUpItsWaitIsUnknown", func(t *testing.T) {
		t.Parallel()
		b, s := away(t)
		go func() {
			other := s.session()
			other.Exec(t, "SET synchronous_commit = local")
			eventually(t, waits, func() bool { return other.Copy(t, waits) == "t\n" })
			other.Exec(t, cancel) // the server commits and warns; the ledger's answer then waits in turn
		}()
		outcome, err := b.Apply(within(t, 3*time.Second), record.Batch{items(3, 6, "b")})
		b.Check(applytest.Want{Class: fault.UnknownOutcome, Next: at0(3)}, outcome, err)
		s.require("")
		b.MustDeliver(applytest.Want{Skipped: 3, Next: at0(6)}, items(3, 6, "b"))
	})
	// The rows are here and the standby lacks them: to skip them is to call them applied, as much as a COMMIT is.
	t.Run("ASkipWaitsForTheStandbyToo", func(t *testing.T) {
		t.Parallel()
		b, s := away(t)
		tx, err := s.Begin(within(t, patience), apply.Opening{Flow: applytest.Flow, Partitions: at0(0).Partitions()})
		if err != nil {
			t.Fatalf("begin: %v", err)
		}
		committed := make(chan error, 1)
		go func() { committed <- tx.Commit(within(t, patience), b.Work(tx.Ledger().Incarnation, items(3, 6, "b"))) }()
		s.await(waits)
		s.db.Exec(t, cancel)
		if err := <-committed; !fault.Is(err, fault.UnknownOutcome) {
			t.Fatalf("a commit that gave up its wait: got %v, want unknown_outcome", err)
		}
		outcome, err := b.Apply(within(t, time.Second), record.Batch{items(3, 6, "b")})
		if err == nil || outcome.Next()[applytest.P(0)] != 3 {
			t.Errorf("got %v, error %v: called applied what only this server has", outcome, err)
		}
		s.require("")
		b.MustDeliver(applytest.Want{Skipped: 3, Next: at0(6)}, items(3, 6, "b"))
	})
}

// require names the standby that commits wait for, none when it is empty.
func (s *subject) require(standby string) {
	s.t.Helper()
	s.db.Exec(s.t, "ALTER SYSTEM SET synchronous_standby_names = '"+standby+"'")
	s.db.Exec(s.t, "SELECT pg_reload_conf()")
}

// awaitRequired returns when commits do wait, as a commit of its own shows.
func (s *subject) awaitRequired() {
	s.t.Helper()
	other := s.session()
	eventually(s.t, "commits that wait", func() bool {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			other.Exec(s.t, "SELECT pg_logical_emit_message(true, 'test', '')")
		}()
		for {
			select {
			case <-ended:
				return false
			default:
			}
			if s.db.Copy(s.t, waits) == "t\n" {
				s.db.Exec(s.t, cancel)
				<-ended
				return true
			}
		}
	})
}

const (
	waits  = "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
	cancel = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
)
