package apply_test

import (
	"context"
	"errors"
	"testing"

	"tidemark/shared/apply"
	"tidemark/shared/apply/applytest"
	"tidemark/shared/fault"
	"tidemark/shared/position"
)

var errLost = errors.New("the reply was lost")

func lost() error { return fault.New(fault.UnknownOutcome, "commit: %w", errLost) }

// once returns a fault that strikes the first time it is asked.
func once[T any](err error) func(T) error {
	struck := false
	return func(T) error {
		if struck {
			return nil
		}
		struck = true
		return err
	}
}

// TestUnknownOutcome: a commit without a reply is decided by the ledger, and only by the ledger (A14).
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	run := items(0, 0, 5)
	applied := applytest.Want{Applied: 5, Next: position.Cut{p(0): 5}}
	skipped := applytest.Want{Skipped: 5, Next: position.Cut{p(0): 5}}
	nothing := func(class fault.Class) applytest.Want {
		return applytest.Want{Class: class, Next: position.Cut{p(0): 0}}
	}

	t.Run("IsAppliedWhenTheLedgerSaysSo", func(t *testing.T) {
		t.Parallel()
		m := applytest.NewMemory()
		m.Fail(applytest.Faults{Reply: once[apply.Work](lost())})
		b := applytest.NewBench(t, m, apply.Options{})
		b.MustDeliver(applied, run)
		b.MustStand(position.Cut{p(0): 5}, applytest.RowsOf(run))
		b.MustDeliver(skipped, run)
	})
	t.Run("IsRetryableWhenTheLedgerSaysNotApplied", func(t *testing.T) {
		t.Parallel()
		m := applytest.NewMemory()
		m.Fail(applytest.Faults{Commit: once[apply.Work](lost())})
		b := applytest.NewBench(t, m, apply.Options{})
		if err := b.MustFail(nothing(fault.Retryable), run); !errors.Is(err, errLost) {
			t.Errorf("got error %v, want its cause kept", err)
		}
		b.MustDeliver(applied, run)
	})
	t.Run("StaysUnknownWhenTheLedgerCannotBeAsked", func(t *testing.T) {
		t.Parallel()
		for _, class := range []fault.Class{fault.Retryable, fault.Misconfigured, fault.Unclassified} {
			m := applytest.NewMemory()
			m.Fail(applytest.Faults{
				Reply: once[apply.Work](lost()),
				Begin: func(apply.Opening) error {
					if len(m.Commits()) > 0 {
						return fault.New(class, "away")
					}
					return nil
				},
			})
			b := applytest.NewBench(t, m, apply.Options{})
			b.MustDeliver(nothing(fault.UnknownOutcome), run)
			m.Fail(applytest.Faults{})
			b.MustDeliver(skipped, run)
		}
	})
	t.Run("StaysUnknownWhenTheLedgersWordIsNotCommitted", func(t *testing.T) {
		t.Parallel()
		for _, err := range []error{lost(), fault.New(fault.Retryable, "away"), errLost} {
			m := applytest.NewMemory()
			m.Fail(applytest.Faults{
				Reply: once[apply.Work](lost()),
				Commit: func(work apply.Work) error {
					if len(work.Advances) == 0 {
						return err
					}
					return nil
				},
			})
			b := applytest.NewBench(t, m, apply.Options{})
			b.MustDeliver(nothing(fault.UnknownOutcome), run)
			m.Fail(applytest.Faults{})
			b.MustDeliver(skipped, run)
		}
	})
	t.Run("IsFencedWhenAnotherLifeAnswers", func(t *testing.T) {
		t.Parallel()
		m := applytest.NewMemory()
		m.Fail(applytest.Faults{Reply: func(apply.Work) error {
			m.Fail(applytest.Faults{})
			m.SetLife(applytest.Life{TargetID: applytest.TargetID, Incarnation: anotherLife, State: apply.StateLive})
			return lost()
		}})
		b := applytest.NewBench(t, m, apply.Options{})
		b.MustDeliver(nothing(fault.Fenced), run)
		b.MustDeliver(skipped, run) // the recovery took the rows along
	})
	t.Run("StopsNoOtherTransactionOfTheCall", func(t *testing.T) {
		t.Parallel()
		m := applytest.NewMemory()
		m.Fail(applytest.Faults{Commit: once[apply.Work](lost())})
		b := applytest.NewBench(t, m, apply.Options{MaxRows: 5})
		want := applytest.Want{Class: fault.Retryable, Applied: 5, Next: position.Cut{p(0): 0, p(1): 5}}
		b.MustDeliver(want, run, items(1, 0, 5))
	})
	t.Run("IsDecidedForEveryPartitionOfTheTransaction", func(t *testing.T) {
		t.Parallel()
		m := applytest.NewMemory()
		m.Fail(applytest.Faults{Reply: once[apply.Work](lost())})
		b := applytest.NewBench(t, m, apply.Options{})
		b.MustDeliver(applytest.Want{Applied: 8, Next: position.Cut{p(0): 5, p(1): 3}}, run, items(1, 0, 3))
	})
	t.Run("NeverCountsASkipBesideItAsLess", func(t *testing.T) {
		t.Parallel()
		m := applytest.NewMemory()
		b := applytest.NewBench(t, m, apply.Options{})
		b.MustDeliver(applytest.Want{Applied: 2, Next: position.Cut{p(0): 2}}, items(0, 0, 2))
		m.Fail(applytest.Faults{Reply: once[apply.Work](lost())})
		b.MustDeliver(applytest.Want{Applied: 3, Skipped: 2, Next: position.Cut{p(0): 5}}, run)
	})
}

const anotherLife position.Incarnation = "00000000-0000-4000-8000-00000000000f"

// altered is a target whose ledger says something else than it should.
type altered struct {
	*applytest.Memory

	alter func(*apply.Ledger)
}

func (a *altered) Begin(ctx context.Context, opening apply.Opening) (apply.Transaction, error) {
	tx, err := a.Memory.Begin(ctx, opening)
	if err != nil {
		return nil, err
	}
	ledger := tx.Ledger()
	a.alter(&ledger)
	return &alteredTransaction{Transaction: tx, ledger: ledger}, nil
}

type alteredTransaction struct {
	apply.Transaction

	ledger apply.Ledger
}

func (a *alteredTransaction) Ledger() apply.Ledger { return a.ledger }

// TestLedger is about what the ledger may say under the locks.
func TestLedger(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		class fault.Class
		alter func(*apply.Ledger)
	}{
		{"FewerRowsThanPartitionsAreABug", fault.Bug, func(l *apply.Ledger) { delete(l.Checkpoints, p(1)) }},
		{"ACheckpointOfAnotherLifeIsFenced", fault.Fenced, func(l *apply.Ledger) {
			c := l.Checkpoints[p(1)]
			c.Incarnation = anotherLife
			l.Checkpoints[p(1)] = c
		}},
		{"AStateOfALaterReleaseIsMisconfigured", fault.Misconfigured, func(l *apply.Ledger) { l.State = "resting" }},
		{"AnotherTargetIsMisconfigured", fault.Misconfigured, func(l *apply.Ledger) { l.TargetID = "another" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := &altered{applytest.NewMemory(), c.alter}
			b := applytest.NewBench(t, m, apply.Options{})
			b.MustDeliver(applytest.Want{Class: c.class, Next: position.Cut{p(0): 0, p(1): 0}}, items(0, 0, 3), items(1, 0, 3))
			b.MustStand(position.Cut{}, map[string]string{})
		})
	}
	t.Run("AnotherTargetIsKnownByItsError", func(t *testing.T) {
		t.Parallel()
		m := applytest.NewMemory()
		m.SetLife(applytest.Life{TargetID: "another", Incarnation: applytest.FirstLife, State: apply.StateLive})
		_, err := applytest.NewBench(t, m, apply.Options{}).Deliver(items(0, 0, 3))
		if !errors.Is(err, apply.ErrOtherTarget) || fault.HintOf(err) == "" {
			t.Errorf("got %v, want ErrOtherTarget and a hint", err)
		}
	})
	// A16: whatever shows that the target lives another life makes the environment forget what it believed.
	for _, c := range []struct {
		name string
		show func(*applytest.Memory) apply.Target
	}{
		{"TheTargetRow", func(m *applytest.Memory) apply.Target {
			m.SetLife(applytest.Life{TargetID: applytest.TargetID, Incarnation: applytest.FirstLife, State: apply.StateHeld})
			return m
		}},
		{"ACheckpointRow", func(m *applytest.Memory) apply.Target {
			return &altered{m, func(l *apply.Ledger) { l.Checkpoints[p(0)] = apply.Checkpoint{Incarnation: anotherLife} }}
		}},
		{"TheLastStatement", func(m *applytest.Memory) apply.Target {
			m.Fail(applytest.Faults{Commit: func(apply.Work) error { return fault.New(fault.Fenced, "not live") }})
			return m
		}},
	} {
		t.Run("AFenceDropsWhatWasCached/"+c.name, func(t *testing.T) {
			t.Parallel()
			m := applytest.NewMemory()
			applier, err := apply.New(c.show(m), applytest.Decoder{Catalog: m}, apply.Options{
				Flow: applytest.Flow, TargetID: applytest.TargetID, Topics: []string{applytest.Topic}, Now: clock,
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := applier.Apply(t.Context(), batch(items(0, 0, 3))); !fault.Is(err, fault.Fenced) {
				t.Errorf("got %v, want fenced", err)
			}
			if m.Forgotten() == 0 {
				t.Error("the catalog is still believed")
			}
		})
	}
}
