//go:build integration

package s3api_test

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"tidemark/shared/archive"
	"tidemark/shared/archive/archivetest"
	"tidemark/shared/archive/s3api"
	"tidemark/shared/archive/s3api/s3apitest"
	"tidemark/shared/fault"
)

// store is a real store, up for the whole test.
type store struct {
	// options say how it is reached. Bucket is one that exists and keeps one version of an object; prefixes in it are the
	// suite's.
	options s3api.Options
	// versioned and locked are buckets that keep versions, and that have object lock. Empty: not exercised.
	versioned, locked string
	// brief leaves out the contract of all buckets.
	brief bool
	// takesAnySecret is a store that checks no signature.
	takesAnySecret bool
}

// exercise holds an adapter and a store to the contract of buckets, and to what they make of wrong settings and of a bad
// line between them. One part after the other: each has thousands of objects, and one machine serves them all.
func (s store) exercise(t *testing.T, open s3apitest.Open) {
	t.Helper()
	of := func(bucket string) func(*testing.T) archive.Bucket {
		return func(t *testing.T) archive.Bucket {
			t.Helper()
			return open(t, s.with(func(o *s3api.Options) { o.Bucket = bucket }))
		}
	}
	if !s.brief {
		t.Run("Contract", func(t *testing.T) {
			archivetest.Exercise(t, of(s.options.Bucket), archivetest.KeepsChecksums)
		})
	}
	if s.versioned != "" {
		t.Run("Versioned", func(t *testing.T) {
			archivetest.ExerciseVersioned(t, of(s.versioned), archivetest.KeepsChecksums)
		})
	}
	if s.locked != "" {
		t.Run("Locked", func(t *testing.T) {
			archivetest.ExerciseVersioned(t, of(s.locked), archivetest.KeepsChecksums)
			archivetest.ExerciseRetention(t, of(s.locked), archivetest.KeepsChecksums)
		})
	}
	for name, test := range map[string]func(*testing.T, s3apitest.Open, store){
		"RefusesAnAbsentBucket": absentBucket, "RefusesAWrongSecret": wrongSecret, "RefusesChangedBytes": changedBytes,
		"CommitsAfterALostReply": commitsAfterLostReply, "DescribesItsBuckets": describesBuckets,
	} {
		t.Run(name, func(t *testing.T) {
			test(t, open, s)
		})
	}
}

// with gives options for a prefix of its own.
func (s store) with(change ...func(*s3api.Options)) s3api.Options {
	o := s.options
	o.Prefix = "t/" + strings.ToLower(rand.Text())
	for _, c := range change {
		c(&o)
	}
	return o
}

// everyCall are all calls of a bucket, deletions and locks too.
func everyCall() []call {
	return append(calls(),
		call{"Delete", func(ctx context.Context, b *s3api.Bucket) error { return b.Delete(ctx, "k") }},
		call{"Describe", func(ctx context.Context, b *s3api.Bucket) error {
			_, err := b.Describe(ctx)
			return err
		}},
	)
}

func absentBucket(t *testing.T, open s3apitest.Open, s store) {
	t.Helper()
	bucket := open(t, s.with(func(o *s3api.Options) { o.Bucket = "absent-" + strings.ToLower(rand.Text()) }))
	for _, call := range everyCall() {
		err := call.make(t.Context(), bucket)
		if !fault.Is(err, fault.Misconfigured) || errors.Is(err, archive.ErrNotFound) || !strings.Contains(fault.HintOf(err), "bucket") {
			t.Errorf("%s: got %v (%s), want it misconfigured", call.name, err, fault.ClassOf(err))
		}
	}
}

func wrongSecret(t *testing.T, open s3apitest.Open, s store) {
	t.Helper()
	if s.takesAnySecret {
		return
	}
	for name, change := range map[string]func(*s3api.Options){
		"secret": func(o *s3api.Options) { o.Credentials.SecretKey = s3apitest.Secret },
		"name":   func(o *s3api.Options) { o.Credentials.AccessKey = "nobody" },
	} {
		bucket := open(t, s.with(change))
		for _, call := range everyCall() {
			err := call.make(t.Context(), bucket)
			if !fault.Is(err, fault.Misconfigured) || !errors.Is(err, archive.ErrDenied) || strings.Contains(fault.Line(err), s3apitest.Secret) {
				t.Errorf("%s, %s: got %v (%s), want it denied", name, call.name, err, fault.ClassOf(err))
			}
		}
	}
}

// between puts a line between adapter and s.
func between(t *testing.T, s store, line func(http.ResponseWriter, *http.Request, http.Handler)) string {
	t.Helper()
	address, err := url.Parse(s.options.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	transport := s.options.Transport()
	t.Cleanup(transport.CloseIdleConnections)
	proxy := &httputil.ReverseProxy{
		// The host is signed: it stays.
		Rewrite:   func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = address.Scheme, address.Host },
		Transport: transport, ErrorLog: quiet(),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { line(w, r, proxy) }))
	t.Cleanup(server.Close)
	return server.URL
}

// changedBytes changes what a put sends: the store sees that it is not what was signed and summed, and keeps nothing.
func changedBytes(t *testing.T, open s3apitest.Open, s store) {
	t.Helper()
	endpoint := between(t, s, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPut {
			r.Body = io.NopCloser(io.MultiReader(io.LimitReader(strings.NewReader("X"), 1), skipFirst(r.Body)))
		}
		next.ServeHTTP(w, r)
	})
	bucket := open(t, s.with(func(o *s3api.Options) { o.Endpoint = endpoint }))
	if err := bucket.Create(t.Context(), "k", []byte("content")); !fault.Is(err, fault.Retryable) ||
		!strings.Contains(fault.HintOf(err), "on their way") {
		t.Errorf("got %v (%s), want it refused", err, fault.ClassOf(err))
	}
	if info, err := bucket.Stat(t.Context(), "k"); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("got %+v, %v, want nothing there", info, err)
	}
}

func skipFirst(r io.Reader) io.Reader {
	_, _ = io.ReadFull(r, make([]byte, 1)) // nothing to skip: the store refuses the length
	return r
}

// commitsAfterLostReply loses the store's first reply to a put.
func commitsAfterLostReply(t *testing.T, open s3apitest.Open, s store) {
	t.Helper()
	var puts atomic.Int32
	endpoint := between(t, s, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPut && puts.Add(1) == 1 {
			next.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r)
	})
	bucket := open(t, s.with(func(o *s3api.Options) { o.Endpoint, o.Attempts = endpoint, 3 }))
	if err := bucket.Create(t.Context(), "k", []byte("content")); !fault.Is(err, fault.UnknownOutcome) {
		t.Errorf("got %v (%s), want an unknown outcome", err, fault.ClassOf(err))
	}
	if err := archive.Put(t.Context(), bucket, "k", []byte("content")); err != nil || puts.Load() != 2 {
		t.Errorf("the same again: got %v after %d puts, want it committed after two", err, puts.Load())
	}
	if err := archive.Put(t.Context(), bucket, "k", []byte("another")); !fault.Is(err, fault.Fenced) {
		t.Errorf("other content: got %v, want it fenced", err)
	}
}

func describesBuckets(t *testing.T, open s3apitest.Open, s store) {
	t.Helper()
	for bucket, want := range map[string]struct{ versioning, lock bool }{
		s.options.Bucket: {false, false}, s.versioned: {true, false}, s.locked: {true, true},
	} {
		if bucket == "" {
			continue
		}
		got, err := open(t, s.with(func(o *s3api.Options) { o.Bucket = bucket })).Describe(t.Context())
		if err != nil || got.Versioning != want.versioning || got.ObjectLock != want.lock || len(got.LifecycleExpires) != 0 || got.ServerTime.IsZero() {
			t.Errorf("%s: got %+v, %v, want %+v, no rules and a time", bucket, got, err, want)
		}
	}
}
