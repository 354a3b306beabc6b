package apply_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/apply"
	"tidemark/shared/apply/applytest"
	"tidemark/shared/change"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/record"
)

func p(number int32) position.Partition { return applytest.P(number) }

// items is a run of a partition's records [from, until).
func items(number int32, from, until position.Offset) record.Run {
	return applytest.Items(p(number), position.Range{From: from, Until: until}, "a")
}

// moves are what each committed transaction did to the checkpoints, as "orders/0 [0,3)".
func moves(m *applytest.Memory) []string {
	var list []string
	for _, work := range m.Commits() {
		var parts []string
		for _, a := range work.Advances {
			parts = append(parts, a.Partition.String()+" "+position.Range{From: a.From, Until: a.Next}.String())
		}
		list = append(list, strings.Join(parts, ", "))
	}
	return list
}

func mustMove(t *testing.T, m *applytest.Memory, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, moves(m)); diff != "" {
		t.Errorf("transactions (-want +got):\n%s", diff)
	}
}

// TestSplit: a batch that exceeds the limits commits part by part, each with its own position.
func TestSplit(t *testing.T) {
	t.Parallel()
	t.Run("ByRows", func(t *testing.T) {
		t.Parallel()
		m := applytest.NewMemory()
		b := applytest.NewBench(t, m, apply.Options{MaxRows: 4})
		b.MustDeliver(applytest.Want{Applied: 11, Next: position.Cut{p(0): 6, p(1): 5}}, items(0, 0, 6), items(1, 0, 5))
		mustMove(t, m, "orders/0 [0,4)", "orders/0 [4,6), orders/1 [0,2)", "orders/1 [2,5)")
	})
	t.Run("ByBytes", func(t *testing.T) {
		t.Parallel()
		m, run := applytest.NewMemory(), items(0, 0, 6)
		size := run.Records[0].Size()
		b := applytest.NewBench(t, m, apply.Options{MaxBytes: 2*size + 1})
		b.MustDeliver(applytest.Want{Applied: 6, Next: position.Cut{p(0): 6}}, run)
		mustMove(t, m, "orders/0 [0,2)", "orders/0 [2,4)", "orders/0 [4,6)")
	})
	t.Run("ARecordWithoutRowsCountsItsBytes", func(t *testing.T) {
		t.Parallel()
		m, run := applytest.NewMemory(), items(0, 0, 4)
		for i := range run.Records {
			run.Records[i].Key, run.Records[i].Value = record.Present(make([]byte, 10)), record.Null()
		}
		b := applytest.NewBench(t, m, apply.Options{MaxBytes: 20, MaxRows: 1})
		b.MustDeliver(applytest.Want{Applied: 4, Next: position.Cut{p(0): 4}}, run)
		mustMove(t, m, "orders/0 [0,2)", "orders/0 [2,4)")
	})
	t.Run("ARecordLargerThanTheLimitsPassesAlone", func(t *testing.T) {
		t.Parallel()
		m, run := applytest.NewMemory(), items(0, 0, 3)
		run.Records[1].Value = applytest.Item("large", strings.Repeat("x", 1000))
		b := applytest.NewBench(t, m, apply.Options{MaxBytes: 2 * run.Records[0].Size()})
		b.MustDeliver(applytest.Want{Applied: 3, Next: position.Cut{p(0): 3}}, run)
		mustMove(t, m, "orders/0 [0,1)", "orders/0 [1,2)", "orders/0 [2,3)")
	})
	t.Run("ARecordOfMoreRowsThanTheLimitPassesAlone", func(t *testing.T) {
		t.Parallel()
		m := applytest.NewMemory()
		applier, err := apply.New(m, manyRows{applytest.Decoder{Catalog: m}}, apply.Options{
			Flow: applytest.Flow, TargetID: applytest.TargetID, Topics: []string{applytest.Topic}, MaxRows: 2, Now: time.Now,
		})
		if err != nil {
			t.Fatal(err)
		}
		if outcome, err := applier.Apply(t.Context(), record.Batch{items(0, 0, 2)}); err != nil || outcome.Applied() != 2 {
			t.Errorf("got %v and error %v, want 2 applied", outcome, err)
		}
		mustMove(t, m, "orders/0 [0,1)", "orders/0 [1,2)")
	})
	t.Run("WhatWasSkippedMakesNoRoomForMoreThanTheLimit", func(t *testing.T) {
		t.Parallel()
		m := applytest.NewMemory()
		b := applytest.NewBench(t, m, apply.Options{MaxRows: 4})
		b.MustDeliver(applytest.Want{Applied: 3, Next: position.Cut{p(0): 3}}, items(0, 0, 3))
		b.MustDeliver(applytest.Want{Applied: 6, Skipped: 3, Next: position.Cut{p(0): 9}}, items(0, 0, 9))
		mustMove(t, m, "orders/0 [0,3)", "orders/0 [3,4)", "orders/0 [4,8)", "orders/0 [8,9)")
	})
}

// manyRows gives every record five rows.
type manyRows struct{ applytest.Decoder }

func (d manyRows) Decode(ctx context.Context, rec *record.Record, set *change.Set) error {
	for range 5 {
		if err := d.Decoder.Decode(ctx, rec, set); err != nil {
			return err
		}
	}
	return nil
}

// ticking is a target whose every commit takes a while by a clock of its own.
func ticking(start time.Time, step time.Duration) (*applytest.Memory, func() time.Time) {
	m, now := applytest.NewMemory(), start
	m.Fail(applytest.Faults{Reply: func(apply.Work) error {
		now = now.Add(step)
		return nil
	}})
	return m, func() time.Time { return now }
}

// TestTime: no transaction is begun that could not end in time; what was not reached comes again.
func TestTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		limit, step   time.Duration
		reserve       time.Duration
		applied, rest int
	}{
		// A tenth of ten seconds is kept: after 4 and 8 seconds there is time, after 12 there is none.
		{"StopsAtATenthOfTheCall", 10 * time.Second, 4 * time.Second, 0, 3, 3},
		{"KeepsTwoSecondsOfALongCall", 60 * time.Second, 29 * time.Second, 0, 3, 3},
		{"StartsNothingInsideTheReserve", 60 * time.Second, 29500 * time.Millisecond, 0, 2, 4},
		{"KeepsTheReserveThatWasAskedFor", 60 * time.Second, 29 * time.Second, 3 * time.Second, 2, 4},
		{"AlwaysStartsTheFirst", 50 * time.Millisecond, time.Hour, 0, 1, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			start := time.Now().Add(time.Hour) // the deadline is the clock's, and far from the context's own
			m, now := ticking(start, c.step)
			b := applytest.NewBench(t, m, apply.Options{MaxRows: 1, Now: now, Reserve: c.reserve})
			ctx, cancel := context.WithDeadline(t.Context(), start.Add(c.limit))
			defer cancel()
			outcome, err := b.Apply(ctx, record.Batch{items(0, 0, 6)})
			next := position.Cut{p(0): position.Offset(c.applied)}
			b.Check(applytest.Want{Class: fault.Retryable, Applied: c.applied, Next: next}, outcome, err)
			if err == nil || !strings.Contains(err.Error(), "time ran out") {
				t.Errorf("got error %v, want that time ran out", err)
			}
			b.MustStand(next, applytest.RowsOf(items(0, 0, position.Offset(c.applied))))
			again := applytest.NewBench(t, m, apply.Options{})
			again.MustDeliver(applytest.Want{Applied: c.rest, Skipped: c.applied, Next: position.Cut{p(0): 6}}, items(0, 0, 6))
		})
	}
	t.Run("WithoutADeadlineAllOfItIsReached", func(t *testing.T) {
		t.Parallel()
		m, now := ticking(time.Now(), time.Hour)
		b := applytest.NewBench(t, m, apply.Options{MaxRows: 1, Now: now})
		outcome, err := b.Apply(t.Context(), record.Batch{items(0, 0, 6)})
		b.Check(applytest.Want{Applied: 6, Next: position.Cut{p(0): 6}}, outcome, err)
	})
	t.Run("ACancelledCallStopsBetweenTransactions", func(t *testing.T) {
		t.Parallel()
		m := applytest.NewMemory()
		ctx, cancel := context.WithCancel(t.Context())
		m.Fail(applytest.Faults{Reply: func(apply.Work) error { cancel(); return nil }})
		b := applytest.NewBench(t, m, apply.Options{MaxRows: 2})
		outcome, err := b.Apply(ctx, record.Batch{items(0, 0, 6)})
		b.Check(applytest.Want{Class: fault.Retryable, Applied: 2, Next: position.Cut{p(0): 2}}, outcome, err)
	})
}
