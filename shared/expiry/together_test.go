package expiry_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"tidemark/shared/archive"
	"tidemark/shared/archive/archivetest/faulty"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/notice"
	"tidemark/shared/archive/writer"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/fault"
	"tidemark/shared/signing"
)

// TestExpirersAtOnce holds an expirer at each call of both phases while another runs to its end. What the other removed in
// between is no damage: the first goes on, and nothing is lost.
func TestExpirersAtOnce(t *testing.T) {
	t.Parallel()
	for _, phase := range []int{1, 2} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("phase=%d/after=%t", phase, after), func(t *testing.T) {
				t.Parallel()
				world := worlds(t, phase == 2)
				for _, n := range traceOfASweep(t, world()).Numbers(where(after)) {
					synctest.Test(t, func(t *testing.T) { expireTogether(t, world(), n, after) })
				}
			})
		}
	}
}

func expireTogether(t *testing.T, w *writertest.World, n int, after bool) {
	t.Helper()
	gate := faulty.NewGate()
	primary, secondary := w.Hold(n, after, gate)
	ended := make(chan error, 1)
	go func() {
		_, err := confirm(t.Context(), w, w.Archive(t, primary, secondary))
		ended <- err
	}()
	<-gate.Reached()
	if _, err := confirm(t.Context(), w, w.Archive(t)); err != nil {
		t.Errorf("call %d: the second: %s", n, fault.Line(err))
	}
	gate.Release()
	if err := <-ended; err != nil {
		call := last(primary, secondary)
		t.Errorf("call %d, %s %s: the first: %s", n, call.Method, call.Key, fault.Line(err))
	}
	clean(t, w)
	if counts := writertest.Sound(t, w); len(counts) != 2 || count(t, w.Primary, layout.Objects) != 5 {
		t.Errorf("call %d: %d manifests count, %d objects, want 2 and 5", n, len(counts), count(t, w.Primary, layout.Objects))
	}
}

// A sweeper that names nothing takes its record back once it knows the time. Whoever has listed it and then reads it goes on.
func TestSweepThatIsTakenBackStopsNobody(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(ctx context.Context, w *writertest.World, a *archive.Archive) error{
		"AnExpirer": func(ctx context.Context, w *writertest.World, a *archive.Archive) error {
			_, err := confirm(ctx, w, a)
			return err
		},
		"AWriter": func(ctx context.Context, w *writertest.World, a *archive.Archive) error {
			_, err := writer.Begin(ctx, writer.Options{Archive: a, Signers: []signing.Signer{w.Key}, Now: w.Now}, notice.Run{
				Lineage: 1, RunID: w.NextRun(), Seq: 6, Life: writertest.Life(1), Attempt: 1, Actor: "test", Tool: "test",
			})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := worlds(t, true)()
				taking, reading := faulty.NewGate(), faulty.NewGate()
				sweeper, other := make(chan error, 1), make(chan error, 1)
				a := w.Archive(t, faulty.New(w.Primary, holding(taking, "Delete", layout.Sweeps)), w.Secondary)
				go func() {
					_, err := confirm(t.Context(), w, a)
					sweeper <- err
				}()
				<-taking.Reached()
				b := w.Archive(t, faulty.New(w.Primary, holding(reading, "Read", layout.Sweep(2))), w.Secondary)
				go func() { other <- act(t.Context(), w, b) }()
				<-reading.Reached()
				taking.Release()
				if err := <-sweeper; err != nil {
					t.Errorf("the sweeper: %s", fault.Line(err))
				}
				reading.Release()
				if err := <-other; err != nil {
					t.Errorf("the other: %s", fault.Line(err))
				}
				clean(t, w)
			})
		})
	}
}

// last is the last call of one of the buckets.
func last(buckets ...*faulty.Bucket) (call faulty.Call) {
	for _, bucket := range buckets {
		if calls := bucket.Calls(); len(calls) > 0 {
			call = calls[len(calls)-1]
		}
	}
	return call
}
