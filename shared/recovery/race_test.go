package recovery_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"tidemark/shared/apply"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/writer"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/fault"
	"tidemark/shared/recovery/recoverytest"
	"tidemark/shared/recovery/refusal"
)

// beside runs act in the midst of the nth call.
func beside(n int, act func()) writertest.Plan {
	return func(c writertest.Call) writertest.Form {
		if c.N == n {
			act()
		}
		return ""
	}
}

// TestRunsIntoOneDatabase: while one recovery stands still at any of its calls another one by the same command runs into the
// same database. One is refused, or they go on with one try; whoever says that it is done is right.
func TestRunsIntoOneDatabase(t *testing.T) {
	t.Parallel()
	world := recoverytest.New(t, 1)
	calls, _, _ := callsOfARecovery(t, world)
	told := map[string]int{}
	for n := range calls {
		synctest.Test(t, func(t *testing.T) {
			w := shop(t, world.Fork(1))
			d := w.Database()
			var second error
			_, first := runBy(t, w.Process(d, beside(n+1, func() { _, second = run(t, w, d) })))
			for _, err := range []error{first, second} {
				refused, isRefusal := errors.AsType[*refusal.Error](err)
				switch {
				case err == nil:
				case isRefusal && refused.Name == refusal.TargetNotEmpty && fault.Is(err, fault.Fenced):
					told["refused"]++
				case fault.Is(err, fault.Retryable):
					told["under way"]++
				case fault.Is(err, fault.Fenced) && d.State() == apply.StateLive: // the other one has ended their try
					told["ended by the other"]++
					mustRun(t, w, d)
				default:
					t.Fatalf("call %d %+v: got %s", n+1, calls[n], fault.Line(err))
				}
			}
			if first != nil && second != nil {
				t.Fatalf("call %d %+v: got %v and %v, want one to go on", n+1, calls[n], first, second)
			}
			recoverytest.Recovered(t, w, d)
			if lives := recoverytest.Lives(t, w); len(lives) != 2 {
				t.Fatalf("call %d %+v: the archive has the lives %v", n+1, calls[n], lives)
			}
		})
	}
	if told["refused"] == 0 || told["under way"] == 0 {
		t.Errorf("of %d: %v", len(calls), told)
	}
	t.Logf("of %d: %v", len(calls), told)
}

// TestRunsIntoTwoDatabases: while one recovery stands still at any of its calls another one runs into another database. One
// goes live and the other is held by it. Two go live only one after the other: when the first had ended before the second
// looked for the latest life, or when the second began after the first had looked for the last time. The older one of the two
// can then back up nothing any more.
func TestRunsIntoTwoDatabases(t *testing.T) {
	t.Parallel()
	world := recoverytest.New(t, 1)
	calls, _, _ := callsOfARecovery(t, world)
	last := 0
	for _, c := range calls {
		if c.Method == "List" && c.Key == layout.Lineages {
			last = c.N
		}
	}
	told := map[string]int{}
	for n := range calls {
		synctest.Test(t, func(t *testing.T) {
			w := shop(t, world.Fork(1))
			d, other := w.Database(), w.Database()
			var second error
			_, first := runBy(t, w.Process(d, beside(n+1, func() { _, second = run(t, w, other) })))
			switch {
			case second != nil:
				t.Fatalf("call %d %+v: the one that nothing stopped got %s", n+1, calls[n], fault.Line(second))
			case first != nil:
				told["held"]++
				wantRefusal(t, first, refusal.HeldByAnother, fault.Fenced)
				_, again := run(t, w, d)
				wantRefusal(t, again, refusal.HeldByAnother, fault.Fenced)
				if d.State() == apply.StateLive {
					t.Fatalf("call %d %+v: both are live", n+1, calls[n])
				}
			case other.Try().Lineage < d.Try().Lineage:
				told["began later"]++
				wantNoBackup(t, w, other)
			case n+1 > last:
				told["ended before"]++
				wantNoBackup(t, w, d)
			default:
				t.Fatalf("call %d %+v: both are live, with the lives %s and %s", n+1, calls[n], d.Try().Lineage, other.Try().Lineage)
			}
		})
	}
	if told["held"]*2 < len(calls) || told["began later"] == 0 || told["ended before"] != len(calls)-last {
		t.Errorf("of %d, the last look %d: %v", len(calls), last, told)
	}
	t.Logf("of %d: %v", len(calls), told)
}

// wantNoBackup: a database whose life is not the latest is not backed up as the target.
func wantNoBackup(t *testing.T, w *recoverytest.World, d *recoverytest.Database) {
	t.Helper()
	err := w.TryBackup(t, d.Try().Lineage, d.Try().Incarnation)
	if !errors.Is(err, writer.ErrSuperseded) {
		t.Fatalf("got %v from a backup of life %s, want %v", err, d.Try().Lineage, writer.ErrSuperseded)
	}
}

// TestRunFencesTheLifeBefore: a database that is still there after it was recovered elsewhere cannot be backed up any more, and
// the recovered one can.
func TestRunFencesTheLifeBefore(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	d := w.Database()
	mustRun(t, w, d)
	if err := w.TryBackup(t, 1, life()); !errors.Is(err, writer.ErrSuperseded) {
		t.Fatalf("got %v, want %v", err, writer.ErrSuperseded)
	}
	next := w.BackupLife(t, d.Try().Lineage, d.Try().Incarnation, w.Stable())
	second := w.Database()
	report := mustRun(t, w, second)
	wantBase(t, report, next.ID)
	if second.Try().Lineage != 3 {
		t.Errorf("got life %s, want the third", second.Try().Lineage)
	}
}
