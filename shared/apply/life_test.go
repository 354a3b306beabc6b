package apply_test

import (
	"testing"

	"tidemark/shared/apply"
	"tidemark/shared/apply/applytest"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/record"
)

// TestAnotherLife: a call that met another life writes nothing more (A16). What a recovery left must be read anew, and
// the rest of the delivery was read for the life before.
func TestAnotherLife(t *testing.T) {
	t.Parallel()
	batch := []record.Run{items(0, 0, 3), items(1, 0, 3), items(2, 0, 3)}
	begin := func(m *applytest.Memory) {
		m.SetLife(applytest.Life{
			TargetID: applytest.TargetID, Incarnation: anotherLife, State: apply.StateLive,
		})
	}
	for _, c := range []struct {
		name   string
		faults func(*applytest.Memory) applytest.Faults
		want   applytest.Want
	}{
		{
			"SeenWhenATransactionBegins", func(m *applytest.Memory) applytest.Faults {
				return applytest.Faults{Begin: nth[apply.Opening](2, func() error { begin(m); return nil })}
			},
			applytest.Want{Class: fault.Fenced, Applied: 3, Next: position.Cut{p(0): 3, p(1): 0, p(2): 0}},
		},
		{
			"SeenByTheLastStatement", func(m *applytest.Memory) applytest.Faults {
				return applytest.Faults{Commit: nth[apply.Work](2, func() error { begin(m); return nil })}
			},
			applytest.Want{Class: fault.Fenced, Applied: 3, Next: position.Cut{p(0): 3, p(1): 0, p(2): 0}},
		},
		{
			"SeenWhenTheLedgerIsAsked", func(m *applytest.Memory) applytest.Faults {
				return applytest.Faults{Reply: nth[apply.Work](2, func() error { begin(m); return lost() })}
			},
			applytest.Want{Class: fault.Fenced, Applied: 3, Next: position.Cut{p(0): 3, p(1): 0, p(2): 0}},
		},
		{
			"SeenBetweenTheHalvesOfARefusedPiece", func(m *applytest.Memory) applytest.Faults {
				return applytest.Faults{Commit: nth[apply.Work](1, func() error {
					begin(m)
					return &apply.WorkError{Err: fault.New(fault.Poison, "no"), Group: -1}
				})}
			},
			applytest.Want{Class: fault.Fenced, Next: position.Cut{p(0): 0, p(1): 0, p(2): 0}},
		},
	} {
		t.Run("IsNotAdoptedByTheSameCall/"+c.name, func(t *testing.T) {
			t.Parallel()
			m := applytest.NewMemory()
			m.Fail(c.faults(m))
			b := applytest.NewBench(t, m, apply.Options{MaxRows: 3})
			outcome, err := b.Deliver(batch...)
			b.Check(c.want, outcome, err)
			for _, o := range outcome.Partitions {
				if o.Next < 3 && !fault.Is(o.Err, fault.Fenced) {
					t.Errorf("%s stopped with %v, want fenced", o.Partition, o.Err)
				}
			}
			for _, work := range m.Commits() {
				if work.Incarnation == anotherLife {
					t.Errorf("the call wrote %v under the other life", work.Advances)
				}
			}
			if m.Forgotten() == 0 {
				t.Error("the catalog of the life before is still believed")
			}
			m.Fail(applytest.Faults{})
			if _, err := b.Deliver(batch...); err != nil {
				t.Errorf("the next call: %v, want the other life adopted", err)
			}
			b.MustStand(position.Cut{p(0): 3, p(1): 3, p(2): 3}, applytest.RowsOf(batch...))
		})
	}
}

// nth does something at the n-th call.
func nth[T any](n int, do func() error) func(T) error {
	return func(T) error {
		if n--; n == 0 {
			return do()
		}
		return nil
	}
}

// TestMovedMeanwhile: when the checkpoint was moved after a commit without a reply, where it stands says nothing of the
// commit, and nothing is called applied (A14).
func TestMovedMeanwhile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		next position.Offset
	}{{"Back", 0}, {"PartOfTheWayBack", 3}, {"BackAndForwardAgain", 7}, {"Forward", 99}} {
		t.Run("StaysUnknown/"+c.name, func(t *testing.T) {
			t.Parallel()
			m := applytest.NewMemory()
			moved := &altered{m, func(l *apply.Ledger) {
				if n := len(m.Commits()); n > 1 { // the second commit's reply is the lost one
					checkpoint := l.Checkpoints[p(0)]
					checkpoint.Next, checkpoint.Generation = c.next, 1
					l.Checkpoints[p(0)] = checkpoint
				}
			}}
			applier, err := apply.New(moved, applytest.Decoder{Catalog: m}, apply.Options{
				Flow: applytest.Flow, TargetID: applytest.TargetID, Topics: []string{applytest.Topic}, Now: clock,
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := applier.Apply(t.Context(), batch(items(0, 0, 5))); err != nil {
				t.Fatalf("apply: %v", err)
			}
			m.Fail(applytest.Faults{Reply: once[apply.Work](lost())})
			outcome, err := applier.Apply(t.Context(), batch(items(0, 2, 7), items(1, 0, 2)))
			if !fault.Is(err, fault.UnknownOutcome) || outcome.Partitions[0].Next != 2 || outcome.Partitions[0].Skipped != 0 {
				t.Errorf("got %+v, %v, want an unknown outcome and nothing called applied", outcome, err)
			}
			// The other partition of the transaction was not moved: its checkpoint tells.
			if o := outcome.Partitions[1]; o.Err != nil || o.Next != 2 || o.Applied != 2 {
				t.Errorf("got %+v, want the partition beside it decided", o)
			}
		})
	}
}
