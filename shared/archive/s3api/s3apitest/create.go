package s3apitest

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"tidemark/shared/archive"
	"tidemark/shared/archive/s3api"
	"tidemark/shared/fault"
)

// creating holds a Create to one request that proves what it can.
func creating(t *testing.T, open Open) {
	t.Helper()
	t.Run("IsOneRequestWithItsChecksumInAHeader", func(t *testing.T) { t.Parallel(); oneRequest(t, open) })
	t.Run("IsNeverRepeated", func(t *testing.T) { t.Parallel(); neverRepeated(t, open) })
	t.Run("DoesNotKnowAfterALostReply", func(t *testing.T) { t.Parallel(); lostReply(t, open) })
	t.Run("NamesTheKeyOfSSEKMS", func(t *testing.T) { t.Parallel(); namesKey(t, open) })
	t.Run("RefusesAKeyThatIsNone", func(t *testing.T) {
		t.Parallel()
		bucket := Serve(t, open, func(http.ResponseWriter, *http.Request) { t.Error("something was sent") })
		if err := bucket.Create(t.Context(), "a//b", nil); !fault.Is(err, fault.Bug) {
			t.Errorf("got %v, want a bug", err)
		}
	})
}

func oneRequest(t *testing.T, open Open) {
	t.Helper()
	contents := map[string][]byte{"empty": {}, "small": []byte("content"), "large": bytes.Repeat([]byte("0123456789abcdef"), 20<<16)}
	for name, content := range contents {
		var requests atomic.Int32
		bucket := Serve(t, open, func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			checkPut(t, r, "a/"+name, content)
			w.Header().Set("ETag", `"e"`)
		})
		if err := bucket.Create(t.Context(), "a/"+name, content); err != nil || requests.Load() != 1 {
			t.Errorf("%s: got %v after %d requests, want success after one", name, err, requests.Load())
		}
	}
}

func checkPut(t *testing.T, r *http.Request, key string, content []byte) {
	t.Helper()
	if got, want := r.Method+" "+r.URL.Path, "PUT /"+bucketName+"/"+prefix+"/"+key; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || !bytes.Equal(body, content) || len(r.Trailer) != 0 {
		t.Errorf("%s: got %d bytes, trailer %v, %v; want %d bytes", key, len(body), r.Trailer, err, len(content))
	}
	sum := sha256.Sum256(content)
	for header, want := range map[string]string{
		"If-None-Match": "*", "X-Amz-Checksum-Sha256": base64.StdEncoding.EncodeToString(sum[:]), "X-Amz-Trailer": "",
		"Content-Encoding": "", "Transfer-Encoding": "", "X-Amz-Decoded-Content-Length": "",
		"Content-Length": strconv.Itoa(len(content)),
	} {
		if got := r.Header.Get(header); got != want {
			t.Errorf("%s: %s: got %q, want %q", key, header, got, want)
		}
	}
}

// neverRepeated: our own write that landed would come back as somebody else's (aws-sdk-java-v2#6580).
func neverRepeated(t *testing.T, open Open) {
	t.Helper()
	for name, answer := range map[string]func(http.ResponseWriter){
		"slow down":  func(w http.ResponseWriter) { Refuse(w, http.StatusServiceUnavailable, "SlowDown") },
		"error":      func(w http.ResponseWriter) { Refuse(w, http.StatusInternalServerError, "InternalError") },
		"conflict":   func(w http.ResponseWriter) { Refuse(w, http.StatusConflict, "ConditionalRequestConflict") },
		"expired":    func(w http.ResponseWriter) { Refuse(w, http.StatusBadRequest, "ExpiredToken") },
		"no answer":  func(http.ResponseWriter) { drop() },
		"bad answer": func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) },
	} {
		var requests atomic.Int32
		bucket := Serve(t, open, func(w http.ResponseWriter, _ *http.Request) {
			requests.Add(1)
			answer(w)
		}, func(o *s3api.Options) { o.Attempts = 3 })
		if err := bucket.Create(t.Context(), "k", []byte("content")); err == nil || requests.Load() != 1 {
			t.Errorf("%s: got %v after %d requests, want an error after one", name, err, requests.Load())
		}
	}
}

// lostReply loses the answer to a put that landed: the caller must learn that nothing is known, and the next Create that
// the key is taken.
func lostReply(t *testing.T, open Open) {
	t.Helper()
	var mu sync.Mutex
	var stored []byte
	bucket := Serve(t, open, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case r.Method == http.MethodGet:
			give(w, string(stored))
		case stored != nil:
			Refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
		default:
			stored, _ = io.ReadAll(r.Body) // a short body shows in what is read back
			drop()
		}
	})
	if err := bucket.Create(t.Context(), "k", []byte("content")); !fault.Is(err, fault.UnknownOutcome) || errors.Is(err, archive.ErrExists) {
		t.Errorf("got %v (%s), want an unknown outcome", err, fault.ClassOf(err))
	}
	if err := bucket.Create(t.Context(), "k", []byte("content")); !errors.Is(err, archive.ErrExists) {
		t.Errorf("got %v, want that it exists", err)
	}
	if got, err := bucket.Read(t.Context(), "k", archive.Span{Limit: 10}); string(got) != "content" {
		t.Errorf("got %q, %v", got, err)
	}
}

func namesKey(t *testing.T, open Open) {
	t.Helper()
	bucket := Serve(t, open, func(w http.ResponseWriter, r *http.Request) {
		got := r.Header.Get("X-Amz-Server-Side-Encryption") + " " + r.Header.Get("X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id")
		if got != "aws:kms alias/archive" {
			t.Errorf("got %q", got)
		}
		w.Header().Set("ETag", `"e"`)
	}, func(o *s3api.Options) { o.SSEKMSKeyID = "alias/archive" })
	failed(t, bucket.Create(t.Context(), "k", []byte("content")))
}
