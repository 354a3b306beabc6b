package writer_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/archive/archivetest"
	"tidemark/shared/archive/archivetest/faulty"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/notice"
	"tidemark/shared/archive/writer"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/fault"
	"tidemark/shared/manifest/document"
	"tidemark/shared/signing"
)

// overwriting is a bucket of a store that takes no notice of If-None-Match.
type overwriting struct{ *archivetest.Memory }

func (o overwriting) Create(ctx context.Context, key string, content []byte) error {
	if err := o.Delete(ctx, key); err != nil {
		return err
	}
	return o.Memory.Create(ctx, key, content)
}

// down is the plan of a store that does not answer.
func down(faulty.Call) *faulty.Fault {
	return &faulty.Fault{Fail: fault.New(fault.Retryable, "the store is down")}
}

// A key's window begins while a long backup runs: its statement says that it was created before.
func TestWriterNeverSignsOutsideTheWindowOfItsKey(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	w.MustWrite(t, writertest.Backup{Chunks: []string{"a"}})
	a, next := w.Archive(t), writertest.NewKey(t, 2)
	a.Trusted = append(a.Trusted, signing.Trusted{Key: next.Key(), NotBefore: w.Now().Add(30 * time.Minute)})
	options := w.Options(t, a)
	options.Signers = []signing.Signer{next}
	run, err := writer.Begin(t.Context(), options, notice.Run{
		Lineage: 1, RunID: w.NextRun(), Seq: 2, Life: writertest.Life(1), Attempt: 1, Actor: "test", Tool: "test",
	})
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	snapshot := w.Body(0)
	w.Pass(time.Hour)
	if _, err := run.Commit(t.Context(), snapshot); !fault.Is(err, fault.Misconfigured) {
		t.Errorf("got %v, want fault.Misconfigured: no reader believes that statement", err)
	}
	h, err := history.Read(t.Context(), a)
	if err != nil || len(h.Entries) != 1 {
		t.Errorf("got %v, %v, want no second statement", h.Entries, err)
	}
}

// A store that overwrites must not make a mistaken prefix the end of another target's archive.
func TestWriterLeavesAnothersOwnerAloneWhereTheStoreOverwrites(t *testing.T) {
	t.Parallel()
	owner, err := notice.Encode(notice.Owner{Version: document.Version, TargetID: "other-target"})
	if err != nil {
		t.Fatal(err)
	}
	for name, foreign := range map[string]int{"Primary": 0, "Secondary": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := writertest.New(t)
			bucket := []*archivetest.Memory{w.Primary, w.Secondary}[foreign]
			if err := bucket.Create(t.Context(), layout.Owner, owner); err != nil {
				t.Fatal(err)
			}
			a := w.Archive(t, overwriting{w.Primary}, overwriting{w.Secondary})
			_, err := writer.Begin(t.Context(), w.Options(t, a), aRun(w))
			if !errors.Is(err, archive.ErrForeign) || !fault.Is(err, fault.Misconfigured) {
				t.Errorf("got %v, want archive.ErrForeign", err)
			}
			now, err := bucket.Read(t.Context(), layout.Owner, archive.Span{Limit: 1 << 10})
			if err != nil || string(now) != string(owner) {
				t.Errorf("the other target's owner is now %q, %v", now, err)
			}
			if got := keys(t, bucket, ""); len(got) != 1 {
				t.Errorf("got %q in the other target's prefix", got)
			}
		})
	}
}

// The primary lost the record of its life: a new bucket, or a lifecycle rule. A later night the secondary is down.
func TestWriterMintsALifeOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := writertest.New(t)
		w.MustWrite(t, writertest.Backup{Chunks: []string{"a"}})
		if err := w.Primary.Delete(t.Context(), layout.Lineage(1)); err != nil {
			t.Fatal(err)
		}
		w.MustWrite(t, writertest.Backup{Chunks: []string{"b"}})
		alone := w.Options(t, w.Archive(t, w.Primary, faulty.New(w.Secondary, down)))
		if _, err := w.Write(t.Context(), alone, writertest.Backup{Chunks: []string{"c"}}); err != nil {
			t.Fatal(fault.Line(err))
		}
		if _, err := choose(t, w.Archive(t)); err != nil {
			t.Errorf("got %s, want one life", fault.Line(err))
		}
	})
}

// Two runs of one seq, of which the first is read with a stutter: the second must not take its number again.
func TestWriterCountsFromWhatItCouldRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := writertest.New(t)
		c := w.MustWrite(t, writertest.Backup{Chunks: []string{"a"}})
		key := layout.Manifest(c.ID)
		stutters := func(call faulty.Call) *faulty.Fault {
			if call.Method == "Read" && call.Key == key {
				return &faulty.Fault{Fail: fault.New(fault.Retryable, "the store stutters")}
			}
			return nil
		}
		a := w.Archive(t, faulty.New(w.Primary, stutters), faulty.New(w.Secondary, stutters))
		if _, err := w.Write(t.Context(), w.Options(t, a), writertest.Backup{Chunks: []string{"b"}}); !fault.Is(err, fault.Retryable) {
			t.Errorf("got %v, want fault.Retryable: which number is next is not known", err)
		}
	})
}
