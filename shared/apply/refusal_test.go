package apply_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"tidemark/shared/apply"
	"tidemark/shared/apply/applytest"
	"tidemark/shared/change"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/record"
)

// spoiled is a run with a record that the target refuses.
func spoiled(run record.Run, bad ...int) record.Run {
	for _, i := range bad {
		run.Records[i].Value = applytest.Item("bad", applytest.Refused)
	}
	return run
}

// TestRefusal: what the server refuses falls back to smaller pieces, down to the record that cannot pass (A15).
func TestRefusal(t *testing.T) {
	t.Parallel()
	t.Run("StopsOnePartitionAtTheRecordAndNoOther", func(t *testing.T) {
		t.Parallel()
		m := applytest.NewMemory()
		b := applytest.NewBench(t, m, apply.Options{})
		err := b.MustFail(applytest.Want{Class: fault.Poison, Applied: 13, Next: position.Cut{p(0): 5, p(1): 3, p(2): 5}},
			items(0, 0, 5), spoiled(items(1, 0, 5), 3), items(2, 0, 5))
		if err == nil || !strings.Contains(err.Error(), "orders/1 [3,4)") {
			t.Errorf("got error %v, want the record's place in it", err)
		}
		b.MustStand(position.Cut{p(0): 5, p(1): 3, p(2): 5}, applytest.RowsOf(items(0, 0, 5), items(1, 0, 3), items(2, 0, 5)))
	})
	t.Run("StopsAtTheFirstOfTwo", func(t *testing.T) {
		t.Parallel()
		b := applytest.NewBench(t, applytest.NewMemory(), apply.Options{})
		b.MustDeliver(applytest.Want{Class: fault.Poison, Applied: 2, Next: position.Cut{p(0): 2}}, spoiled(items(0, 0, 8), 2, 5))
	})
	t.Run("StopsEachPartitionAtItsOwn", func(t *testing.T) {
		t.Parallel()
		b := applytest.NewBench(t, applytest.NewMemory(), apply.Options{})
		b.MustDeliver(applytest.Want{Class: fault.Poison, Applied: 5, Next: position.Cut{p(0): 1, p(1): 4}},
			spoiled(items(0, 0, 5), 1), spoiled(items(1, 0, 5), 4))
	})
	t.Run("StopsTheOneOfManySingleRecords", func(t *testing.T) {
		t.Parallel()
		for bad := range int32(3) {
			b := applytest.NewBench(t, applytest.NewMemory(), apply.Options{})
			runs, next := []record.Run{items(0, 0, 1), items(1, 0, 1), items(2, 0, 1)}, position.Cut{p(0): 1, p(1): 1, p(2): 1}
			spoiled(runs[bad], 0)
			next[p(bad)] = 0
			b.MustDeliver(applytest.Want{Class: fault.Poison, Applied: 2, Next: next}, runs...)
		}
	})
	t.Run("FindsTheRecordInFewTransactions", func(t *testing.T) {
		t.Parallel()
		m, begun := applytest.NewMemory(), 0
		m.Fail(applytest.Faults{Begin: func(apply.Opening) error { begun++; return nil }})
		b := applytest.NewBench(t, m, apply.Options{})
		b.MustDeliver(applytest.Want{Class: fault.Poison, Applied: 777, Next: position.Cut{p(0): 777}}, spoiled(items(0, 0, 1024), 777))
		if limit := 4 * 11; begun > limit { // two attempts for each of two halves at each of ten levels
			t.Errorf("%d transactions for 1024 records, want at most %d", begun, limit)
		}
	})
	// What is below the checkpoint comes off a run when it is first judged; the attempts that follow must know.
	t.Run("BesideRecordsThatAreSkipped", func(t *testing.T) {
		t.Parallel()
		for old := range position.Offset(7) {
			for bad := int(old); bad < 7; bad++ {
				b := applytest.NewBench(t, applytest.NewMemory(), apply.Options{})
				if old > 0 {
					b.MustDeliver(applytest.Want{Applied: int(old), Next: position.Cut{p(0): old}}, items(0, 0, old))
				}
				run := spoiled(items(0, 0, 7), bad)
				next := position.Cut{p(0): position.Offset(bad), p(1): 7}
				b.MustDeliver(applytest.Want{Class: fault.Poison, Applied: bad - int(old) + 7, Skipped: int(old), Next: next}, run, items(1, 0, 7))
			}
		}
	})
	t.Run("NeverReadsBehindTheRunItWasGiven", func(t *testing.T) {
		t.Parallel()
		b := applytest.NewBench(t, applytest.NewMemory(), apply.Options{})
		b.MustDeliver(applytest.Want{Applied: 3, Next: position.Cut{p(0): 3}}, items(0, 0, 3))
		whole := spoiled(items(0, 0, 20), 4)
		whole.Records = whole.Records[:6] // the slice has room behind its end
		b.MustDeliver(applytest.Want{Class: fault.Poison, Applied: 1, Skipped: 3, Next: position.Cut{p(0): 4}}, whole)
	})
	// The room in a transaction that skipped records leave is not filled again when it is tried in smaller pieces.
	t.Run("BesideSkippedRecordsStaysWithinTheLimits", func(t *testing.T) {
		t.Parallel()
		m := applytest.NewMemory()
		run := spoiled(items(0, 0, 7), 3)
		for i := 4; i < 7; i++ {
			run.Records[i].Value = applytest.Item("large", strings.Repeat("x", 500))
		}
		b := applytest.NewBench(t, m, apply.Options{MaxBytes: 3*run.Records[0].Size() + run.Records[3].Size()})
		b.MustDeliver(applytest.Want{Applied: 3, Next: position.Cut{p(0): 3}}, items(0, 0, 3))
		m.Fail(applytest.Faults{Commit: func(work apply.Work) error {
			for _, a := range work.Advances {
				if a.From == 3 && a.Next > 4 {
					t.Errorf("a transaction holds [3,%d), which exceeds the limit", a.Next)
				}
			}
			return nil
		}})
		b.MustDeliver(applytest.Want{Class: fault.Poison, Skipped: 3, Next: position.Cut{p(0): 3}}, run)
	})
	t.Run("AnotherErrorStopsEverythingAndHalvesNothing", func(t *testing.T) {
		t.Parallel()
		for _, class := range []fault.Class{fault.Retryable, fault.Fenced, fault.Bug, fault.Misconfigured, fault.Unclassified} {
			m, commits := applytest.NewMemory(), 0
			m.Fail(applytest.Faults{Commit: func(apply.Work) error { commits++; return fault.New(class, "no") }})
			b := applytest.NewBench(t, m, apply.Options{})
			outcome, err := b.Deliver(items(0, 0, 5), items(1, 0, 5))
			if fault.ClassOf(err) != class || err == nil || outcome.Applied() > 0 || commits != 1 {
				t.Errorf("%s: got %v, error %v after %d commits, want one", class, outcome, err, commits)
			}
		}
	})
	t.Run("ForgetsTheCatalogBecauseASchemaMayHaveChanged", func(t *testing.T) {
		t.Parallel()
		m := applytest.NewMemory()
		b := applytest.NewBench(t, m, apply.Options{})
		b.MustDeliver(applytest.Want{Class: fault.Poison, Next: position.Cut{p(0): 0}}, spoiled(items(0, 0, 1), 0))
		if m.Forgotten() == 0 {
			t.Error("the catalog is still believed")
		}
	})
	t.Run("OfABulkGroupIsWrittenInOrder", func(t *testing.T) {
		t.Parallel()
		m := applytest.NewMemory()
		m.Fail(applytest.Faults{Commit: func(work apply.Work) error {
			for i, g := range work.Groups {
				if g.Bulk {
					return &apply.WorkError{Err: fault.New(fault.Unclassified, "not in bulk"), Group: i}
				}
			}
			return nil
		}})
		b := applytest.NewBench(t, m, apply.Options{})
		b.MustDeliver(applytest.Want{Applied: 8, Next: position.Cut{p(0): 5, p(1): 3}}, items(0, 0, 5), items(1, 0, 3))
		mustMove(t, m, "orders/0 [0,5), orders/1 [0,3)")
	})
	t.Run("OfTheCommitItselfIsHalvedToo", func(t *testing.T) {
		t.Parallel()
		m := applytest.NewMemory()
		m.Fail(applytest.Faults{Commit: func(work apply.Work) error {
			for _, a := range work.Advances {
				if a.Partition == p(0) && (position.Range{From: a.From, Until: a.Next}).Contains(2) {
					return &apply.WorkError{Err: fault.New(fault.Retryable, "a deferred constraint"), Group: -1}
				}
			}
			return nil
		}})
		b := applytest.NewBench(t, m, apply.Options{})
		// Records without rows have no group that could be named.
		run := items(0, 0, 5)
		for i := range run.Records {
			run.Records[i].Value = record.Null()
		}
		b.MustDeliver(applytest.Want{Class: fault.Retryable, Applied: 5, Next: position.Cut{p(0): 2, p(1): 3}}, run, items(1, 0, 3))
	})
}

// TestDecode is about records that mean nothing to this target, or not yet.
func TestDecode(t *testing.T) {
	t.Parallel()
	t.Run("GoodRecordsBeforeABadOneAreApplied", func(t *testing.T) {
		t.Parallel()
		for name, spoil := range map[string]func(*record.Record){
			"undecodable": func(r *record.Record) { r.Value = applytest.Unreadable() },
			"malformed":   func(r *record.Record) { r.Malformed = fault.New(fault.Poison, "no headers") },
		} {
			b, run := applytest.NewBench(t, applytest.NewMemory(), apply.Options{}), items(0, 0, 5)
			spoil(&run.Records[2])
			want := applytest.Want{Class: fault.Poison, Applied: 7, Next: position.Cut{p(0): 2, p(1): 5}}
			if err := b.MustFail(want, run, items(1, 0, 5)); err == nil || !strings.Contains(err.Error(), "orders/0 [2,3)") {
				t.Errorf("%s: got error %v, want the record's place in it", name, err)
			}
		}
	})
	t.Run("ABadRecordThatIsInTheTargetAlreadyIsSkipped", func(t *testing.T) {
		t.Parallel()
		b, run := applytest.NewBench(t, applytest.NewMemory(), apply.Options{}), items(0, 0, 5)
		b.MustDeliver(applytest.Want{Applied: 5, Next: position.Cut{p(0): 5}}, run)
		run.Records[2].Value = applytest.Unreadable()
		b.MustDeliver(applytest.Want{Skipped: 5, Next: position.Cut{p(0): 5}}, run)
	})
	t.Run("ARecordWithoutEffectMovesThePosition", func(t *testing.T) {
		t.Parallel()
		b, run := applytest.NewBench(t, applytest.NewMemory(), apply.Options{}), items(0, 0, 2)
		run.Records[0].Value, run.Records[1].Value = record.Null(), record.Missing()
		b.MustDeliver(applytest.Want{Applied: 2, Next: position.Cut{p(0): 2}}, run)
		b.MustStand(position.Cut{p(0): 2}, map[string]string{})
	})
	t.Run("AMissingTableIsAskedForOnceACall", func(t *testing.T) {
		t.Parallel()
		m := applytest.NewMemory()
		m.DropTable()
		b := applytest.NewBench(t, m, apply.Options{})
		for calls := range 3 {
			b.MustDeliver(applytest.Want{Class: fault.Misconfigured, Next: position.Cut{p(0): 0, p(1): 0}}, items(0, 0, 9), items(1, 0, 9))
			if got := m.Forgotten(); got != calls+1 {
				t.Errorf("the catalog was dropped %d times after %d calls", got, calls+1)
			}
		}
		m.CreateTable()
		b.MustDeliver(applytest.Want{Applied: 18, Next: position.Cut{p(0): 9, p(1): 9}}, items(0, 0, 9), items(1, 0, 9))
	})
	// A database that does not answer costs seconds a question: one answer must do for all records of the call.
	t.Run("ACatalogThatCannotBeAskedIsAskedOnceACall", func(t *testing.T) {
		t.Parallel()
		m := &unaskable{Memory: applytest.NewMemory()}
		b := applytest.NewBench(t, m, apply.Options{})
		b.MustDeliver(applytest.Want{Class: fault.Retryable, Next: position.Cut{p(0): 0, p(1): 0}}, items(0, 0, 50), items(1, 0, 50))
		if m.asked > 2 {
			t.Errorf("the catalog was asked %d times for 100 records", m.asked)
		}
	})
	t.Run("AForeignTopicStopsItsOwnPartitionAlone", func(t *testing.T) {
		t.Parallel()
		b := applytest.NewBench(t, applytest.NewMemory(), apply.Options{})
		stranger := items(0, 0, 3)
		stranger.Partition.Topic = "another"
		err := b.MustFail(applytest.Want{
			Class: fault.Misconfigured, Applied: 5, Next: position.Cut{stranger.Partition: 0, p(0): 5},
		}, stranger, items(0, 0, 5))
		if err == nil || !strings.Contains(fault.Line(err), `topic "another"`) || fault.HintOf(err) == "" {
			t.Errorf("got %v, want the topic named and a hint", err)
		}
		b.MustStand(position.Cut{p(0): 5}, applytest.RowsOf(items(0, 0, 5)))
	})
	t.Run("OffsetsThatDoNotAscendAreABugAndNotApplied", func(t *testing.T) {
		t.Parallel()
		b, run := applytest.NewBench(t, applytest.NewMemory(), apply.Options{}), items(0, 0, 4)
		run.Records[2].Offset, run.Records[2].Time = 0, applytest.TimeOf(9)
		outcome, err := b.Deliver(run)
		if err == nil || outcome.Next()[p(0)] > 2 || len(b.Rows()) > 2 {
			t.Errorf("got %v, error %v and rows %v, want a stop at 2", outcome, err, b.Rows())
		}
	})
}

// unaskable is a target whose catalog is away.
type unaskable struct {
	*applytest.Memory

	asked int
}

func (u *unaskable) Relation(context.Context, change.Name) (*change.Relation, error) {
	u.asked++
	return nil, fault.New(fault.Retryable, "connect: %w", errAway)
}

var errAway = errors.New("the database is away")
