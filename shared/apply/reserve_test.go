package apply_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"tidemark/shared/apply"
	"tidemark/shared/apply/applytest"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/record"
)

// TestFallbackTime: smaller pieces of what the server refused are transactions too, and none is begun that could not
// end in time. What was not tried is no poison: it comes again.
func TestFallbackTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		batch record.Batch
		bulk  bool // the refusal names a group in bulk
		next  position.Cut
	}{
		{"Halves", batch(items(0, 0, 8)), false, position.Cut{p(0): 0}},
		{"EachRunAlone", batch(items(0, 0, 1), items(1, 0, 1)), false, position.Cut{p(0): 0, p(1): 0}},
		{"OneByOneInsteadOfInBulk", batch(items(0, 0, 8)), true, position.Cut{p(0): 0}},
	} {
		t.Run("StopsBeforeTheReserve/"+c.name, func(t *testing.T) {
			t.Parallel()
			start := time.Now().Add(time.Hour) // the deadline is the clock's, and far from the context's own
			m, now, begun := applytest.NewMemory(), start, 0
			m.Fail(applytest.Faults{
				Begin: func(apply.Opening) error { begun++; return nil },
				Commit: func(work apply.Work) error {
					now = now.Add(59 * time.Second)
					refused := &apply.WorkError{Err: fault.New(fault.Poison, "refused"), Group: -1}
					for i, g := range work.Groups {
						if c.bulk && g.Bulk {
							refused.Group = i
						}
					}
					return refused
				},
			})
			b := applytest.NewBench(t, m, apply.Options{Now: func() time.Time { return now }})
			ctx, cancel := context.WithDeadline(t.Context(), start.Add(time.Minute))
			defer cancel()
			outcome, err := b.Apply(ctx, c.batch)
			b.Check(applytest.Want{Class: fault.Retryable, Next: c.next}, outcome, err)
			if err == nil || !strings.Contains(err.Error(), "time ran out") {
				t.Errorf("got error %v, want that time ran out", err)
			}
			if begun != 1 {
				t.Errorf("%d transactions were begun, want the first alone", begun)
			}
			b.MustStand(position.Cut{}, map[string]string{})
		})
	}
	t.Run("KeepsWhatTheFallbackHasApplied", func(t *testing.T) {
		t.Parallel()
		start := time.Now().Add(time.Hour)
		m, now := applytest.NewMemory(), start
		m.Fail(applytest.Faults{Commit: func(work apply.Work) error {
			now = now.Add(20 * time.Second)
			if work.Advances[0].Next > 2 {
				return &apply.WorkError{Err: fault.New(fault.Poison, "refused"), Group: -1}
			}
			return nil
		}})
		b := applytest.NewBench(t, m, apply.Options{Now: func() time.Time { return now }})
		ctx, cancel := context.WithDeadline(t.Context(), start.Add(100*time.Second))
		defer cancel()
		// Refused as a whole, twice (in bulk and one by one), then the first half as well; its own first half passes.
		outcome, err := b.Apply(ctx, batch(items(0, 0, 8)))
		if !fault.Is(err, fault.Retryable) || outcome.Applied() != int(outcome.Next()[p(0)]) {
			t.Errorf("got %+v, %v, want retryable, and what was applied", outcome, err)
		}
		b.MustStand(m.Checkpoints(), applytest.RowsOf(items(0, 0, outcome.Next()[p(0)])))
	})
}
