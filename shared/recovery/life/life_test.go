package life

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/archive/archivetest"
	"tidemark/shared/archive/archivetest/faulty"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/packing"
	"tidemark/shared/archive/writer"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/expiry"
	"tidemark/shared/expiry/policy"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/signing"
)

// minting is a recovery of a world's newest backup that is about to take the second life.
func minting(t *testing.T, w *writertest.World, base writer.Committed, buckets ...archive.Bucket) (Options, Life) {
	t.Helper()
	a := w.Archive(t, buckets...)
	return Options{Archive: a, Signers: []signing.Signer{w.Key}, Pack: w.Options(t, a).Pack, Now: w.Now, Tool: "test"}, Life{
		RunID: "33333333-0000-4000-8000-000000000001", TargetID: writertest.Target, Lineage: 2, Incarnation: writertest.Life(2),
		Base: base.ID, Statement: base.Digest, Began: w.Now(),
		Ends: body.Cut{{Flow: "shop", Topic: "orders", NextOffset: 7, Generation: 1}},
	}
}

func expire(t *testing.T, w *writertest.World) {
	t.Helper()
	o := expiry.Options{Archive: w.Archive(t), Policy: policy.Policy{KeepLast: 9, MinVerified: 1}, Actor: "test", Now: w.Now}
	if _, err := expiry.Run(t.Context(), o, true); err != nil {
		t.Fatal(fault.Line(err))
	}
}

// shared is where a life's record says that its shared history stands.
func shared(t *testing.T, w *writertest.World) manifest.Object {
	t.Helper()
	h, err := history.Read(t.Context(), w.Archive(t))
	if err != nil {
		t.Fatal(err)
	}
	life, known := h.Life(2)
	if !known || life.Recovered == nil {
		t.Fatalf("the second life is not there: %+v", h.Lives)
	}
	return life.Recovered.Shared
}

// A recovery dies between the object and the record, again and again, for longer than a sweep waits. The record of the life
// must not point to what a sweep that is under way takes.
func TestTakeDoesNotLeanOnWhatASweepMayTake(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	base := w.MustWrite(t, writertest.Backup{Chunks: []string{"a"}, Next: 5})
	w.Pass(time.Hour)
	dies := func(c faulty.Call) *faulty.Fault {
		if c.Method == "Create" && strings.HasPrefix(c.Key, layout.Lineages) {
			return &faulty.Fault{Kill: faulty.KillBefore}
		}
		return nil
	}
	for range 3 {
		o, try := minting(t, w, base, faulty.New(w.Primary, dies), w.Secondary)
		if err := o.Take(t.Context(), try); !errors.Is(err, faulty.ErrKilled) {
			t.Fatalf("got %v, want it killed before the record", err)
		}
		w.Pass(time.Minute)
		expire(t, w) // names what it left
	}
	w.Pass(expiry.Grace)
	o, try := minting(t, w, base)
	// The sweeper has made its mark, and goes on when the record is there.
	gate, ended := faulty.NewGate(), make(chan error, 1)
	held := faulty.New(w.Primary, func(c faulty.Call) *faulty.Fault {
		if c.Method == "Delete" && strings.HasPrefix(c.Key, layout.Objects) {
			return &faulty.Fault{Hold: gate}
		}
		return nil
	})
	go func() {
		_, err := expiry.Run(t.Context(), expiry.Options{
			Archive: w.Archive(t, held, w.Secondary), Policy: policy.Policy{KeepLast: 9, MinVerified: 1}, Actor: "test", Now: w.Now,
		}, true)
		ended <- err
	}()
	<-gate.Reached()
	if err := o.Take(t.Context(), try); err != nil {
		t.Fatal(fault.Line(err))
	}
	gate.Release()
	if err := <-ended; err != nil {
		t.Fatal(fault.Line(err))
	}
	for range 3 {
		w.Pass(expiry.Grace + time.Hour)
		expire(t, w)
	}
	object := shared(t, w)
	for _, place := range w.Archive(t).Places {
		if err := archive.Check(t.Context(), place, object); err != nil {
			t.Errorf("the record of the life points to nothing: %v", err)
		}
	}
}

// overwriting is a bucket of a store that takes no notice of If-None-Match.
type overwriting struct{ *archivetest.Memory }

func (o overwriting) Create(ctx context.Context, key string, content []byte) error {
	if err := o.Delete(ctx, key); err != nil {
		return err
	}
	return o.Memory.Create(ctx, key, content)
}

// Another recovery took the life while this one was looking. On a store that overwrites, its record must stay all the same.
func TestTakeDoesNotOverwriteAnothersLife(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	base := w.MustWrite(t, writertest.Backup{Chunks: []string{"a"}, Next: 5})
	o, try := minting(t, w, base, overwriting{w.Primary}, overwriting{w.Secondary})
	pack := o.Pack
	o.Pack = func(plain []byte) (packed packing.Packed, err error) { // comes after the look, before the record
		other, first := minting(t, w, base)
		first.RunID, first.Incarnation = "44444444-0000-4000-8000-000000000001", writertest.Life(3)
		if err := other.Take(t.Context(), first); err != nil {
			t.Fatal(fault.Line(err))
		}
		return pack(plain)
	}
	if err := o.Take(t.Context(), try); !fault.Is(err, fault.Fenced) {
		t.Errorf("got %v, want it held by another", err)
	}
	h, err := history.Read(t.Context(), w.Archive(t))
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	if life, known := h.Life(2); !known || life.Incarnation != writertest.Life(3) {
		t.Errorf("got %+v, want the record of who was first", life)
	}
}
