package mirror_test

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
	"tidemark/shared/archive/mirror"
	"tidemark/shared/archive/notice"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/manifest/document"
)

// opened is a manifest and its body, as Copy takes them.
func opened(t *testing.T, w *writertest.World, id layout.ID) (history.Manifest, body.Body) {
	t.Helper()
	h, err := history.Read(t.Context(), w.Archive(t))
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	choice, err := h.Choose(t.Context(), history.Request{Run: id.Run, AllowOlder: true})
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	return choice.Manifest, choice.Body
}

// creates are the keys that a bucket was asked to create, in order.
func creates(b *faulty.Bucket) (keys []string) {
	for _, call := range b.Calls() {
		if call.Method == "Create" {
			keys = append(keys, call.Key)
		}
	}
	return keys
}

func on(method, prefix string, f faulty.Fault) faulty.Plan {
	return func(c faulty.Call) *faulty.Fault {
		if c.Method != method || !strings.HasPrefix(c.Key, prefix) {
			return nil
		}
		return &f
	}
}

func TestCopy(t *testing.T) {
	t.Parallel()
	t.Run("WritesTheStatementBehindAllThatItNeeds", func(t *testing.T) {
		t.Parallel()
		w, c := behind(t, []string{"a", "b", "c"})
		m, b := opened(t, w, c[0].ID)
		to := faulty.New(w.Secondary)
		a := w.Archive(t, w.Primary, to)
		if err := mirror.Copy(t.Context(), a.Places[0], a.Places[1], m, b); err != nil {
			t.Fatal(fault.Line(err))
		}
		want := []string{
			layout.Owner, layout.Lineages, layout.Runs, layout.Objects, layout.Objects, layout.Objects,
			layout.Object(m.Statement.Body.Digest), layout.Manifest(m.ID), layout.End(layout.Run(1, m.Run)),
		}
		got := creates(to)
		if len(got) != len(want) {
			t.Fatalf("created %q, want %d keys", got, len(want))
		}
		for i, key := range got {
			if !strings.HasPrefix(key, want[i]) {
				t.Errorf("call %d created %s, want %s", i, key, want[i])
			}
		}
	})
	t.Run("GoesOnWhereItStopped", func(t *testing.T) {
		t.Parallel()
		w, c := behind(t, []string{"a", "b", "c"})
		m, b := opened(t, w, c[0].ID)
		body := layout.Object(m.Statement.Body.Digest)
		full := fault.New(fault.Misconfigured, "the disk is full")
		a := w.Archive(t, w.Primary, faulty.New(w.Secondary, on("Create", body, faulty.Fault{Fail: full})))
		if err := mirror.Copy(t.Context(), a.Places[0], a.Places[1], m, b); !errors.Is(err, full) {
			t.Fatalf("got %v, want what the store said", err)
		}
		to := faulty.New(w.Secondary)
		a = w.Archive(t, w.Primary, to)
		if err := mirror.Copy(t.Context(), a.Places[0], a.Places[1], m, b); err != nil {
			t.Fatal(fault.Line(err))
		}
		for _, key := range creates(to) {
			if strings.HasPrefix(key, layout.Objects) && key != body {
				t.Errorf("%s was stored a second time", key)
			}
		}
		if counts := writertest.Sound(t, w); !counts[m.ID] {
			t.Error("the copy does not count")
		}
	})
	t.Run("RefusesADamagedSource", func(t *testing.T) {
		t.Parallel()
		w, c := behind(t, []string{"a"})
		m, b := opened(t, w, c[0].ID)
		damaged := layout.Object(b.Objects()[0].Digest)
		replace(t, w.Primary, damaged, string(make([]byte, b.Objects()[0].Size)))
		a := w.Archive(t)
		if err := mirror.Copy(t.Context(), a.Places[0], a.Places[1], m, b); !fault.Is(err, fault.Corrupt) {
			t.Errorf("got %v, want fault.Corrupt", err)
		}
		for _, key := range []string{damaged, layout.Manifest(m.ID)} {
			if _, err := w.Secondary.Stat(t.Context(), key); !errors.Is(err, archive.ErrNotFound) {
				t.Errorf("%s came to the other bucket: %v", key, err)
			}
		}
	})
	t.Run("WaitsForTheEndOfASweep", func(t *testing.T) {
		t.Parallel()
		w, c := behind(t, []string{"a"})
		m, b := opened(t, w, c[0].ID)
		put(t, w.Secondary, layout.Sweep(1), notice.Sweep{
			Version: document.Version, Number: 1, Actor: "test", Objects: []manifest.Digest{b.Objects()[0].Digest},
		})
		a := w.Archive(t)
		if err := mirror.Copy(t.Context(), a.Places[0], a.Places[1], m, b); !errors.Is(err, mirror.ErrSwept) || !fault.Is(err, fault.Retryable) {
			t.Errorf("got %v, want ErrSwept", err)
		}
		put(t, w.Secondary, layout.End(layout.Sweep(1)), notice.SweepEnd{
			Version: document.Version, Number: 1, Removed: []manifest.Digest{}, Spared: []manifest.Digest{}, Locked: []manifest.Digest{},
		})
		if err := mirror.Copy(t.Context(), a.Places[0], a.Places[1], m, b); err != nil {
			t.Errorf("after its end: %v", err)
		}
	})
	t.Run("LeavesAnothersOwnerAlone", func(t *testing.T) {
		t.Parallel()
		w, c := behind(t, []string{"a"})
		m, b := opened(t, w, c[0].ID)
		put(t, w.Secondary, layout.Owner, notice.Owner{Version: document.Version, TargetID: "other-target"})
		a := w.Archive(t, w.Primary, overwriting{w.Secondary})
		if err := mirror.Copy(t.Context(), a.Places[0], a.Places[1], m, b); !errors.Is(err, archive.ErrForeign) || !fault.Is(err, fault.Misconfigured) {
			t.Errorf("got %v, want archive.ErrForeign", err)
		}
		owner, err := w.Secondary.Read(t.Context(), layout.Owner, archive.Span{Limit: 1 << 10})
		if err != nil || !strings.Contains(string(owner), "other-target") {
			t.Errorf("the other target's owner is now %q, %v", owner, err)
		}
	})
	t.Run("GoesOnBesideGarbageAmongTheNotices", func(t *testing.T) {
		t.Parallel()
		for _, key := range []string{"keeps/readme.txt", "lineages/notes.txt", layout.Revocation("22222222-0000-4000-8000-000000000001")} {
			w, c := behind(t, []string{"a"})
			m, b := opened(t, w, c[0].ID)
			replace(t, w.Primary, key, string(make([]byte, notice.MaxSize+1)))
			a := w.Archive(t)
			if err := mirror.Copy(t.Context(), a.Places[0], a.Places[1], m, b); err != nil {
				t.Errorf("%s: %v", key, err)
			}
		}
	})
}

// The secondary is down for a backup and back for the next; what the first one left is mended.
func TestSecondaryDownThenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := writertest.New(t)
		down := faulty.New(w.Secondary, func(faulty.Call) *faulty.Fault {
			return &faulty.Fault{Fail: fault.New(fault.Retryable, "the store is down")}
		})
		missed, err := w.Write(t.Context(), w.Options(t, w.Archive(t, w.Primary, down)), writertest.Backup{Chunks: []string{"a"}})
		if err != nil || missed.Copies != 1 || len(missed.Warnings) == 0 {
			t.Fatalf("got %+v, %v, want one copy and a warning", missed, err)
		}
		w.Pass(time.Hour)
		next := w.MustWrite(t, writertest.Backup{Chunks: []string{"a", "b"}})
		if next.Copies != 2 || len(next.Warnings) > 0 {
			t.Errorf("got %+v, want two copies", next)
		}
		done, err := mend(t, w)
		if err != nil || len(done.Copied) != 1 || done.Copied[0] != missed.ID || len(done.Already) != 1 {
			t.Errorf("got %+v, %v, want the missed one copied", done, err)
		}
		if counts := writertest.Sound(t, w); !counts[missed.ID] || !counts[next.ID] {
			t.Errorf("got %v, want both", counts)
		}
	})
}

// A statement that rotted in the other bucket is there, and is no copy.
func TestMendDoesNotTakeADamagedStatementForACopy(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	c := w.MustWrite(t, writertest.Backup{Chunks: []string{"a"}})
	replace(t, w.Secondary, layout.Manifest(c.ID), "garbage")
	done, err := mend(t, w)
	if err != nil || len(done.Already) > 0 || len(done.Failed) != 1 || done.Failed[0].ID != c.ID {
		t.Errorf("got %+v, %v, want it named: the secondary alone has nothing to recover from", done, err)
	}
}

// A mark that expiry prunes while it is copied is no reason to leave the backup without a copy.
func TestCopyGoesOnWhenANoticeGoes(t *testing.T) {
	t.Parallel()
	w, c := behind(t, []string{"a"})
	m, b := opened(t, w, c[0].ID)
	gone := layout.Keep("22222222-0000-4000-8000-000000000001", 1)
	replace(t, w.Primary, gone, "a mark of a manifest that went")
	from := faulty.New(w.Primary, on("Read", gone, faulty.Fault{Fail: fault.New(fault.Retryable, "read: %w", archive.ErrNotFound)}))
	a := w.Archive(t, from, w.Secondary)
	if err := mirror.Copy(t.Context(), a.Places[0], a.Places[1], m, b); err != nil {
		t.Errorf("got %v", err)
	}
}
