package applytest

import (
	"context"
	"errors"

	"tidemark/shared/apply"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/record"
)

// transactions are the exercises of one transaction, most of them without an applier between.
func transactions() []exercise {
	return []exercise{
		{"A3_RefusesAMoveFromAnotherPosition", refusesAMoveFromAnotherPosition},
		{"A3_RefusesAMoveOfAPartitionThatIsNotThere", refusesAMoveOfAStranger},
		{"A4_ASecondFirstContactWaitsAndSeesTheFirst", aSecondFirstContactWaits},
		{"A4_ASecondFirstContactGoesOnWhenTheFirstGivesUp", aSecondFirstContactGoesOn},
		{"A4_TwoAppliersApplyEachRecordOnce", twoAppliersApplyEachRecordOnce},
		{"L1_ARefusedRowTakesTheWholeTransactionWithIt", aRefusedRowTakesAllWithIt},
		{"L1_ARollbackLeavesNothing", aRollbackLeavesNothing},
		{"L2_RefusesAMoveThatDoesNotGoForward", refusesAMoveBack},
		{"L5_RefusesAnotherLife", refusesAnotherLife},
		{"AWaitForALockEndsWithItsContext", aWaitEndsWithItsContext},
	}
}

const anotherLife position.Incarnation = "00000000-0000-4000-8000-00000000000f"

// mustRefuse commits work and expects the class and a target where it was.
func (b *Bench) mustRefuse(class fault.Class, tx apply.Transaction, work apply.Work) {
	b.t.Helper()
	next, rows := b.Checkpoints(), b.Rows()
	if err := tx.Commit(b.t.Context(), work); !fault.Is(err, class) {
		b.t.Errorf("Commit: got %v (%s), want %s", err, fault.ClassOf(err), class)
	}
	b.MustStand(next, rows)
}

func refusesAMoveFromAnotherPosition(b *Bench) {
	run := Items(P(0), span(0, 5), "a")
	b.MustDeliver(Want{Applied: 5, Next: position.Cut{P(0): 5}}, run)
	for _, from := range []position.Offset{0, 4, 6} {
		tx := b.begin(P(0))
		b.mustRefuse(fault.Bug, tx, b.Work(tx.Ledger().Incarnation, Items(P(0), span(from, from+3), "wrong")))
	}
	b.MustDeliver(Want{Applied: 1, Next: position.Cut{P(0): 6}}, Items(P(0), span(5, 6), "right"))
}

func refusesAMoveOfAStranger(b *Bench) {
	tx := b.begin(P(0))
	work := b.Work(tx.Ledger().Incarnation, Items(P(0), span(0, 3), "a"))
	work.Advances = append(work.Advances, apply.Advance{Partition: P(9), Next: 1})
	b.mustRefuse(fault.Bug, tx, work)
}

func (b *Bench) beginLater(partition position.Partition) <-chan apply.Transaction {
	begun := make(chan apply.Transaction, 1)
	go func() {
		defer close(begun)
		ctx, cancel := context.WithTimeout(b.t.Context(), patience)
		defer cancel()
		tx, err := b.Begin(ctx, apply.Opening{Flow: Flow, Partitions: []position.Partition{partition}})
		if err != nil {
			b.t.Errorf("begin beside another: %v", err)
			return
		}
		begun <- tx
	}()
	return begun
}

func aSecondFirstContactWaits(b *Bench) {
	first, run := b.begin(P(0)), Items(P(0), span(0, 3), "a")
	begun := b.beginLater(P(0))
	if err := first.Commit(b.t.Context(), b.Work(first.Ledger().Incarnation, run)); err != nil {
		b.t.Fatalf("commit the first: %v", err)
	}
	second, ok := <-begun
	if !ok {
		return
	}
	if got := second.Ledger().Checkpoints[P(0)]; got.Next != 3 || !got.RecordTime.Equal(TimeOf(2)) {
		b.t.Errorf("the second sees %+v, want what the first committed", got)
	}
	second.Rollback(b.t.Context())
	b.MustStand(position.Cut{P(0): 3}, RowsOf(run))
}

func aSecondFirstContactGoesOn(b *Bench) {
	first := b.begin(P(0))
	begun := b.beginLater(P(0))
	first.Rollback(b.t.Context())
	second, ok := <-begun
	if !ok {
		return
	}
	ledger := second.Ledger()
	if got, ok := ledger.Checkpoints[P(0)]; !ok || got.Next != 0 || got.Incarnation != ledger.Incarnation {
		b.t.Errorf("the second sees %+v, %t, want a row of its own at 0", got, ok)
	}
	run := Items(P(0), span(0, 2), "a")
	if err := second.Commit(b.t.Context(), b.Work(ledger.Incarnation, run)); err != nil {
		b.t.Errorf("commit the second: %v", err)
	}
	b.MustStand(position.Cut{P(0): 2}, RowsOf(run))
}

func twoAppliersApplyEachRecordOnce(b *Bench) {
	run := Items(P(0), span(0, 20), "a")
	outcomes := make(chan apply.Outcome, 2)
	for range cap(outcomes) {
		beside := NewBench(b.t, b.Subject, apply.Options{MaxRows: 3})
		go func() {
			outcome, err := beside.Deliver(run)
			if err != nil {
				b.t.Errorf("apply beside another: %v", err)
			}
			outcomes <- outcome
		}()
	}
	one, two := <-outcomes, <-outcomes
	if applied, skipped := one.Applied()+two.Applied(), one.Skipped()+two.Skipped(); applied != 20 || skipped != 20 {
		b.t.Errorf("two appliers applied %d and skipped %d records, want 20 and 20", applied, skipped)
	}
	b.MustStand(position.Cut{P(0): 20}, RowsOf(run))
}

func aRefusedRowTakesAllWithIt(b *Bench) {
	early := Items(P(0), span(0, 1), "a")
	b.MustDeliver(Want{Applied: 1, Next: position.Cut{P(0): 1}}, early)
	tx, run := b.begin(P(0)), Items(P(0), span(1, 4), "b")
	run.Records[1].Value = Item("bad", Refused)
	err := tx.Commit(b.t.Context(), b.Work(tx.Ledger().Incarnation, run))
	if refused, ok := errors.AsType[*apply.WorkError](err); !ok || !fault.Is(refused, fault.Poison) {
		b.t.Errorf("Commit: got %v, want a WorkError of class poison", err)
	}
	b.MustStand(position.Cut{P(0): 1}, RowsOf(early))
}

func aRollbackLeavesNothing(b *Bench) {
	b.begin(P(0)).Rollback(b.t.Context())
	b.MustStand(position.Cut{}, map[string]string{})
	b.MustDeliver(Want{Applied: 1, Next: position.Cut{P(0): 1}}, Items(P(0), span(0, 1), "a"))
}

func refusesAMoveBack(b *Bench) {
	run := Items(P(0), span(0, 5), "a")
	b.MustDeliver(Want{Applied: 5, Next: position.Cut{P(0): 5}}, run)
	for _, next := range []position.Offset{0, 4, 5} {
		tx := b.begin(P(0))
		work := b.Work(tx.Ledger().Incarnation, Items(P(0), span(5, 6), "b"))
		work.Advances[0].Next = next
		b.mustRefuse(fault.Bug, tx, work)
	}
}

func refusesAnotherLife(b *Bench) {
	b.MustDeliver(Want{Applied: 1, Next: position.Cut{P(0): 1}}, Items(P(0), span(0, 1), "a"))
	b.mustRefuse(fault.Fenced, b.begin(P(0)), b.Work(anotherLife, Items(P(0), span(1, 3), "other")))
}

func aWaitEndsWithItsContext(b *Bench) {
	first := b.begin(P(0))
	ctx, cancel := context.WithCancel(b.t.Context())
	cancel()
	_, err := b.Apply(ctx, record.Batch{Items(P(0), span(0, 1), "a")})
	if !fault.Is(err, fault.Retryable) {
		b.t.Errorf("Apply: got %v (%s), want retryable", err, fault.ClassOf(err))
	}
	first.Rollback(b.t.Context())
	b.MustDeliver(Want{Applied: 1, Next: position.Cut{P(0): 1}}, Items(P(0), span(0, 1), "a"))
}

// lives are the exercises of who may write (A16).
func lives() []exercise {
	exercises := []exercise{
		{"A4_MakesNoCheckpointUnlessLive", makesNoCheckpointUnlessLive},
		{"A16_FencesAnotherLifeAndAdoptsItLater", adoptsAnotherLifeLater},
		{"A16_AppliesAgainWhenTheTargetIsLiveAgain", appliesAgainWhenLive},
	}
	for _, refusal := range []struct {
		name  string
		class fault.Class
		life  func(*Life)
	}{
		{"A16_RefusesANewTarget", fault.Misconfigured, func(l *Life) { l.State = apply.StateNew }},
		{"A16_RefusesARestoringTarget", fault.Fenced, func(l *Life) { l.State = apply.StateRestoring }},
		{"A16_RefusesAHeldTarget", fault.Fenced, func(l *Life) { l.State = apply.StateHeld }},
		{"A16_RefusesAFencedTarget", fault.Fenced, func(l *Life) { l.State = apply.StateFenced }},
		{"A16_RefusesAnotherTarget", fault.Misconfigured, func(l *Life) { l.TargetID = "another-target" }},
		{"A16_RefusesToApplyBesideParkedRecords", fault.Misconfigured, func(l *Life) { l.Parked = true }},
	} {
		exercises = append(exercises, exercise{refusal.name, func(b *Bench) { b.refuses(refusal.class, refusal.life) }})
	}
	return exercises
}

func (b *Bench) refuses(class fault.Class, alter func(*Life)) {
	b.t.Helper()
	early := Items(P(0), span(0, 2), "a")
	b.MustDeliver(Want{Applied: 2, Next: position.Cut{P(0): 2}}, early)
	life := b.Life()
	altered := life
	alter(&altered)
	b.SetLife(altered)
	for _, run := range []record.Run{early, Items(P(0), span(2, 4), "b"), Items(P(1), span(0, 2), "c")} {
		b.MustDeliver(Want{Class: class, Next: position.Cut{run.Partition: run.Records[0].Offset}}, run)
	}
	b.SetLife(life)
	if got := b.Checkpoints()[P(0)]; got != 2 || len(b.Rows()) != 2 {
		b.t.Errorf("the target stands at %s with rows %v, want what it had", got, b.Rows())
	}
}

func makesNoCheckpointUnlessLive(b *Bench) {
	life := b.Life()
	life.State = apply.StateHeld
	b.SetLife(life)
	tx := b.begin(P(0))
	if got := tx.Ledger(); len(got.Checkpoints) > 0 || got.State != apply.StateHeld {
		b.t.Errorf("the ledger of a held target says %+v", got)
	}
	if err := tx.Commit(b.t.Context(), apply.Work{Flow: Flow, Incarnation: life.Incarnation}); err != nil {
		b.t.Errorf("end a transaction that only asked: %v", err)
	}
	b.MustStand(position.Cut{}, map[string]string{})
}

func adoptsAnotherLifeLater(b *Bench) {
	early, run := Items(P(0), span(0, 2), "a"), Items(P(0), span(2, 4), "b")
	b.MustDeliver(Want{Applied: 2, Next: position.Cut{P(0): 2}}, early)
	life := b.Life()
	life.Incarnation = anotherLife
	b.SetLife(life)
	b.MustDeliver(Want{Class: fault.Fenced, Next: position.Cut{P(0): 2}}, run)
	b.MustStand(position.Cut{P(0): 2}, RowsOf(early))
	b.MustDeliver(Want{Applied: 2, Next: position.Cut{P(0): 4}}, run)
	b.MustStand(position.Cut{P(0): 4}, RowsOf(early, run))
}

func appliesAgainWhenLive(b *Bench) {
	run := Items(P(0), span(0, 2), "a")
	life := b.Life()
	for _, state := range []apply.State{apply.StateRestoring, apply.StateHeld, apply.StateLive} {
		life.State = state
		b.SetLife(life)
		if state != apply.StateLive {
			b.MustDeliver(Want{Class: fault.Fenced, Next: position.Cut{P(0): 0}}, run)
		}
	}
	b.MustDeliver(Want{Applied: 2, Next: position.Cut{P(0): 2}}, run)
	b.MustStand(position.Cut{P(0): 2}, RowsOf(run))
}
