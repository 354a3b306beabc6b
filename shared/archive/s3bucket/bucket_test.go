package s3bucket_test

import (
	"testing"

	"tidemark/shared/archive/s3api"
	"tidemark/shared/archive/s3api/s3apitest"
	"tidemark/shared/archive/s3bucket"
)

func open(tb testing.TB, options s3api.Options) *s3api.Bucket {
	tb.Helper()
	bucket, err := s3bucket.Open(tb.Context(), options)
	if err != nil {
		tb.Fatal(err)
	}
	return bucket
}

func TestBucket(t *testing.T) {
	t.Parallel()
	s3apitest.Exercise(t, open)
}
