package history_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/archive/archivetest/faulty"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/notice"
	"tidemark/shared/archive/verdict"
	"tidemark/shared/archive/writer"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/manifest/document"
	"tidemark/shared/signing"
)

// stuttering is the plan that calls of one kind fail as a call does that may be tried again, all but the first few.
func stuttering(after int, method, prefix string) faulty.Plan {
	return failing(after, method, prefix, fault.New(fault.Retryable, "the store stutters"))
}

func failing(after int, method, prefix string, err error) faulty.Plan {
	return func(c faulty.Call) *faulty.Fault {
		if c.Method != method || !strings.HasPrefix(c.Key, prefix) {
			return nil
		}
		if after--; after >= 0 {
			return nil
		}
		return &faulty.Fault{Fail: err}
	}
}

func put(t *testing.T, bucket archive.Bucket, key string, content []byte) {
	t.Helper()
	if err := bucket.Create(t.Context(), key, content); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, w *writertest.World, b writertest.Backup, buckets ...archive.Bucket) writer.Committed {
	t.Helper()
	c, err := w.Write(t.Context(), w.Options(t, w.Archive(t, buckets...)), b)
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	return c
}

// fork makes two manifests of one number, the second with a higher run id than any other.
func fork(t *testing.T) (w *writertest.World, one, two writer.Committed) {
	t.Helper()
	w = writertest.New(t)
	one = write(t, w, writertest.Backup{Chunks: []string{"a"}}, w.Primary)
	for range 3 {
		w.NextRun() // leaves room for garbage between the two
	}
	put(t, w.Secondary, layout.Lineage(1), content(t, w.Primary, layout.Lineage(1)))
	two = write(t, w, writertest.Backup{Chunks: []string{"b"}}, w.Secondary)
	return w, one, two
}

// Garbage that sorts between the two, or a store that stutters at one of them, must not make a fork look like one backup.
func TestChooseFindsAForkWhateverIsInTheWay(t *testing.T) {
	t.Parallel()
	t.Run("GarbageBetween", func(t *testing.T) {
		t.Parallel()
		w, one, _ := fork(t)
		put(t, w.Primary, layout.Manifest(layout.ID{Lineage: 1, Seq: 1, Run: one.ID.Run[:35] + "3"}), []byte("garbage"))
		if choice, err := choose(t, w.Archive(t), history.Request{}); !errors.Is(err, history.ErrForked) {
			t.Errorf("got %v, %v, want ErrForked", choice.Manifest.ID, err)
		}
	})
	t.Run("AStutter", func(t *testing.T) {
		t.Parallel()
		w, one, _ := fork(t)
		primary := faulty.New(w.Primary, stuttering(0, "Read", layout.Manifest(one.ID)))
		choice, err := choose(t, w.Archive(t, primary, w.Secondary), history.Request{})
		if !fault.Is(err, fault.Retryable) {
			t.Errorf("got %v, %v, want fault.Retryable: the other may be good", choice.Manifest.ID, err)
		}
	})
}

// The secondary's copy of the newest body is damaged and the primary stutters: an older manifest is not taken because a
// store stutters.
func TestChooseWaitsForAStoreThatMayHaveTheNewest(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	w.MustWrite(t, writertest.Backup{Chunks: []string{"a"}})
	newest := w.MustWrite(t, writertest.Backup{Chunks: []string{"b"}})
	key := layout.Object(newest.Statement.Body.Digest)
	replace(t, w.Secondary, key, make([]byte, newest.Statement.Body.Size))
	primary := faulty.New(w.Primary, stuttering(0, "Read", key))
	choice, err := choose(t, w.Archive(t, primary, w.Secondary), history.Request{})
	if !fault.Is(err, fault.Retryable) {
		t.Errorf("got %v after %v, %v, want fault.Retryable", choice.Manifest.ID, choice.Passed, err)
	}
}

// Somebody who may write and has no key puts garbage under the run of a good manifest.
func TestChooseFindsARunBehindGarbageOfItsName(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	c := w.MustWrite(t, writertest.Backup{Chunks: []string{"a"}})
	for _, id := range []layout.ID{{Lineage: 1, Seq: 99, Run: c.ID.Run}, {Lineage: 7, Seq: 1, Run: c.ID.Run}} {
		put(t, w.Primary, layout.Manifest(id), content(t, w.Primary, layout.Manifest(c.ID)))
	}
	choice, err := choose(t, w.Archive(t), history.Request{Run: c.ID.Run})
	if err != nil || choice.Manifest.ID != c.ID {
		t.Errorf("got %v, %v, want the run's own manifest", choice.Manifest.ID, err)
	}
}

// R3: a topic that was made anew begins again at low offsets. What a life saw of the new one is above any offset of the old.
func TestChooseComparesCutsWithinAGeneration(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	base := w.MustWrite(t, writertest.Backup{Chunks: []string{"a"}, Next: 10})
	run, err := writer.Begin(t.Context(), w.Options(t, w.Archive(t)), notice.Run{
		Lineage: 1, RunID: w.NextRun(), Seq: 2, Life: writertest.Life(1), Attempt: 1, Actor: "test", Tool: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	after := w.Body(0)
	after.Cut = body.Cut{{Flow: "shop", Topic: "orders", NextOffset: 3, Generation: 2}}
	if _, err := run.Commit(t.Context(), after); err != nil {
		t.Fatal(fault.Line(err))
	}
	mint(t, w, base, 10)
	choice, err := choose(t, w.Archive(t), history.Request{})
	if err != nil || choice.Manifest.ID != base.ID {
		t.Errorf("got %v, %v, want the base: the other has records that the second life never had", choice.Manifest.ID, err)
	}
}

// A withdrawn manifest is not used because this reader cannot read why it was withdrawn.
func TestChooseHonoursARevocationThatItCannotRead(t *testing.T) {
	t.Parallel()
	setup := func(t *testing.T) (*writertest.World, writer.Committed, writer.Committed) {
		t.Helper()
		w := writertest.New(t)
		return w, w.MustWrite(t, writertest.Backup{Chunks: []string{"a"}}), w.MustWrite(t, writertest.Backup{Chunks: []string{"bad"}})
	}
	t.Run("OfALaterRelease", func(t *testing.T) {
		t.Parallel()
		w, good, bad := setup(t)
		payload := []byte(`{"version":2,"target_id":"test-target","run_id":"` + bad.ID.Run.String() + `","because":["wrong rows"]}`)
		envelope, err := signing.Seal(t.Context(), notice.RevocationType, payload, w.Key)
		if err != nil {
			t.Fatal(err)
		}
		put(t, w.Primary, layout.Revocation(bad.ID.Run), envelope)
		avoids(t, w.Archive(t), bad, good)
	})
	t.Run("Denied", func(t *testing.T) {
		t.Parallel()
		w, good, bad := setup(t)
		o := verdict.Options{Archive: w.Archive(t), Actor: "test", Now: w.Now, Signers: []signing.Signer{w.Key}}
		if _, err := verdict.Withdraw(t.Context(), o, bad.ID.Run, "wrong rows"); err != nil {
			t.Fatal(err)
		}
		denies := failing(0, "Read", layout.Revoked, denied())
		avoids(t, w.Archive(t, faulty.New(w.Primary, denies), faulty.New(w.Secondary, denies)), bad, good)
	})
}

// avoids fails unless a reader takes the good manifest, or refuses with something that an operator can mend.
func avoids(t *testing.T, a *archive.Archive, bad, good writer.Committed) {
	t.Helper()
	h, err := history.Read(t.Context(), a)
	var choice history.Choice
	if err == nil {
		choice, err = h.Choose(t.Context(), history.Request{})
	}
	if !fault.Is(err, fault.Misconfigured) && (err != nil || choice.Manifest.ID != good.ID) {
		t.Errorf("got %v, %v, want %v or a refusal, and not %v", choice.Manifest.ID, err, good.ID, bad.ID)
	}
}

// Somebody who may write puts the run's record of a late manifest there again, with a time after the manifest's.
func TestLateStaysLateWhenItsRunIsRecordedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := writertest.New(t)
		c := write(t, w, writertest.Backup{Chunks: []string{"a"}}, w.Primary)
		record := content(t, w.Primary, layout.Run(1, c.ID.Run))
		if err := w.Primary.Delete(t.Context(), layout.Run(1, c.ID.Run)); err != nil {
			t.Fatal(err)
		}
		if h := read(t, w.Archive(t)); !h.Entries[0].Late() {
			t.Fatal("a manifest without its run's record is not late")
		}
		w.Pass(time.Hour)
		put(t, w.Primary, layout.Run(1, c.ID.Run), record)
		if h := read(t, w.Archive(t)); !h.Entries[0].Late() {
			t.Error("a manifest from before its run is not late")
		}
	})
}

// A mark or a life that a reader cannot have stops nobody.
func TestReadGoesOnBesideGarbage(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]func(writer.Committed) string{
		"Mark":       func(c writer.Committed) string { return layout.Keep(c.ID.Run, 1) },
		"Revocation": func(c writer.Committed) string { return layout.Revocation(c.ID.Run) },
		"Life":       func(writer.Committed) string { return layout.Lineage(1) },
		"Sweep":      func(writer.Committed) string { return layout.Sweep(1) },
	} {
		for form, garbage := range map[string][]byte{
			"Empty": {}, "Text": []byte("garbage"), "Other": []byte(`{"version":1}`), "Huge": make([]byte, notice.MaxSize+1),
		} {
			t.Run(name+"/"+form, func(t *testing.T) {
				t.Parallel()
				w := writertest.New(t)
				c := w.MustWrite(t, writertest.Backup{Chunks: []string{"a"}})
				replace(t, w.Secondary, key(c), garbage)
				choice, err := choose(t, w.Archive(t), history.Request{})
				if err != nil || choice.Manifest.ID != c.ID {
					t.Errorf("got %v, %v, want the manifest", choice.Manifest.ID, err)
				}
			})
		}
	}
}

// A late manifest that is the only one is not called unusable because the store stutters at a sweep.
func TestWholeSaysThatAStoreStutters(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	c := write(t, w, writertest.Backup{Chunks: []string{"a"}}, w.Primary)
	if err := w.Primary.Delete(t.Context(), layout.Run(1, c.ID.Run)); err != nil {
		t.Fatal(err)
	}
	sweep, err := notice.Encode(notice.Sweep{Version: document.Version, Number: 1, Actor: "test", Objects: []manifest.Digest{}})
	if err != nil {
		t.Fatal(err)
	}
	put(t, w.Primary, layout.Sweep(1), sweep)
	primary := faulty.New(w.Primary, stuttering(0, "Read", layout.Sweeps))
	if choice, err := choose(t, w.Archive(t, primary), history.Request{}); !fault.Is(err, fault.Retryable) {
		t.Errorf("got %v, %v, want fault.Retryable", choice.Manifest.ID, err)
	}
}
