package mirror_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/archive/archivetest"
	"tidemark/shared/archive/archivetest/faulty"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/mirror"
	"tidemark/shared/archive/verdict"
	"tidemark/shared/archive/writer"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/fault"
	"tidemark/shared/signing"
)

// behind is a world whose primary alone has backups of these chunks.
func behind(t *testing.T, backups ...[]string) (*writertest.World, []writer.Committed) {
	t.Helper()
	w := writertest.New(t)
	alone := w.Archive(t, w.Primary)
	committed := make([]writer.Committed, 0, len(backups))
	for _, chunks := range backups {
		c, err := w.Write(t.Context(), w.Options(t, alone), writertest.Backup{Chunks: chunks})
		if err != nil {
			t.Fatal(fault.Line(err))
		}
		committed = append(committed, c)
		w.Pass(time.Hour)
	}
	return w, committed
}

// mend mends the secondary from the primary, through buckets that may break.
func mend(t *testing.T, w *writertest.World, buckets ...archive.Bucket) (mirror.Mended, error) {
	t.Helper()
	a := w.Archive(t, buckets...)
	h, err := history.Read(t.Context(), a)
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	return mirror.Mend(t.Context(), h, a.Places[0], a.Places[1])
}

func remove(t *testing.T, bucket archive.Bucket, keys ...string) {
	t.Helper()
	for _, key := range keys {
		if err := bucket.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
}

// replace puts other content under a key, as somebody with rights on the bucket could.
func replace(t *testing.T, bucket archive.Bucket, key, content string) {
	t.Helper()
	remove(t, bucket, key)
	if err := bucket.Create(t.Context(), key, []byte(content)); err != nil {
		t.Fatal(err)
	}
}

func chunk(t *testing.T, w *writertest.World, c writer.Committed) string {
	t.Helper()
	h, err := history.Read(t.Context(), w.Archive(t))
	if err != nil {
		t.Fatal(err)
	}
	e, err := h.Find(c.ID.Run)
	if err != nil {
		t.Fatal(err)
	}
	m, err := h.Open(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	b, err := h.Body(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	return layout.Object(b.Objects()[0].Digest)
}

func TestMend(t *testing.T) {
	t.Parallel()
	t.Run("CopiesWhatIsMissing", func(t *testing.T) {
		t.Parallel()
		w, c := behind(t, []string{"a"}, []string{"a", "b"})
		done, err := mend(t, w)
		if err != nil || !slices.Equal(done.Copied, []layout.ID{c[1].ID, c[0].ID}) || len(done.Already)+len(done.Failed) > 0 {
			t.Fatalf("got %+v, %v, want both, the newest first", done, err)
		}
		if counts := writertest.Sound(t, w); !counts[c[0].ID] || !counts[c[1].ID] {
			t.Errorf("got %v", counts)
		}
		choice, err := history.Read(t.Context(), w.Archive(t, w.Secondary))
		if err != nil || len(choice.Entries) != 2 {
			t.Errorf("the secondary alone has %v, %v", choice, err)
		}
		done, err = mend(t, w)
		if err != nil || len(done.Already) != 2 || len(done.Copied)+len(done.Failed) > 0 {
			t.Errorf("again: got %+v, %v, want both already there", done, err)
		}
	})
	t.Run("BringsBackAnObjectThatTheOtherLost", func(t *testing.T) {
		t.Parallel()
		w := writertest.New(t)
		c := w.MustWrite(t, writertest.Backup{Chunks: []string{"a"}})
		lost := chunk(t, w, c)
		remove(t, w.Secondary, lost)
		done, err := mend(t, w)
		if err != nil || !slices.Equal(done.Copied, []layout.ID{c.ID}) {
			t.Fatalf("got %+v, %v", done, err)
		}
		if _, err := w.Secondary.Stat(t.Context(), lost); err != nil {
			t.Error(err)
		}
	})
	t.Run("CopiesMarksAndRevocationsToo", func(t *testing.T) {
		t.Parallel()
		w, c := behind(t, []string{"a"}, []string{"b"})
		alone := w.Archive(t, w.Primary)
		o := verdict.Options{Archive: alone, Actor: "test", Now: w.Now, Signers: []signing.Signer{w.Key}}
		if _, err := verdict.Keep(t.Context(), o, c[0].ID.Run, "for the auditors"); err != nil {
			t.Fatal(err)
		}
		if _, err := verdict.Withdraw(t.Context(), o, c[1].ID.Run, "wrong rows"); err != nil {
			t.Fatal(err)
		}
		done, err := mend(t, w)
		if err != nil || !slices.Equal(done.Copied, []layout.ID{c[0].ID}) || !slices.Equal(done.Withdrawn, []layout.ID{c[1].ID}) {
			t.Fatalf("got %+v, %v", done, err)
		}
		for _, key := range []string{layout.Keep(c[0].ID.Run, 1), layout.Revocation(c[1].ID.Run)} {
			if _, err := w.Secondary.Stat(t.Context(), key); err != nil {
				t.Error(err)
			}
		}
		if _, err := w.Secondary.Stat(t.Context(), layout.Manifest(c[1].ID)); !errors.Is(err, archive.ErrNotFound) {
			t.Errorf("a withdrawn manifest was copied: %v", err)
		}
	})
	t.Run("GoesOnAfterADamagedManifest", func(t *testing.T) {
		t.Parallel()
		w, c := behind(t, []string{"a"}, []string{"b"}, []string{"c"}, []string{"d"})
		replace(t, w.Primary, layout.Manifest(c[0].ID), "garbage")
		remove(t, w.Primary, chunk(t, w, c[1]))
		replace(t, w.Primary, layout.Object(c[2].Statement.Body.Digest), "garbage")
		done, err := mend(t, w)
		if err != nil || !slices.Equal(done.Copied, []layout.ID{c[3].ID}) || len(done.Failed) != 3 {
			t.Fatalf("got %+v, %v, want one copied and three failed", done, err)
		}
		for i, failed := range done.Failed {
			if failed.ID != c[2-i].ID || !fault.Is(failed.Reason, fault.Corrupt) {
				t.Errorf("failed: %s: %v", failed.ID, failed.Reason)
			}
		}
		h, err := history.Read(t.Context(), w.Archive(t, w.Secondary))
		if err != nil || len(h.Entries) != 1 {
			t.Errorf("the secondary lists %+v, %v, want the whole one alone", h, err)
		}
	})
	t.Run("FailsByNameWhenBytesRot", func(t *testing.T) {
		t.Parallel()
		w, c := behind(t, []string{"a"}, []string{"b"})
		rotten := chunk(t, w, c[1])
		info, err := w.Primary.Stat(t.Context(), rotten)
		if err != nil {
			t.Fatal(err)
		}
		replace(t, w.Primary, rotten, string(make([]byte, info.Size))) // as long as it was: only its bytes tell
		done, err := mend(t, w)
		if err != nil || len(done.Failed) != 1 || done.Failed[0].ID != c[1].ID || !slices.Equal(done.Copied, []layout.ID{c[0].ID}) {
			t.Fatalf("got %+v, %v", done, err)
		}
	})
	t.Run("RefusesASourceWithoutBackups", func(t *testing.T) {
		t.Parallel()
		w := writertest.New(t)
		if done, err := mend(t, w); !errors.Is(err, history.ErrNoBackup) {
			t.Errorf("got %+v, %v", done, err)
		}
		other, _ := behind(t, []string{"a"})
		if done, err := mend(t, other, other.Secondary, other.Primary); !errors.Is(err, history.ErrNoBackup) {
			t.Errorf("from the empty one: got %+v, %v", done, err)
		}
	})
	t.Run("RefusesAnotherTargetsBucket", func(t *testing.T) {
		t.Parallel()
		w, _ := behind(t, []string{"a"})
		a := w.Archive(t)
		h, err := history.Read(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Secondary.Create(t.Context(), layout.Owner, []byte(`{"version":1,"target_id":"other"}`)); err != nil {
			t.Fatal(err)
		}
		if _, err := mirror.Mend(t.Context(), h, a.Places[0], a.Places[1]); !errors.Is(err, archive.ErrForeign) {
			t.Errorf("got %v", err)
		}
	})
}

// TestMendStoppedAnywhere stops a mending at each of its calls, in each way: nothing is ever listed that is not whole, and the
// next mending completes it.
func TestMendStoppedAnywhere(t *testing.T) {
	t.Parallel()
	for _, form := range writertest.Forms() {
		t.Run(string(form), func(t *testing.T) {
			t.Parallel()
			for n, stopped := 1, true; stopped; n++ {
				w, c := behind(t, []string{"a"}, []string{"a", "b"})
				a := w.Archive(t)
				h, err := history.Read(t.Context(), a)
				if err != nil {
					t.Fatal(err)
				}
				primary, secondary := w.Break(n, form)
				broken := w.Archive(t, primary, secondary)
				_, _ = mirror.Mend(t.Context(), h, broken.Places[0], broken.Places[1]) // what it says is for the operator
				stopped = calls(primary)+calls(secondary) >= n
				writertest.Sound(t, w)
				if done, err := mend(t, w); err != nil || len(done.Copied)+len(done.Already) != 2 {
					t.Fatalf("call %d: then got %+v, %v", n, done, err)
				}
				if counts := writertest.Sound(t, w); !counts[c[0].ID] || !counts[c[1].ID] {
					t.Fatalf("call %d: got %v", n, counts)
				}
			}
		})
	}
}

var _ archive.Bucket = (*archivetest.Memory)(nil)

func calls(b *faulty.Bucket) int { return len(b.Calls()) }
