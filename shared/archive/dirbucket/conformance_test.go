package dirbucket_test

import (
	"testing"

	"tidemark/shared/archive"
	"tidemark/shared/archive/archivetest"
	"tidemark/shared/archive/dirbucket"
)

func open(t *testing.T, dir string) *dirbucket.Bucket {
	t.Helper()
	bucket, err := dirbucket.Open(dir)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := bucket.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return bucket
}

func openAny(t *testing.T) archive.Bucket {
	t.Helper()
	return open(t, t.TempDir())
}

func TestBucket(t *testing.T) {
	t.Parallel()
	archivetest.Exercise(t, openAny)
}

func TestBucketVersioned(t *testing.T) {
	t.Parallel()
	archivetest.ExerciseVersioned(t, openAny)
}
