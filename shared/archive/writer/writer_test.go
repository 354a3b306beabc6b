package writer_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/notice"
	"tidemark/shared/archive/packing"
	"tidemark/shared/archive/writer"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/fault"
	"tidemark/shared/signing"
)

func choose(t *testing.T, a *archive.Archive) (history.Choice, error) {
	t.Helper()
	h, err := history.Read(t.Context(), a)
	if err != nil {
		return history.Choice{}, err
	}
	return h.Choose(t.Context(), history.Request{})
}

func TestWriterCommits(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	c := w.MustWrite(t, writertest.Backup{Chunks: []string{"a", "b"}, Next: 7})
	if c.Copies != 2 || len(c.Warnings) > 0 || c.ID.Seq != 1 {
		t.Fatalf("got %+v, want two copies of manifest 1 and no warning", c)
	}
	choice, err := choose(t, w.Archive(t))
	if err != nil || choice.Manifest.Digest != c.Digest || choice.Body.Cut[0].NextOffset != 7 {
		t.Fatalf("got %+v, %v, want the manifest that was committed", choice.Manifest, err)
	}
	for _, bucket := range []archive.Bucket{w.Primary, w.Secondary} {
		alone, err := choose(t, w.Archive(t, bucket))
		if err != nil || alone.Manifest.Digest != c.Digest {
			t.Errorf("one bucket alone: got %v, %v, want the same manifest", alone.Manifest.ID, err)
		}
	}
	if !choice.Body.Store.CreateOnly {
		t.Error("the body does not say that the store was seen to refuse a second write")
	}
}

func TestWriterStoresUnchangedChunksOnce(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	w.MustWrite(t, writertest.Backup{Chunks: []string{"a", "b"}})
	before := keys(t, w.Primary, layout.Objects)
	w.Pass(time.Hour)
	w.MustWrite(t, writertest.Backup{Chunks: []string{"a", "b", "c"}})
	if added := len(keys(t, w.Primary, layout.Objects)) - len(before); added != 2 {
		t.Errorf("got %d new objects, want the new chunk and the body", added)
	}
}

// A crash leaves objects that no manifest names. Equal bytes have equal names, so the next run finds them stored.
func TestWriterFindsWhatACrashLeft(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	a := w.Archive(t)
	run := begin(t, w, a)
	if _, err := run.Store(t.Context(), pack(t, w, a, "a")); err != nil {
		t.Fatal(err)
	}
	w.MustWrite(t, writertest.Backup{Chunks: []string{"a"}})
	if got := len(keys(t, w.Primary, layout.Objects)); got != 2 {
		t.Errorf("got %d objects, want the chunk once and the body", got)
	}
}

func TestWriterRefusesAnotherTargetsPrefix(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	w.MustWrite(t, writertest.Backup{Chunks: []string{"a"}})
	before := keys(t, w.Primary, "")
	other := w.Archive(t)
	other.Target = "other-target"
	_, err := w.Write(t.Context(), w.Options(t, other), writertest.Backup{Chunks: []string{"b"}})
	if !errors.Is(err, archive.ErrForeign) || !fault.Is(err, fault.Misconfigured) {
		t.Errorf("got %v, want archive.ErrForeign", err)
	}
	_, err = writer.Begin(t.Context(), w.Options(t, other), aRun(w))
	if !errors.Is(err, archive.ErrForeign) {
		t.Errorf("got %v, want archive.ErrForeign", err)
	}
	if after := keys(t, w.Primary, ""); !slices.Equal(before, after) {
		t.Errorf("got %q, want nothing written", after)
	}
}

// R2: whoever was recovered elsewhere must not go on, whether the later life began before the run or in its course.
func TestWriterIsFencedByALaterLife(t *testing.T) {
	t.Parallel()
	t.Run("BeforeItBegins", func(t *testing.T) {
		t.Parallel()
		w := writertest.New(t)
		w.MustWrite(t, writertest.Backup{Chunks: []string{"a"}})
		w.MustWrite(t, writertest.Backup{Lineage: 2, Chunks: []string{"a"}})
		_, err := w.Write(t.Context(), w.Options(t, w.Archive(t)), writertest.Backup{Chunks: []string{"b"}})
		if !errors.Is(err, writer.ErrSuperseded) || !fault.Is(err, fault.Fenced) {
			t.Errorf("got %v, want writer.ErrSuperseded", err)
		}
	})
	t.Run("BeforeItSigns", func(t *testing.T) {
		t.Parallel()
		w := writertest.New(t)
		a := w.Archive(t)
		run := begin(t, w, a)
		w.MustWrite(t, writertest.Backup{Lineage: 2, Chunks: []string{"a"}})
		_, err := run.Commit(t.Context(), w.Body(0))
		if !errors.Is(err, writer.ErrSuperseded) {
			t.Errorf("got %v, want writer.ErrSuperseded", err)
		}
		if got := keys(t, w.Primary, layout.Manifests+"0000000001/"); len(got) > 0 {
			t.Errorf("got %q, want no manifest of the first life", got)
		}
	})
}

// Two databases that both believe to be the target's first life: a clone, or an init beside a forgotten database.
func TestWriterRefusesASecondIncarnationOfOneLineage(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	w.MustWrite(t, writertest.Backup{Chunks: []string{"a"}})
	run := aRun(w)
	run.Life = writertest.Life(9)
	_, err := writer.Begin(t.Context(), w.Options(t, w.Archive(t)), run)
	if !errors.Is(err, writer.ErrLineageTaken) || !fault.Is(err, fault.Fenced) {
		t.Errorf("got %v, want writer.ErrLineageTaken", err)
	}
}

// Two runs that read the same newest number would fork the lineage; the second to sign finds the first.
func TestWriterRefusesANumberThatIsTaken(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	run := begin(t, w, w.Archive(t))
	w.MustWrite(t, writertest.Backup{Chunks: []string{"a"}})
	if _, err := run.Commit(t.Context(), w.Body(0)); !errors.Is(err, history.ErrForked) {
		t.Errorf("got %v, want history.ErrForked", err)
	}
	if _, err := choose(t, w.Archive(t)); err != nil {
		t.Errorf("got %v, want the first one usable", err)
	}
}

// B4: a frozen run thaws after a sweep's patience. It must not vouch for objects that were swept meanwhile.
func TestWriterRefusesToSignTooLate(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	run := begin(t, w, w.Archive(t))
	w.Pass(history.RunLife + time.Minute)
	if _, err := run.Commit(t.Context(), w.Body(0)); !errors.Is(err, writer.ErrTooOld) {
		t.Errorf("got %v, want writer.ErrTooOld", err)
	}
}

func TestWriterNeverSignsWhatItsReadersWouldRefuse(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	options := w.Options(t, w.Archive(t))
	options.Signers = []signing.Signer{writertest.NewKey(t, 2)}
	_, err := w.Write(t.Context(), options, writertest.Backup{Chunks: []string{"a"}})
	if !fault.Is(err, fault.Misconfigured) || !errors.Is(err, signing.ErrUntrusted) {
		t.Errorf("got %v, want a refusal that says that the key is not pinned", err)
	}
	if got := keys(t, w.Primary, layout.Manifests); len(got) > 0 {
		t.Errorf("got %q, want no manifest", got)
	}
}

// Somebody put other bytes where a chunk's must go: the chunk gets another form, and what is there stays.
func TestWriterStoresBesideADamagedObject(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	a := w.Archive(t)
	packed := pack(t, w, a, "a")
	if err := w.Primary.Create(t.Context(), layout.Object(packed.Object.Digest), []byte("rot")); err != nil {
		t.Fatal(err)
	}
	c := w.MustWrite(t, writertest.Backup{Chunks: []string{"a"}})
	if len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], packed.Object.Digest.String()) {
		t.Errorf("got warnings %q, want one that names the object", c.Warnings)
	}
	if _, err := choose(t, a); err != nil {
		t.Errorf("got %v, want a manifest that can be used", err)
	}
}

func TestWriterRefusesToSignWhenAReusedObjectWent(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	w.MustWrite(t, writertest.Backup{Chunks: []string{"a"}})
	a := w.Archive(t)
	choice, err := choose(t, a)
	if err != nil {
		t.Fatal(err)
	}
	run := begin(t, w, a)
	object := choice.Body.Tables[0].Chunks[0].Object
	if ok, err := run.Reuse(t.Context(), object); err != nil || !ok {
		t.Fatalf("got %v, %v, want it reused", ok, err)
	}
	if err := w.Primary.Delete(t.Context(), layout.Object(object.Digest)); err != nil {
		t.Fatal(err)
	}
	if _, err := run.Commit(t.Context(), w.Body(0)); !fault.Is(err, fault.Retryable) || !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("got %v, want a refusal that another run mends", err)
	}
	if ok, err := begin(t, w, a).Reuse(t.Context(), object); err != nil || ok {
		t.Errorf("got %v, %v, want the next run to store it anew", ok, err)
	}
}

func TestWriterLocksWhatItWritesAndReuses(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	options := w.Options(t, w.Archive(t))
	options.Retain = 48 * time.Hour
	if _, err := w.Write(t.Context(), options, writertest.Backup{Chunks: []string{"a"}}); err != nil {
		t.Fatal(err)
	}
	w.Pass(47 * time.Hour)
	if _, err := w.Write(t.Context(), options, writertest.Backup{Chunks: []string{"a"}}); err != nil {
		t.Fatal(err)
	}
	w.Pass(2 * time.Hour) // the first lock of the chunk is over
	key := layout.Object(pack(t, w, options.Archive, "a").Object.Digest)
	if err := w.Primary.Delete(t.Context(), key); !errors.Is(err, archive.ErrLocked) {
		t.Errorf("got %v, want the reused chunk locked for as long as its newest manifest", err)
	}
}

func keys(t *testing.T, bucket archive.Bucket, prefix string) []string {
	t.Helper()
	var found []string
	for info, err := range bucket.List(t.Context(), prefix) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, info.Key)
	}
	return found
}

func aRun(w *writertest.World) notice.Run {
	return notice.Run{Lineage: 1, RunID: w.NextRun(), Seq: 1, Life: writertest.Life(1), Attempt: 1, Actor: "test", Tool: "test"}
}

func begin(t *testing.T, w *writertest.World, a *archive.Archive) *writer.Run {
	t.Helper()
	run, err := writer.Begin(t.Context(), w.Options(t, a), aRun(w))
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	return run
}

func pack(t *testing.T, w *writertest.World, a *archive.Archive, plain string) packing.Packed {
	t.Helper()
	packed, err := w.Options(t, a).Pack([]byte(plain))
	if err != nil {
		t.Fatal(err)
	}
	return packed
}
