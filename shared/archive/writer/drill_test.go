package writer_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/shared/archive/archivetest/faulty"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/fault"
)

// TestWriterAtEveryCall breaks each call that a backup makes of its buckets, in every form. Whatever happens, nothing is
// listed that is not whole, and the next run succeeds.
func TestWriterAtEveryCall(t *testing.T) {
	t.Parallel()
	trace := traceOfABackup(t)
	if all := len(trace.Numbers(writertest.Error)); all < 60 {
		t.Fatalf("a backup makes %d calls, want at least the 60 that one with two chunks and two buckets needs", all)
	}
	for _, form := range writertest.Forms() {
		t.Run(string(form), func(t *testing.T) {
			t.Parallel()
			for _, n := range trace.Numbers(form) {
				synctest.Test(t, func(t *testing.T) { brokenBackup(t, n, form) }) // its waits cost nothing
			}
			t.Logf("%d calls, each %s", len(trace.Numbers(form)), form)
		})
	}
}

// traceOfABackup is the calls of one that nothing goes wrong with.
func traceOfABackup(t *testing.T) writertest.Trace {
	t.Helper()
	w := writertest.New(t)
	w.MustWrite(t, writertest.Backup{Chunks: []string{"a", "b"}})
	trace, primary, secondary := w.Trace()
	if _, err := w.Write(t.Context(), w.Options(t, w.Archive(t, primary, secondary)), changed()); err != nil {
		t.Fatal(fault.Line(err))
	}
	return trace
}

func changed() writertest.Backup { return writertest.Backup{Chunks: []string{"a", "c"}, Next: 2} }

func brokenBackup(t *testing.T, n int, form writertest.Form) {
	t.Helper()
	w := writertest.New(t)
	first := w.MustWrite(t, writertest.Backup{Chunks: []string{"a", "b"}, Next: 1})
	w.Pass(time.Hour)
	primary, secondary := w.Break(n, form)
	c, err := w.Write(t.Context(), w.Options(t, w.Archive(t, primary, secondary)), changed())
	at := fmt.Sprintf("call %d %s", n, form)
	if reached := len(primary.Calls()) + len(secondary.Calls()); reached < n {
		t.Fatalf("%s: the backup ended after %d calls", at, reached)
	}
	counts := writertest.Sound(t, w)
	if !counts[first.ID] {
		t.Fatalf("%s: the first backup is gone", at)
	}
	if err == nil && !counts[c.ID] {
		t.Fatalf("%s: the backup said that it is there, and it is not", at)
	}
	w.Pass(time.Hour)
	next := w.MustWrite(t, writertest.Backup{Chunks: []string{"a", "c", "d"}, Next: 3})
	if next.Copies != 2 {
		t.Fatalf("%s: the next run made %d copies, want 2: %q", at, next.Copies, next.Warnings)
	}
	choice, err := choose(t, w.Archive(t))
	if err != nil || choice.Manifest.ID != next.ID {
		t.Fatalf("%s: got %v, %v, want the next run's manifest", at, choice.Manifest.ID, err)
	}
	writertest.Sound(t, w)
}

// Two backups of one life at once: whatever the order of their calls, no two manifests get one number unless both say so.
func TestWritersBesideEachOther(t *testing.T) {
	t.Parallel()
	for _, n := range traceOfABackup(t).Numbers(writertest.Error) {
		synctest.Test(t, func(t *testing.T) { twoBackups(t, n) })
	}
}

func twoBackups(t *testing.T, n int) {
	t.Helper()
	w := writertest.New(t)
	w.MustWrite(t, writertest.Backup{Chunks: []string{"a", "b"}})
	gate := faulty.NewGate()
	primary, secondary := w.Hold(n, n%2 == 0, gate)
	ended := make(chan error, 1)
	go func() {
		_, err := w.Write(t.Context(), w.Options(t, w.Archive(t, primary, secondary)), changed())
		ended <- err
	}()
	<-gate.Reached()
	_, other := w.Write(t.Context(), w.Options(t, w.Archive(t)), writertest.Backup{Chunks: []string{"x"}})
	gate.Release()
	one := <-ended
	writertest.Sound(t, w)
	h, err := history.Read(t.Context(), w.Archive(t))
	if err != nil {
		t.Fatalf("call %d: %s", n, fault.Line(err))
	}
	if one != nil && other != nil {
		t.Fatalf("call %d: both failed: %v, %v", n, one, other)
	}
	if _, err := h.Choose(t.Context(), history.Request{}); err != nil && !fault.Is(err, fault.Fenced) {
		t.Fatalf("call %d: got %s, want a choice or a fork by name", n, fault.Line(err))
	}
}
