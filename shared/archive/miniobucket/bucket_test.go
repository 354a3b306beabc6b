package miniobucket_test

import (
	"testing"

	"tidemark/shared/archive/miniobucket"
	"tidemark/shared/archive/s3api"
	"tidemark/shared/archive/s3api/s3apitest"
	"tidemark/shared/fault"
)

func open(tb testing.TB, options s3api.Options) *s3api.Bucket {
	tb.Helper()
	bucket, err := miniobucket.Open(options)
	if err != nil {
		tb.Fatal(err)
	}
	return bucket
}

func TestBucket(t *testing.T) {
	t.Parallel()
	s3apitest.Exercise(t, open)
}

func TestOpen(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]s3api.Options{
		"NoRegion":   {Bucket: "backups", Endpoint: "http://127.0.0.1:1"},
		"NoEndpoint": {Bucket: "backups", Region: "us-east-1"},
		"AnOddName":  {Bucket: "Backups_", Region: "us-east-1", Endpoint: "http://127.0.0.1:1"},
	} {
		t.Run("Refuses"+name, func(t *testing.T) {
			t.Parallel()
			if _, err := miniobucket.Open(options); !fault.Is(err, fault.Misconfigured) {
				t.Errorf("got %v (%s), want it misconfigured", err, fault.ClassOf(err))
			}
		})
	}
}
