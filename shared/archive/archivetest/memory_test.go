package archivetest_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/archive"
	"tidemark/shared/archive/archivetest"
)

func openMemory(*testing.T) archive.Bucket { return archivetest.NewMemory(time.Now) }

func TestMemory(t *testing.T) {
	t.Parallel()
	archivetest.Exercise(t, openMemory, archivetest.KeepsChecksums)
}

func TestMemoryRetention(t *testing.T) {
	t.Parallel()
	archivetest.ExerciseRetention(t, openMemory)
}

func TestMemoryVersioned(t *testing.T) {
	t.Parallel()
	archivetest.ExerciseVersioned(t, openMemory)
}

func TestMemoryHasTheClockOfTheTest(t *testing.T) {
	t.Parallel()
	var elapsed atomic.Int64
	start := time.Date(2026, 3, 1, 12, 0, 0, 999, time.FixedZone("", 3600))
	bucket := archivetest.NewMemory(func() time.Time { return start.Add(time.Duration(elapsed.Load())) })
	create := func(key string) archive.Info {
		if err := bucket.Create(t.Context(), key, nil); err != nil {
			t.Fatalf("create %s: %v", key, err)
		}
		info, err := bucket.Stat(t.Context(), key)
		if err != nil {
			t.Fatalf("stat %s: %v", key, err)
		}
		return info
	}
	first := create("a").StoredAt
	elapsed.Store(int64(time.Hour))
	second := create("b").StoredAt
	want := []time.Time{time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	if diff := cmp.Diff(want, []time.Time{first, second}); diff != "" {
		t.Errorf("stored at (-want +got):\n%s", diff)
	}
	if err := bucket.Retain(t.Context(), "a", second.Add(time.Hour)); err != nil {
		t.Fatalf("retain: %v", err)
	}
	if err := bucket.Delete(t.Context(), "a"); !errors.Is(err, archive.ErrLocked) {
		t.Errorf("delete before: got %v, want %v", err, archive.ErrLocked)
	}
	elapsed.Store(int64(2 * time.Hour))
	if err := bucket.Delete(t.Context(), "a"); err != nil {
		t.Errorf("delete after: %v", err)
	}
}
