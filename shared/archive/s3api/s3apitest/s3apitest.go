// Package s3apitest holds the adapters of the S3 API to the rules of package s3api: each answer that a store can give is
// given to the adapter's real client by a server of ours, over HTTP, and what the caller sees is compared.
//
// It owns what no real store does on demand: lost replies, broken bodies, wrong order, locks that come in between. What a store
// does by itself is the business of archivetest; what each answer means, of the tests of s3api, which use Serve and Refuse. Every test has a server of its own.
package s3apitest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"tidemark/shared/archive/s3api"
)

// Open makes the adapter's bucket.
type Open func(tb testing.TB, options s3api.Options) *s3api.Bucket

// Secret is the secret key of Options. No error may show it.
const Secret = "not-to-be-shown"

// Exercise holds an adapter to the rules.
func Exercise(t *testing.T, open Open) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Open){
		"Create": creating, "Read": reading, "Stat": looking, "List": listing, "Delete": deleting, "Retain": retaining,
		"Describe": describing,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open)
		})
	}
}

const (
	bucketName = "backups"
	prefix     = "team/archive"
	modified   = "Mon, 02 Nov 2026 10:00:00 GMT"
)

// Options are how a server of ours is reached, with a single try.
func Options(endpoint string) s3api.Options {
	return s3api.Options{
		Bucket: bucketName, Prefix: prefix, Region: "us-east-1", Endpoint: endpoint, PathStyle: true, Attempts: 1,
		Credentials: s3api.Credentials{AccessKey: "access", SecretKey: Secret},
	}
}

// Serve makes a bucket on a server that answers by handler.
func Serve(t *testing.T, open Open, handler http.HandlerFunc, change ...func(*s3api.Options)) *s3api.Bucket {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	o := Options(server.URL)
	for _, c := range change {
		c(&o)
	}
	return open(t, o)
}

// Refuse answers with an error as stores write it. Without a code the answer has no body.
func Refuse(w http.ResponseWriter, status int, code string) {
	if code == "" {
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", "application/xml")
	w.Header().Set("X-Amz-Request-Id", "REQ1")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>said\n by the store</Message>"+
		"<RequestId>REQ1</RequestId></Error>", code)
}

// give answers with content.
func give(w http.ResponseWriter, content string) {
	describe(w)
	_, _ = io.WriteString(w, content)
}

// describe sets what stores say of an object.
func describe(w http.ResponseWriter) {
	w.Header().Set("Last-Modified", modified)
	w.Header().Set("ETag", `"e"`)
}

// hang waits until the client is gone, so that a server can be closed.
func hang(r *http.Request) { <-r.Context().Done() }

// drop breaks the connection without an answer.
func drop() { panic(http.ErrAbortHandler) }

// failed reports an error when there should be none, and says whether it did.
func failed(t *testing.T, err error) bool {
	t.Helper()
	if err != nil {
		t.Errorf("got %v, want no error", err)
	}
	return err != nil
}

// collect reads a listing to its end.
func collect(ctx context.Context, b *s3api.Bucket, prefix string) (keys []string, err error) {
	for info, failed := range b.List(ctx, prefix) {
		if failed != nil {
			return keys, failed
		}
		keys = append(keys, info.Key)
	}
	return keys, nil
}

// flush sends what was written so far.
func flush(w http.ResponseWriter) {
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}
