package target_test

import (
	"context"
	"testing"
	"time"

	"tidemark/shared/apply"
	"tidemark/shared/apply/applytest"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/postgres/target"
	"tidemark/shared/record"
)

// TestPartitionLock is about two appliers that hold one partition at once (A4): one waits on the row, then skips.
func TestPartitionLock(t *testing.T) {
	t.Parallel()
	for name, early := range map[string]position.Offset{"WithoutARow": 0, "WithARow": 2} {
		t.Run("TheSecondWaitsThenSkips/"+name, func(t *testing.T) {
			t.Parallel()
			s, run := open(t, "", target.Options{}), items(early, early+5, "first")
			if early > 0 {
				s.bench(apply.Options{}).MustDeliver(applytest.Want{Applied: int(early), Next: at0(early)}, items(0, early, "early"))
			}
			second := on(t, s.db, target.Options{}).bench(apply.Options{})
			outcomes := make(chan apply.Outcome, 1)
			first := s.between(func() {
				go func() {
					outcome, err := second.Deliver(items(early, early+5, "second"))
					if err != nil {
						t.Errorf("the second applier: %v", err)
					}
					outcomes <- outcome
				}()
				s.awaitWaiter()
			})
			first.MustDeliver(applytest.Want{Applied: 5, Next: at0(early + 5)}, run)
			second.Check(applytest.Want{Skipped: 5, Next: at0(early + 5)}, <-outcomes, nil)
			first.MustStand(at0(early+5), applytest.RowsOf(items(0, early, "early"), run))
		})
		t.Run("TheSecondGoesOnWhenTheFirstDies/"+name, func(t *testing.T) {
			t.Parallel()
			s, run := open(t, "", target.Options{}), items(early, early+5, "second")
			if early > 0 {
				s.bench(apply.Options{}).MustDeliver(applytest.Want{Applied: int(early), Next: at0(early)}, items(0, early, "early"))
			}
			ctx := within(t, patience)
			if _, err := s.Begin(ctx, apply.Opening{Flow: applytest.Flow, Partitions: []position.Partition{applytest.P(0)}}); err != nil {
				t.Fatalf("begin the first: %v", err)
			}
			second := on(t, s.db, target.Options{}).bench(apply.Options{})
			outcomes := make(chan apply.Outcome, 1)
			go func() {
				outcome, err := second.Deliver(run)
				if err != nil {
					t.Errorf("the second applier: %v", err)
				}
				outcomes <- outcome
			}()
			s.awaitWaiter()
			s.endSessions("idle in transaction")
			second.Check(applytest.Want{Applied: 5, Next: at0(early + 5)}, <-outcomes, nil)
			second.MustStand(at0(early+5), applytest.RowsOf(items(0, early, "early"), run))
		})
	}
	// Begin states its isolation: under a stricter one the second would fail where it has to skip.
	t.Run("TheDefaultIsolationOfTheDatabaseDoesNotMatter", func(t *testing.T) {
		t.Parallel()
		s := open(t, "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = serializable',"+
			" current_database()); END $$", target.Options{Connections: 2})
		run := items(0, 3, "a")
		done := make(chan struct{})
		b := s.between(func() {
			go func() {
				defer close(done)
				s.bench(apply.Options{}).MustDeliver(applytest.Want{Skipped: 3, Next: at0(3)}, run)
			}()
			s.awaitWaiter()
		})
		b.MustDeliver(applytest.Want{Applied: 3, Next: at0(3)}, run)
		<-done
	})
	t.Run("RowsAreLockedInOrder", func(t *testing.T) {
		t.Parallel()
		s := open(t, "", target.Options{})
		for _, n := range []int32{2, 1, 0} { // the table's own order is the other way round
			s.bench(apply.Options{}).MustDeliver(applytest.Want{Applied: 1, Next: position.Cut{applytest.P(n): 1}},
				applytest.Items(applytest.P(n), span(0, 1), "a"))
		}
		other, ended := s.session(), make(chan struct{})
		const lock = "SELECT 1 FROM tidemark.checkpoint WHERE partition = "
		other.Exec(t, "BEGIN; "+lock+"1 FOR UPDATE")
		b := s.bench(apply.Options{})
		go func() {
			defer close(ended)
			var batch record.Batch
			for n := range int32(3) {
				batch = append(batch, applytest.Items(applytest.P(n), span(1, 2), "a"))
			}
			if outcome, err := b.Deliver(batch...); err != nil || outcome.Applied() != 3 {
				t.Errorf("got %v and error %v, want 3 applied", outcome, err)
			}
		}()
		s.awaitWaiter()
		if got := s.db.Copy(t, "SELECT partition FROM tidemark.checkpoint ORDER BY 1 FOR UPDATE SKIP LOCKED"); got != "2\n" {
			t.Errorf("an applier that waits for partition 1 leaves free %q, want 2 alone", got)
		}
		other.Exec(t, "COMMIT")
		<-ended
	})
	// Partitions come in any order and are locked in one, so no two appliers wait for each other in a circle.
	t.Run("AppliersOfTheSamePartitionsNeverDeadlock", func(t *testing.T) {
		t.Parallel()
		s := open(t, "", target.Options{Connections: 8})
		var batch record.Batch
		for n := range int32(8) {
			batch = append(batch, applytest.Items(applytest.P(n), span(0, 6), "a"))
		}
		outcomes := make(chan apply.Outcome, 4)
		for n := range cap(outcomes) {
			b := s.bench(apply.Options{MaxRows: 5 + n})
			go func() {
				outcome, err := b.Deliver(batch...)
				if err != nil {
					t.Errorf("apply: %v", err)
				}
				outcomes <- outcome
			}()
		}
		applied, skipped := 0, 0
		for range cap(outcomes) {
			outcome := <-outcomes
			applied, skipped = applied+outcome.Applied(), skipped+outcome.Skipped()
		}
		if applied != 48 || skipped != 3*48 {
			t.Errorf("four appliers applied %d and skipped %d records, want 48 and 144", applied, skipped)
		}
	})
}

// TestTimeLimits is about locks and statements that take too long, and about who loses a deadlock.
func TestTimeLimits(t *testing.T) {
	t.Parallel()
	run := items(0, 3, "a")
	t.Run("AHeldCheckpointIsRetryableBeforeTheDeadline", func(t *testing.T) {
		t.Parallel()
		s := open(t, "", target.Options{})
		b := s.bench(apply.Options{})
		b.MustDeliver(applytest.Want{Applied: 3, Next: at0(3)}, run)
		s.session().Exec(t, "BEGIN; SELECT 1 FROM tidemark.checkpoint FOR UPDATE")
		ctx := within(t, 2*time.Second)
		outcome, err := b.Apply(ctx, record.Batch{items(3, 4, "b")})
		if ctx.Err() != nil {
			t.Error("the call outlived its deadline")
		}
		b.Check(applytest.Want{Class: fault.Retryable, Next: at0(3)}, outcome, err)
		mustBe(t, err, fault.Retryable, "55P03")
	})
	t.Run("ASlowStatementIsRetryable", func(t *testing.T) {
		t.Parallel()
		// A clock that is ahead leaves the server less time than the client.
		s := open(t, slowDDL, target.Options{Now: func() time.Time { return time.Now().Add(patience / 2) }})
		b := s.bench(apply.Options{})
		slow := items(0, 1, "slow")
		outcome, err := b.Apply(within(t, patience/2+500*time.Millisecond), record.Batch{slow})
		b.Check(applytest.Want{Class: fault.Retryable, Next: at0(0)}, outcome, err)
		mustBe(t, err, fault.Retryable, "57014")
		b.MustStand(position.Cut{}, map[string]string{})
		b.MustDeliver(applytest.Want{Applied: 3, Next: at0(3)}, run)
	})
	t.Run("ACallThatIsOverBeginsNothing", func(t *testing.T) {
		t.Parallel()
		s := open(t, "", target.Options{})
		b := s.bench(apply.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		outcome, err := b.Apply(ctx, record.Batch{run})
		b.Check(applytest.Want{Class: fault.Retryable, Next: at0(0)}, outcome, err)
		b.MustStand(position.Cut{}, map[string]string{})
	})
	t.Run("TheLoserOfADeadlockIsRetryable", func(t *testing.T) {
		t.Parallel()
		s := open(t, "", target.Options{})
		s.db.Exec(t, "INSERT INTO item VALUES ('orders/0/0', 'old'), ('orders/0/2', 'old');"+
			"DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET deadlock_timeout = ''2s''', current_database()); END $$")
		other, done := s.session(), make(chan struct{})
		other.Exec(t, "SET deadlock_timeout = '1h'; BEGIN; UPDATE item SET body = 'other' WHERE id = 'orders/0/2'")
		b := s.bench(apply.Options{})
		go func() {
			defer close(done)
			s.awaitWaiter() // the applier has row 0 and waits for row 2
			other.Exec(t, "UPDATE item SET body = 'other' WHERE id = 'orders/0/0'; COMMIT")
		}()
		err := b.MustFail(applytest.Want{Class: fault.Retryable, Next: at0(0)}, run)
		mustBe(t, err, fault.Retryable, "40P01")
		<-done
		b.MustDeliver(applytest.Want{Applied: 3, Next: at0(3)}, run)
		b.MustStand(at0(3), applytest.RowsOf(run))
	})
	for _, state := range []string{"40001", "53300", "57P03", "08006", "55P03", "25006"} {
		t.Run("WhatWillPassIsRetryableAndNotHalved/"+state, func(t *testing.T) {
			t.Parallel()
			s := open(t, raisingDDL, target.Options{})
			b := s.bench(apply.Options{})
			bad := items(0, 3, "a")
			bad.Records[2].Value = applytest.Item("raise", state)
			b.MustDeliver(applytest.Want{Class: fault.Retryable, Next: at0(0)}, bad)
			b.MustStand(position.Cut{}, map[string]string{})
		})
	}
}

// slowDDL makes a row with the body slow take longer than any call.
const slowDDL = "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(60); RETURN NEW; END $$;" +
	"CREATE TRIGGER slow BEFORE INSERT ON item FOR EACH ROW WHEN (NEW.body = 'slow') EXECUTE FUNCTION slow()"

// raisingDDL makes the row with the id raise raise the SQLSTATE that its body names.
const raisingDDL = "CREATE FUNCTION raise_it() RETURNS trigger LANGUAGE plpgsql AS" +
	" $$ BEGIN RAISE EXCEPTION 'the payload %', NEW.body USING ERRCODE = NEW.body; END $$;" +
	"CREATE TRIGGER raise_it BEFORE INSERT ON item FOR EACH ROW WHEN (NEW.id = 'raise') EXECUTE FUNCTION raise_it()"
