//go:build integration

package s3api_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"tidemark/localstack/minio"
	"tidemark/shared/archive"
	"tidemark/shared/archive/s3api"
	"tidemark/shared/archive/s3api/s3apitest"
	"tidemark/shared/fault"
)

// TestMinIOOutage is about a store that stands still, dies and comes back.
func TestMinIOOutage(t *testing.T) {
	for adapter, open := range adapters() {
		t.Run(adapter, func(t *testing.T) {
			server, s := startMinIO(t, minio.Options{})
			standsStill(t, open, s, server)
			diesAndComesBack(t, open, s, server)
		})
	}
}

// patience is how long a caller waits for a store that stands still.
const patience = 300 * time.Millisecond

func standsStill(t *testing.T, open s3apitest.Open, s store, outage *minio.Server) {
	t.Helper()
	bucket := open(t, s.with())
	must(t, bucket.Create(t.Context(), "before", []byte("before")))
	must(t, outage.Pause())
	for _, call := range calls() {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err := call.make(ctx, bucket)
		cancel()
		checkOutage(t, call.name, err)
	}
	must(t, outage.Resume())
	// The put that nobody waited for may have landed meanwhile.
	if err := bucket.Create(t.Context(), "k", []byte("content")); err != nil && !errors.Is(err, archive.ErrExists) {
		t.Errorf("create after it went on: got %v, want it done or there", err)
	}
	holds(t, bucket, "k", "content")
	holds(t, bucket, "before", "before")
}

func diesAndComesBack(t *testing.T, open s3apitest.Open, s store, outage *minio.Server) {
	t.Helper()
	bucket := open(t, s.with())
	for i := range 3 {
		must(t, bucket.Create(t.Context(), fmt.Sprintf("before/%d", i), []byte("before")))
	}
	must(t, outage.Kill())
	for _, call := range calls() {
		checkOutage(t, call.name, call.make(t.Context(), bucket))
	}
	must(t, outage.Restart(t.Context()))
	for i := range 3 {
		holds(t, bucket, fmt.Sprintf("before/%d", i), "before")
	}
	must(t, archive.Put(t.Context(), bucket, "k", []byte("content")))
	holds(t, bucket, "k", "content")
}

// checkOutage: nothing is known of a put, everything else may be tried again, and nothing is absent.
func checkOutage(t *testing.T, name string, err error) {
	t.Helper()
	want := fault.Retryable
	if name == "Create" {
		want = fault.UnknownOutcome
	}
	if !fault.Is(err, want) || errors.Is(err, archive.ErrNotFound) || errors.Is(err, archive.ErrExists) {
		t.Errorf("%s: got %v (%s), want %s", name, err, fault.ClassOf(err), want)
	}
}

func holds(t *testing.T, bucket *s3api.Bucket, key, want string) {
	t.Helper()
	got, err := bucket.Read(t.Context(), key, archive.Span{Limit: 100})
	if string(got) != want || err != nil {
		t.Errorf("%s: got %q, %v, want %q", key, got, err, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
