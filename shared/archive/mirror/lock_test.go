package mirror_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/archive/archivetest"
	"tidemark/shared/archive/archivetest/faulty"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/mirror"
	"tidemark/shared/archive/writer"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/fault"
)

const retention = 48 * time.Hour

// locked is a world whose backups are locked; without the secondary when that is down.
func locked(t *testing.T, w *writertest.World, chunks []string, buckets ...archive.Bucket) writer.Committed {
	t.Helper()
	o := w.Options(t, w.Archive(t, buckets...))
	o.Retain = retention
	c, err := w.Write(t.Context(), o, writertest.Backup{Chunks: chunks})
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	return c
}

// needs are the keys of what a manifest needs to be recovered from, the statement among them.
func needs(t *testing.T, w *writertest.World, id layout.ID) []string {
	t.Helper()
	m, b := opened(t, w, id)
	keys := []string{layout.Manifest(id)}
	for _, object := range history.Objects(m, b) {
		keys = append(keys, layout.Object(object.Digest))
	}
	return keys
}

// mustHold fails unless none of the keys can be deleted now, and all can once their lock has ended.
func mustHold(t *testing.T, w *writertest.World, keys []string) {
	t.Helper()
	later := w.Fork()
	later.Pass(retention)
	for _, key := range keys {
		if err := w.Secondary.Delete(t.Context(), key); !errors.Is(err, archive.ErrLocked) {
			t.Errorf("%s is not locked: %v", key, err)
		}
		if err := later.Secondary.Delete(t.Context(), key); err != nil {
			t.Errorf("%s is locked for longer: %v", key, err)
		}
	}
}

// The second bucket is where backups are when somebody deletes the first.
func TestLocks(t *testing.T) {
	t.Parallel()
	t.Run("WhatABackupWritesAndReuses", func(t *testing.T) {
		t.Parallel()
		w := writertest.New(t)
		locked(t, w, []string{"a"})
		w.Pass(retention - time.Hour)
		c := locked(t, w, []string{"a", "b"})
		if len(c.Warnings) > 0 {
			t.Errorf("warnings %q", c.Warnings)
		}
		w.Pass(2 * time.Hour) // the first lock of the shared chunk is over
		mustHold(t, w, needs(t, w, c.ID))
	})
	t.Run("WhatIsMended", func(t *testing.T) {
		t.Parallel()
		w := writertest.New(t)
		c := locked(t, w, []string{"a", "b"}, w.Primary)
		w.Pass(time.Hour)
		if done, err := mend(t, w); err != nil || len(done.Copied) != 1 {
			t.Fatalf("got %+v, %v", done, err)
		}
		mustHold(t, w, needs(t, w, c.ID))
	})
	t.Run("WhatWasThereAlready", func(t *testing.T) {
		t.Parallel()
		w := writertest.New(t)
		c := locked(t, w, []string{"a", "b"}, w.Primary, unlockable{w.Secondary})
		if done, err := mend(t, w); err != nil || len(done.Already) != 1 {
			t.Fatalf("got %+v, %v", done, err)
		}
		mustHold(t, w, needs(t, w, c.ID))
	})
	t.Run("NothingWhereTheFirstBucketIsNotLocked", func(t *testing.T) {
		t.Parallel()
		w, c := behind(t, []string{"a"})
		if _, err := mend(t, w); err != nil {
			t.Fatal(err)
		}
		remove(t, w.Secondary, needs(t, w, c[0].ID)...)
	})
	t.Run("EachObjectOnce", func(t *testing.T) {
		t.Parallel()
		w := writertest.New(t)
		for range 3 {
			locked(t, w, []string{"a"})
			w.Pass(time.Minute)
		}
		to := faulty.New(w.Secondary)
		if _, err := mend(t, w, w.Primary, to); err != nil {
			t.Fatal(err)
		}
		times := map[string]int{}
		for _, call := range to.Calls() {
			if call.Method == "Retain" {
				times[call.Key]++
			}
		}
		for key, n := range times {
			if n > 1 {
				t.Errorf("%s was locked %d times", key, n)
			}
		}
		if len(times) != 7 { // three statements, three bodies, the chunk
			t.Errorf("%d keys were locked, want 7", len(times))
		}
	})
	t.Run("NothingThatWouldBeOverByNow", func(t *testing.T) {
		t.Parallel()
		for _, alone := range []bool{true, false} {
			w := writertest.New(t)
			to, had := faulty.New(w.Secondary), []archive.Bucket{w.Primary, w.Secondary}
			if alone { // the secondary is new
				had = had[:1]
			}
			locked(t, w, []string{"a"}, had...)
			w.Pass(retention)
			if _, err := w.Write(t.Context(), w.Options(t, w.Archive(t, had...)), writertest.Backup{Chunks: []string{"b"}}); err != nil {
				t.Fatal(err)
			}
			if _, err := mend(t, w, w.Primary, to); err != nil {
				t.Fatal(err)
			}
			for _, call := range to.Calls() {
				if call.Method == "Retain" {
					t.Errorf("%s was locked until a time that is past, which stores refuse", call.Key)
				}
			}
		}
	})
}

// unlockable is a bucket of a store that has no locks.
type unlockable struct{ *archivetest.Memory }

func (unlockable) Retain(context.Context, string, time.Time) error {
	return fault.New(fault.Misconfigured, "retain: the bucket has no object lock")
}

// A second bucket that cannot lock has its copy all the same, and it is said that it is not locked.
func TestCopyThatCannotBeLockedIsACopy(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	c := locked(t, w, []string{"a"}, w.Primary, unlockable{w.Secondary})
	if c.Copies != 2 || len(c.Warnings) != 1 {
		t.Errorf("got %d copies with %q, want two and a warning", c.Copies, c.Warnings)
	}
	w.Pass(time.Hour)
	second, third := locked(t, w, []string{"b"}, w.Primary), locked(t, w, []string{"c"}, w.Primary)
	done, err := mend(t, w, w.Primary, unlockable{w.Secondary})
	if !errors.Is(err, mirror.ErrUnlocked) || !fault.Is(err, fault.Misconfigured) || len(done.Copied) != 2 || len(done.Already) != 1 {
		t.Errorf("got %+v, %v, want all of them and ErrUnlocked", done, err)
	}
	if counts := writertest.Sound(t, w); !counts[c.ID] || !counts[second.ID] || !counts[third.ID] {
		t.Errorf("got %v, want all three", counts)
	}
}

// A store that stutters while a copy is locked must not leave half of it without a lock for good.
func TestLocksAreCompletedAfterAStutter(t *testing.T) {
	t.Parallel()
	for n := range 4 {
		w := writertest.New(t)
		c := locked(t, w, []string{"a", "b"}, w.Primary)
		stutter := func(call faulty.Call) *faulty.Fault {
			if call.Method != "Retain" {
				return nil
			}
			if n--; n == -1 {
				return &faulty.Fault{Fail: fault.New(fault.Retryable, "the store stutters")}
			}
			return nil
		}
		if _, err := mend(t, w, w.Primary, faulty.New(w.Secondary, stutter)); !fault.Is(err, fault.Retryable) {
			t.Errorf("got %v, want fault.Retryable", err)
		}
		if _, err := mend(t, w); err != nil {
			t.Fatal(fault.Line(err))
		}
		mustHold(t, w, needs(t, w, c.ID))
	}
}
