package archivetest

import (
	"errors"
	"testing"
	"time"

	"tidemark/shared/archive"
)

// ExerciseRetention holds a bucket with object lock to the contract of archive.Retainer, which it must implement. Its clock
// must go: the suite waits until a lock of a few seconds has run out.
func ExerciseRetention(t *testing.T, open func(t *testing.T) archive.Bucket, options ...Option) {
	t.Helper()
	run(t, open, []exercise{
		{"KeepsALockedObject", keepsALockedObject},
		{"LetsTheLaterLockStay", letsTheLaterLockStay},
		{"LocksNothingThatIsNotThere", func(b *bench) {
			b.mustRefuse(b.retainer().Retain(b.context(), "a", b.storeTime("probe").Add(time.Hour)), archive.ErrNotFound)
			b.mustLack("a")
		}},
	}, options)
}

func (b *bench) retainer() archive.Retainer {
	b.Helper()
	retainer, ok := b.Bucket.(archive.Retainer)
	if !ok {
		b.Fatalf("%T is no archive.Retainer", b.Bucket)
	}
	return retainer
}

func (b *bench) mustRetain(key string, until time.Time) {
	b.Helper()
	if err := b.retainer().Retain(b.context(), key, until); err != nil {
		b.Fatalf("lock %s until %s: %v", key, until, err)
	}
}

// storeTime creates an object to learn what time it is for the store.
func (b *bench) storeTime(key string) time.Time {
	b.Helper()
	b.mustCreate(key, []byte(key))
	info, err := b.Stat(b.context(), key)
	if err != nil {
		b.Fatalf("stat %s: %v", key, err)
	}
	return info.StoredAt
}

func keepsALockedObject(b *bench) {
	now := b.storeTime("a")
	b.mustCreate("free", []byte("free"))
	b.mustRetain("a", now.Add(time.Hour))
	for range 2 {
		b.mustRefuse(b.Delete(b.context(), "a"), archive.ErrLocked)
		b.mustHold("a", []byte("a"))
	}
	b.mustRefuse(b.Create(b.context(), "a", []byte("other")), archive.ErrExists)
	b.mustHold("a", []byte("a"))
	if keys := b.mustList("a"); len(keys) != 1 {
		b.Errorf("list: got %v, want the locked object", keys)
	}
	b.mustDelete("free")
	b.mustLack("free")
}

func letsTheLaterLockStay(b *bench) {
	b.mustCreate("shortened", []byte("shortened"))
	b.mustCreate("extended", []byte("extended"))
	now := b.storeTime("short")
	soon, late := now.Add(4*time.Second), now.Add(time.Hour)
	b.mustRetain("short", soon)
	b.mustRetain("extended", soon)
	b.mustRetain("extended", late)
	b.mustRetain("shortened", late)
	b.mustRetain("shortened", soon)
	b.mustRefuse(b.Delete(b.context(), "short"), archive.ErrLocked)
	b.awaitUnlocked("short")
	for _, key := range []string{"extended", "shortened"} {
		b.mustRefuse(b.Delete(b.context(), key), archive.ErrLocked)
		b.mustHold(key, []byte(key))
	}
}

// awaitUnlocked deletes an object as soon as its lock has run out.
func (b *bench) awaitUnlocked(key string) {
	b.Helper()
	ctx := b.context()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		err := b.Delete(ctx, key)
		if err == nil {
			b.mustLack(key)
			return
		}
		if !errors.Is(err, archive.ErrLocked) {
			b.Fatalf("delete %s: %v", key, err)
		}
		select {
		case <-ctx.Done():
			b.Fatalf("delete %s: its lock did not run out: %v", key, err)
		case <-again.C:
		}
	}
}
