package health_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/archive/archivetest/faulty"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/verdict"
	"tidemark/shared/archive/writer"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/fault"
	"tidemark/shared/health"
	"tidemark/shared/manifest"
	"tidemark/shared/signing"
)

// remembering is a mark in memory.
type remembering struct {
	mark history.Mark
	err  error
}

func (r *remembering) Load(context.Context) (history.Mark, error) { return r.mark, r.err }

func (r *remembering) Raise(_ context.Context, mark history.Mark) error {
	r.mark = mark
	return nil
}

func markOf(c writer.Committed) history.Mark {
	return history.Mark{Lineage: c.ID.Lineage, Seq: c.ID.Seq, Statement: c.Digest}
}

func backups(t *testing.T, w *writertest.World, mark history.HighWater, buckets ...archive.Bucket) health.Backups {
	t.Helper()
	return health.Backups{Archive: w.Archive(t, buckets...), HighWater: mark, Now: w.Now}
}

func TestBackupsFindsAGoodArchiveGood(t *testing.T) {
	t.Parallel()
	w := writertest.New(t)
	c := w.MustWrite(t, writertest.Backup{Chunks: []string{"a"}})
	bucket := faulty.New(w.Primary)
	found := backups(t, w, &remembering{mark: markOf(c)}, bucket, w.Secondary).Examine(t.Context())
	expect(t, found, "newest", health.Fine, "manifest 1/1 verifies", "2 objects")
	expect(t, found, "freshness", health.Fine)
	expect(t, found, "mark", health.Fine, "1/1")
	expect(t, found, "copies", health.Fine)
	for _, call := range bucket.Calls() {
		if call.Method == "Create" || call.Method == "Delete" || call.Method == "Retain" {
			t.Errorf("it was asked to %s %s", call.Method, call.Key)
		}
	}
}

func TestBackupsFinds(t *testing.T) {
	t.Parallel()
	damage := func(t *testing.T, bucket archive.Bucket, key string) {
		t.Helper()
		if err := bucket.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		if err := bucket.Create(t.Context(), key, []byte("garbage")); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		// prepare is given two backups and the mark of the newer one.
		prepare func(t *testing.T, w *writertest.World, mark *remembering, newest writer.Committed)
		check   string
		verdict health.Verdict
		part    string
		is      error
	}{
		"ANewestThatIsDamaged": {func(t *testing.T, w *writertest.World, _ *remembering, c writer.Committed) {
			t.Helper()
			damage(t, w.Primary, layout.Manifest(c.ID))
			damage(t, w.Secondary, layout.Manifest(c.ID))
		}, "freshness", health.Failed, "1/2 was committed", history.ErrOlderThanSeen},
		"ANewestWhoseObjectsAreGone": {func(t *testing.T, w *writertest.World, mark *remembering, c writer.Committed) {
			t.Helper()
			mark.mark = history.Mark{}
			for _, bucket := range []archive.Bucket{w.Primary, w.Secondary} {
				if err := bucket.Delete(t.Context(), layout.Object(c.Statement.Body.Digest)); err != nil {
					t.Fatal(err)
				}
			}
		}, "newest", health.Failed, "tidemark revoke", archive.ErrNotFound},
		"AMarkThatNobodyCouldRaise": {func(_ *testing.T, _ *writertest.World, mark *remembering, _ writer.Committed) {
			mark.mark = history.Mark{Lineage: 1, Seq: 1, Statement: manifest.DigestOf(nil)}
		}, "mark", health.Fine, "1/1", nil},
		"AMarkOfAnotherManifest": {func(_ *testing.T, _ *writertest.World, mark *remembering, _ writer.Committed) {
			mark.mark.Statement = manifest.DigestOf(nil)
		}, "freshness", health.Failed, "not the one", history.ErrForked},
		"AMarkThatCannotBeRead": {func(_ *testing.T, _ *writertest.World, mark *remembering, _ writer.Committed) {
			mark.err = fault.New(fault.Corrupt, "garbage").WithHint("bring it back")
		}, "mark", health.Failed, "bring it back", nil},
		"AnOldBackup": {
			func(_ *testing.T, w *writertest.World, _ *remembering, _ writer.Committed) { w.Pass(25 * time.Hour) },
			"newest", health.Doubtful, "older than 24h", nil,
		},
		"ASecondBucketBehind": {func(t *testing.T, w *writertest.World, _ *remembering, c writer.Committed) {
			t.Helper()
			if err := w.Secondary.Delete(t.Context(), layout.Manifest(c.ID)); err != nil {
				t.Fatal(err)
			}
		}, "copies", health.Doubtful, "the secondary bucket lacks 1 of 2 manifests, the newest 1/2", nil},
		"AFirstBucketBehind": {func(t *testing.T, w *writertest.World, _ *remembering, c writer.Committed) {
			t.Helper()
			if err := w.Primary.Delete(t.Context(), layout.Manifest(c.ID)); err != nil {
				t.Fatal(err)
			}
		}, "copies", health.Doubtful, "tidemark copy --from secondary", nil},
		"AnObjectThatOneBucketLacks": {func(t *testing.T, w *writertest.World, _ *remembering, c writer.Committed) {
			t.Helper()
			if err := w.Secondary.Delete(t.Context(), layout.Object(c.Statement.Body.Digest)); err != nil {
				t.Fatal(err)
			}
		}, "copies", health.Doubtful, "1 objects of the newest", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := writertest.New(t)
			w.MustWrite(t, writertest.Backup{Chunks: []string{"a"}})
			newest := w.MustWrite(t, writertest.Backup{Chunks: []string{"b"}})
			mark := &remembering{mark: markOf(newest)}
			c.prepare(t, w, mark, newest)
			f := expect(t, backups(t, w, mark).Examine(t.Context()), c.check, c.verdict, c.part)
			if c.is != nil && !errors.Is(f.Err, c.is) {
				t.Errorf("got %v, want %v", f.Err, c.is)
			}
		})
	}
	t.Run("AMarkBehind", func(t *testing.T) {
		t.Parallel()
		w := writertest.New(t)
		older := w.MustWrite(t, writertest.Backup{Chunks: []string{"a"}})
		w.MustWrite(t, writertest.Backup{Chunks: []string{"b"}})
		found := backups(t, w, &remembering{mark: markOf(older)}).Examine(t.Context())
		var behind bool
		for _, f := range found {
			behind = behind || f.Check == "mark" && f.Verdict == health.Doubtful
		}
		if !behind {
			t.Errorf("got %+v", found)
		}
	})
	t.Run("OneBucketAndNoMark", func(t *testing.T) {
		t.Parallel()
		w := used(t)
		found := backups(t, w, nil, w.Primary).Examine(t.Context())
		expect(t, found, "copies", health.Doubtful, "TIDEMARK_ARCHIVE_SECONDARY")
		expect(t, found, "freshness", health.Doubtful, "TIDEMARK_HIGH_WATER")
	})
	t.Run("NoBackup", func(t *testing.T) {
		t.Parallel()
		w := writertest.New(t)
		expect(t, backups(t, w, &remembering{}).Examine(t.Context()), "newest", health.Doubtful, "tidemark backup")
		lost := &remembering{mark: history.Mark{Lineage: 1, Seq: 7, Statement: manifest.DigestOf(nil)}}
		expect(t, backups(t, w, lost).Examine(t.Context()), "freshness", health.Failed, "1/7")
	})
	t.Run("ABucketThatDoesNotAnswer", func(t *testing.T) {
		t.Parallel()
		w := used(t)
		away := func(c faulty.Call) *faulty.Fault { return &faulty.Fault{Fail: fault.New(fault.Retryable, "away")} }
		found := backups(t, w, nil, faulty.New(w.Primary, away), w.Secondary).Examine(t.Context())
		expect(t, found, "newest", health.Fine)
		silent(t, found, "copies")
		found = backups(t, w, nil, faulty.New(w.Primary, away), faulty.New(w.Secondary, away)).Examine(t.Context())
		expect(t, found, "readable", health.Failed, "away")
	})
	t.Run("NothingInWhatWasWithdrawn", func(t *testing.T) {
		t.Parallel()
		w := writertest.New(t)
		w.MustWrite(t, writertest.Backup{Chunks: []string{"a"}})
		wrong := w.MustWrite(t, writertest.Backup{Chunks: []string{"b"}})
		_, err := verdict.Withdraw(t.Context(), verdict.Options{Archive: w.Archive(t), Signers: []signing.Signer{w.Key}, Actor: "test", Now: w.Now},
			wrong.ID.Run, "wrong rows")
		if err != nil {
			t.Fatal(err)
		}
		expect(t, backups(t, w, nil).Examine(t.Context()), "newest", health.Fine, "1/1")
	})
}
