package recovery_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/recovery/recoverytest"
)

// TestRunAtEveryCall breaks each call that a recovery makes, of buckets, log and database, in every form. Whatever happens, the
// same command goes on and ends as one that nothing stopped: same rows, same positions, one life in the archive, and that the
// database's.
func TestRunAtEveryCall(t *testing.T) {
	t.Parallel()
	world := recoverytest.New(t, 1)
	calls, rows, positions := callsOfARecovery(t, world)
	of := map[string]int{}
	for _, c := range calls {
		of[c.Place]++
	}
	if of["primary"] < 20 || of["secondary"] < 10 || of["log"] < 10 || of["database"] < 10 {
		t.Fatalf("a recovery makes the calls %v, want at least 20 and 10 of the buckets, 10 of the log and 10 of the database", of)
	}
	for _, form := range writertest.Forms() {
		t.Run(string(form), func(t *testing.T) {
			t.Parallel()
			told, broken := map[string]int{}, 0
			for n, call := range calls {
				if late := form == writertest.ReplyLost || form == writertest.KillAfter; late && recoverytest.Reads(call) {
					continue // what was lost after it was lost before
				}
				broken++
				synctest.Test(t, func(t *testing.T) { // its waits cost nothing
					w := shop(t, world.Fork(1))
					d := w.Database()
					told[brokenRun(t, w, d, n+1, form)]++
					if got := d.Rows(); cmp.Diff(rows, got) != "" {
						t.Errorf("call %d %s %+v: rows (-unbroken +broken):\n%s", n+1, form, call, cmp.Diff(rows, got))
					}
					if got := d.Positions(shopFlow); cmp.Diff(positions, got) != "" {
						t.Errorf("call %d %s %+v: positions (-unbroken +broken):\n%s", n+1, form, call, cmp.Diff(positions, got))
					}
				})
			}
			if told["failed"] == 0 {
				t.Errorf("no call of %d broken ones stopped anything", broken)
			}
			t.Logf("%d of %d calls %v, each %s: %v", broken, len(calls), of, form, told)
		})
	}
}

func callsOfARecovery(t *testing.T, world *recoverytest.World) ([]writertest.Call, recoverytest.Rows, position.Cut) {
	t.Helper()
	w := shop(t, world.Fork(1))
	d := w.Database()
	p := w.Process(d, nil)
	if _, err := runBy(t, p); err != nil {
		t.Fatal(fault.Line(err))
	}
	recoverytest.Recovered(t, w, d)
	return p.Calls(), d.Rows(), d.Positions(shopFlow)
}

// brokenRun recovers with one call going wrong, then by the same command again, and says how the first ended.
func brokenRun(
	t *testing.T, w *recoverytest.World, d *recoverytest.Database, n int, form writertest.Form, change ...changer,
) string {
	t.Helper()
	p := w.Process(d, writertest.At(n, form))
	_, err := runBy(t, p, change...)
	what := fmt.Sprintf("call %d %s", n, form)
	if len(p.Calls()) < n {
		t.Fatalf("%s: the recovery ended after %d calls", what, len(p.Calls()))
	}
	what = fmt.Sprintf("%s %+v", what, p.Calls()[n-1])
	if err == nil {
		if failed := recoverytest.Check(t, w, d); failed != nil {
			t.Fatalf("%s: the recovery said that it is done: %v", what, failed)
		}
	}
	if _, again := run(t, w, d, change...); again != nil {
		t.Fatalf("%s, which gave %v: the same command again gave %s", what, err, fault.Line(again))
	}
	if failed := recoverytest.Check(t, w, d); failed != nil {
		t.Fatalf("%s, which gave %v: after the same command again: %v", what, err, failed)
	}
	if lives := recoverytest.Lives(t, w); len(lives) != 2 {
		t.Fatalf("%s: the archive has the lives %v, want the first and the recovery's", what, lives)
	}
	if err == nil {
		return "succeeded"
	}
	return "failed"
}

// TestRunWithAGapAtEveryCall kills a recovery that passes over an accepted gap at each call that writes. The gap stands once in
// the ledger in the end, whichever of the two calls put it there.
func TestRunWithAGapAtEveryCall(t *testing.T) {
	t.Parallel()
	world := recoverytest.New(t, 1)
	gapped := func(t *testing.T) (*recoverytest.World, *recoverytest.Database) {
		t.Helper()
		w := shop(t, world.Fork(1))
		w.Log.Trim(at(0), 6)
		return w, w.Database()
	}
	w, d := gapped(t)
	p := w.Process(d, nil)
	if _, err := runBy(t, p, allowGap); err != nil {
		t.Fatal(fault.Line(err))
	}
	for n, call := range p.Calls() {
		if recoverytest.Reads(call) {
			continue
		}
		for _, form := range writertest.Forms() {
			synctest.Test(t, func(t *testing.T) {
				w, d := gapped(t)
				brokenRun(t, w, d, n+1, form, allowGap)
				if gaps := d.Gaps(); len(gaps) != 1 || gaps[0].From != 4 || gaps[0].Until != 6 {
					t.Errorf("call %d %s %+v: got the gaps %v, want [4,6) once", n+1, form, call, gaps)
				}
			})
		}
	}
}
