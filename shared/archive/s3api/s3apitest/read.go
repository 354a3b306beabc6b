package s3apitest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/archive/s3api"
	"tidemark/shared/fault"
)

// reading holds a Read to whole, bounded, verified-length content.
func reading(t *testing.T, open Open) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Open){
		"IsRepeated": repeated, "RefusesABrokenBody": brokenBody, "RefusesAStalledBody": stalledBody,
		"RefusesWhatIsTooLargeUnread": tooLarge, "BoundsABodyOfUnknownLength": unknownLength, "AsksForASpan": asksForSpan,
		"RefusesAStoreThatIgnoresSpans": ignoredSpan,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open)
		})
	}
}

func repeated(t *testing.T, open Open) {
	t.Helper()
	var requests atomic.Int32
	bucket := Serve(t, open, func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) == 1 {
			Refuse(w, http.StatusServiceUnavailable, "SlowDown")
			return
		}
		give(w, "content")
	}, func(o *s3api.Options) { o.Attempts = 2 })
	got, err := bucket.Read(t.Context(), "k", archive.Span{Limit: 7})
	if string(got) != "content" || err != nil || requests.Load() != 2 {
		t.Errorf("got %q, %v after %d requests, want the content after two", got, err, requests.Load())
	}
}

func brokenBody(t *testing.T, open Open) {
	t.Helper()
	for name, handler := range map[string]http.HandlerFunc{
		"with a length": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			give(w, "half")
			flush(w)
			drop()
		},
		"in chunks": func(w http.ResponseWriter, _ *http.Request) {
			give(w, "half")
			flush(w)
			drop()
		},
	} {
		got, err := Serve(t, open, handler).Read(t.Context(), "k", archive.Span{Limit: 200})
		if !fault.Is(err, fault.Retryable) || !errors.Is(err, io.ErrUnexpectedEOF) || got != nil {
			t.Errorf("%s: got %q, %v (%s), want nothing and a retryable error", name, got, err, fault.ClassOf(err))
		}
	}
}

func stalledBody(t *testing.T, open Open) {
	t.Helper()
	stalled := make(chan struct{})
	bucket := Serve(t, open, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		give(w, "half")
		flush(w)
		close(stalled)
		hang(r)
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-stalled
		cancel()
	}()
	got, err := bucket.Read(ctx, "k", archive.Span{Limit: 200})
	if !fault.Is(err, fault.Retryable) || !errors.Is(err, context.Canceled) || got != nil {
		t.Errorf("got %q, %v (%s), want nothing and a retryable error", got, err, fault.ClassOf(err))
	}
}

func tooLarge(t *testing.T, open Open) {
	t.Helper()
	bucket := Serve(t, open, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000000000")
		describe(w)
		flush(w)
		hang(r) // whoever reads, waits for ever
	})
	if got, err := bucket.Read(t.Context(), "k", archive.Span{Limit: 9}); !errors.Is(err, archive.ErrTooLarge) || got != nil {
		t.Errorf("got %q, %v, want that it is too large", got, err)
	}
}

func unknownLength(t *testing.T, open Open) {
	t.Helper()
	bucket := Serve(t, open, func(w http.ResponseWriter, _ *http.Request) {
		give(w, "0123")
		flush(w)
		_, _ = io.WriteString(w, "456789")
	})
	if got, err := bucket.Read(t.Context(), "k", archive.Span{Limit: 9}); !errors.Is(err, archive.ErrTooLarge) {
		t.Errorf("limit 9: got %q, %v, want that it is too large", got, err)
	}
	if got, err := bucket.Read(t.Context(), "k", archive.Span{Limit: 10}); string(got) != "0123456789" || err != nil {
		t.Errorf("limit 10: got %q, %v", got, err)
	}
}

func asksForSpan(t *testing.T, open Open) {
	t.Helper()
	const content = "0123456789"
	bucket := Serve(t, open, func(w http.ResponseWriter, r *http.Request) {
		describe(w)
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(content))
	})
	for _, test := range []struct {
		span archive.Span
		want string
	}{
		{archive.Span{Limit: 10}, content},
		{archive.Span{From: 4, Limit: 6}, "456789"},
		{archive.Span{From: 4, Length: 2, Limit: 2}, "45"},
		{archive.Span{Length: 3, Limit: 3}, "012"},
		{archive.Span{From: 8, Length: 5, Limit: 5}, "89"},
		{archive.Span{From: 10, Length: 5, Limit: 5}, ""},
		{archive.Span{From: 11, Limit: 5}, ""},
	} {
		got, err := bucket.Read(t.Context(), "k", test.span)
		if string(got) != test.want || err != nil {
			t.Errorf("%+v: got %q, %v, want %q", test.span, got, err, test.want)
		}
	}
	for _, span := range []archive.Span{{Limit: 9}, {From: 4, Limit: 5}, {From: 4, Length: 3, Limit: 2}} {
		if got, err := bucket.Read(t.Context(), "k", span); !errors.Is(err, archive.ErrTooLarge) {
			t.Errorf("%+v: got %q, %v, want that it is too large", span, got, err)
		}
	}
	for _, span := range []archive.Span{{}, {From: -1, Limit: 1}, {Length: -1, Limit: 1}} {
		if _, err := bucket.Read(t.Context(), "k", span); !fault.Is(err, fault.Bug) {
			t.Errorf("%+v: got %v, want a bug", span, err)
		}
	}
}

func ignoredSpan(t *testing.T, open Open) {
	t.Helper()
	bucket := Serve(t, open, func(w http.ResponseWriter, _ *http.Request) { give(w, "0123456789") })
	for _, span := range []archive.Span{{From: 4, Limit: 100}, {Length: 4, Limit: 100}} {
		if got, err := bucket.Read(t.Context(), "k", span); !fault.Is(err, fault.Misconfigured) {
			t.Errorf("%+v: got %q, %v, want it misconfigured", span, got, err)
		}
	}
}
