package expiry_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/archive/archivetest/faulty"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/writer"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/expiry"
	"tidemark/shared/expiry/policy"
	"tidemark/shared/fault"
)

// confirm expires what the policy lets go.
func confirm(ctx context.Context, w *writertest.World, a *archive.Archive) (expiry.Report, error) {
	return expiry.Run(ctx, options(w, a), true)
}

func options(w *writertest.World, a *archive.Archive) expiry.Options {
	return expiry.Options{Archive: a, Policy: policy.Policy{KeepLast: 2, MinVerified: 1}, Actor: "test", Now: w.Now}
}

// full is a world with five backups, three of which the policy lets go.
func full(t *testing.T) *writertest.World {
	t.Helper()
	return worlds(t, false)()
}

// worlds makes worlds with five backups, three of which the policy lets go, and a chunk that only the oldest has. swept says
// that a sweep has named what goes and has had its grace.
func worlds(t *testing.T, swept bool) func() *writertest.World {
	t.Helper()
	w := writertest.New(t)
	for i := range 5 {
		w.MustWrite(t, writertest.Backup{Chunks: []string{"shared", fmt.Sprintf("chunk %d", i)}})
		w.Pass(time.Hour)
	}
	if swept {
		if _, err := confirm(t.Context(), w, w.Archive(t)); err != nil {
			t.Fatal(fault.Line(err))
		}
		w.Pass(expiry.Grace)
	}
	return w.Fork
}

// clean expires without faults until nothing is left to do.
func clean(t *testing.T, w *writertest.World) {
	t.Helper()
	for range 3 {
		if _, err := confirm(t.Context(), w, w.Archive(t)); err != nil {
			t.Fatal(fault.Line(err))
		}
		writertest.Sound(t, w)
		w.Pass(25 * time.Hour)
	}
}

// TestSweepAtEveryCall breaks each call that an expiry makes, at its first and at its second phase. What counts stays whole,
// and in the end what nobody refers to is gone.
func TestSweepAtEveryCall(t *testing.T) {
	t.Parallel()
	for _, form := range writertest.Forms() {
		t.Run(string(form), func(t *testing.T) {
			t.Parallel()
			for _, phase := range []int{1, 2} {
				world := worlds(t, phase == 2)
				trace := traceOfASweep(t, world())
				for _, n := range trace.Numbers(form) {
					synctest.Test(t, func(t *testing.T) { brokenSweep(t, world(), n, form) })
				}
				if all := len(trace.Numbers(writertest.Error)); all < 40 {
					t.Errorf("phase %d made %d calls, want at least 40", phase, all)
				}
				t.Logf("phase %d: %d calls, each %s", phase, len(trace.Numbers(form)), form)
			}
		})
	}
}

func brokenSweep(t *testing.T, w *writertest.World, n int, form writertest.Form) {
	t.Helper()
	primary, secondary := w.Break(n, form)
	_, err := confirm(t.Context(), w, w.Archive(t, primary, secondary))
	if reached := len(primary.Calls()) + len(secondary.Calls()); reached < n {
		t.Fatalf("call %d %s: it ended after %d: %v", n, form, reached, err)
	}
	writertest.Sound(t, w)
	clean(t, w)
	if counts := writertest.Sound(t, w); len(counts) != 2 {
		t.Fatalf("call %d %s: %d manifests count, want the two that the policy keeps", n, form, len(counts))
	}
	for _, bucket := range []archive.Bucket{w.Primary, w.Secondary} {
		if objects := count(t, bucket, layout.Objects); objects != 5 { // two bodies, two chunks of their own, the shared one
			t.Fatalf("call %d %s: %d objects are left, want 5", n, form, objects)
		}
	}
}

func traceOfASweep(t *testing.T, w *writertest.World) writertest.Trace {
	t.Helper()
	trace, primary, secondary := w.Trace()
	if _, err := confirm(t.Context(), w, w.Archive(t, primary, secondary)); err != nil {
		t.Fatal(fault.Line(err))
	}
	return trace
}

func count(t *testing.T, bucket archive.Bucket, prefix string) int {
	t.Helper()
	n := 0
	for _, err := range bucket.List(t.Context(), prefix) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// TestWriterThawsBesideSweeps freezes a backup at each of its calls, for longer than the grace and for weeks, while others back up and sweep; then it thaws. What counted before or counts after is whole and stays so.
func TestWriterThawsBesideSweeps(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		after  bool
		frozen time.Duration
	}{
		"ADayBeforeACall": {false, 26 * time.Hour}, "ADayAfterACall": {true, 26 * time.Hour},
		"AMonthBeforeACall": {false, 30 * 24 * time.Hour}, "AMonthAfterACall": {true, 30 * 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world := worlds(t, false)
			numbers := traceOfABackup(t, world()).Numbers(where(test.after))
			for _, n := range numbers {
				synctest.Test(t, func(t *testing.T) { thaw(t, world(), n, test.after, test.frozen) })
			}
			t.Logf("%d calls, frozen for %s", len(numbers), test.frozen)
		})
	}
}

// where is the form whose calls a process is frozen at: one frozen after a call without an effect is frozen before the next.
func where(after bool) writertest.Form {
	if after {
		return writertest.KillAfter
	}
	return writertest.KillBefore
}

// old is a backup of the chunk that only the oldest manifest had, so that a sweep is after what it stores.
func old() writertest.Backup { return writertest.Backup{Chunks: []string{"shared", "chunk 0"}} }

func traceOfABackup(t *testing.T, w *writertest.World) writertest.Trace {
	t.Helper()
	trace, primary, secondary := w.Trace()
	if _, err := w.Write(t.Context(), w.Options(t, w.Archive(t, primary, secondary)), old()); err != nil {
		t.Fatal(fault.Line(err))
	}
	return trace
}

func thaw(t *testing.T, w *writertest.World, n int, after bool, frozen time.Duration) {
	t.Helper()
	gate := faulty.NewGate()
	primary, secondary := w.Hold(n, after, gate)
	ended := make(chan error, 1)
	go func() {
		_, err := w.Write(t.Context(), w.Options(t, w.Archive(t, primary, secondary)), old())
		ended <- err
	}()
	<-gate.Reached()
	counted := map[layout.ID]bool{}
	for passed := time.Duration(0); passed < frozen; passed += frozen / 2 {
		sweepAndCount(t, w, counted)
		w.Pass(frozen / 2)
	}
	gate.Release()
	if err := <-ended; err != nil && !acceptable(err) {
		t.Fatalf("call %d: %s", n, fault.Line(err))
	}
	for range 3 {
		sweepAndCount(t, w, counted)
		w.Pass(25 * time.Hour)
	}
	w.MustWrite(t, writertest.Backup{Chunks: []string{"shared", "chunk 0"}})
	writertest.Sound(t, w)
}

// acceptable are the ends of a writer that thawed: it may be refused, never by an accident.
func acceptable(err error) bool {
	return errors.Is(err, writer.ErrTooOld) || errors.Is(err, archive.ErrNotFound) || fault.Is(err, fault.Fenced)
}

// sweepAndCount checks that what counted once and is listed still is whole, and expires.
func sweepAndCount(t *testing.T, w *writertest.World, counted map[layout.ID]bool) {
	t.Helper()
	still := func() {
		counts := writertest.Counted(t, w.Archive(t))
		for _, id := range listed(t, w) {
			if counted[id] && !counts[id] {
				t.Fatalf("manifest %s counted once and misses objects now", id)
			}
			counted[id] = counts[id]
		}
	}
	still()
	if _, err := confirm(t.Context(), w, w.Archive(t)); err != nil {
		t.Fatal(fault.Line(err))
	}
	still()
}

func listed(t *testing.T, w *writertest.World) (ids []layout.ID) {
	t.Helper()
	for info, err := range w.Primary.List(t.Context(), layout.Manifests) {
		if err != nil {
			t.Fatal(err)
		}
		if id, ok := layout.ParseManifest(info.Key); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// TestSweeperThawsBesideWriters freezes a sweep at each call of both phases, while backups go on and bring back the bytes that
// it was after; then it thaws.
func TestSweeperThawsBesideWriters(t *testing.T) {
	t.Parallel()
	for _, phase := range []int{1, 2} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("phase=%d/after=%t", phase, after), func(t *testing.T) {
				t.Parallel()
				world := worlds(t, phase == 2)
				numbers := traceOfASweep(t, world()).Numbers(where(after))
				for _, n := range numbers {
					synctest.Test(t, func(t *testing.T) { thawSweeper(t, world(), n, after) })
				}
				t.Logf("%d calls", len(numbers))
			})
		}
	}
}

func thawSweeper(t *testing.T, w *writertest.World, n int, after bool) {
	t.Helper()
	gate := faulty.NewGate()
	primary, secondary := w.Hold(n, after, gate)
	ended := make(chan error, 1)
	go func() {
		_, err := confirm(t.Context(), w, w.Archive(t, primary, secondary))
		ended <- err
	}()
	<-gate.Reached()
	for _, wait := range []time.Duration{time.Minute, 13 * time.Hour, 48 * time.Hour} {
		w.MustWrite(t, old())
		w.Pass(wait)
	}
	gate.Release()
	if err := <-ended; err != nil && !fault.Is(err, fault.Corrupt) && !fault.Is(err, fault.Retryable) {
		t.Fatalf("call %d: %s", n, fault.Line(err))
	}
	writertest.Sound(t, w)
	clean(t, w)
	w.MustWrite(t, old())
	writertest.Sound(t, w)
}
