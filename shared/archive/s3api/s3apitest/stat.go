package s3apitest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/fault"
)

// looking holds a Stat to believing absence only from who knows the bucket.
func looking(t *testing.T, open Open) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Open){
		"GivesWhatTheStoreKnows": knows, "SaysWhoIsAbsent": whoIsAbsent, "LetsAKeyComeInBetween": cameBetween,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open)
		})
	}
}

func whoIsAbsent(t *testing.T, open Open) {
	t.Helper()
	for code, want := range map[string]struct {
		class  fault.Class
		absent bool
	}{
		"NoSuchKey": {fault.Retryable, true}, "NoSuchBucket": {fault.Misconfigured, false}, "": {fault.Misconfigured, false},
	} {
		bucket := Serve(t, open, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodHead {
				Refuse(w, http.StatusNotFound, "") // a HEAD has no body
				return
			}
			Refuse(w, http.StatusNotFound, code)
		})
		_, err := bucket.Stat(t.Context(), "k")
		if fault.ClassOf(err) != want.class || errors.Is(err, archive.ErrNotFound) != want.absent {
			t.Errorf("%q: got %v (%s), want %s, absent: %t", code, err, fault.ClassOf(err), want.class, want.absent)
		}
	}
}

// cameBetween: the HEAD did not find it and the GET that asks why does. It was absent then, and there is nothing to repair.
func cameBetween(t *testing.T, open Open) {
	t.Helper()
	for _, content := range []string{"content", ""} {
		bucket := Serve(t, open, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodHead {
				Refuse(w, http.StatusNotFound, "")
				return
			}
			describe(w)
			http.ServeContent(w, r, "", time.Time{}, strings.NewReader(content))
		})
		if _, err := bucket.Stat(t.Context(), "k"); !errors.Is(err, archive.ErrNotFound) {
			t.Errorf("%q: got %v (%s), want it absent", content, err, fault.ClassOf(err))
		}
	}
}

func knows(t *testing.T, open Open) {
	t.Helper()
	const sum = "7XACtDnprIRfIjV9giusFERzD722AW0+yUMil7nsn3M=" // of "content"
	const digest = "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73"
	for name, test := range map[string]struct{ sum, kind, want string }{
		"whole": {sum, "FULL_OBJECT", digest}, "kind unsaid": {sum, "", digest}, "of parts": {sum, "COMPOSITE", ""},
		"of parts, unsaid": {sum + "-2", "", ""}, "none": {"", "", ""}, "broken": {"AAAA", "FULL_OBJECT", ""},
	} {
		bucket := Serve(t, open, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodHead || r.Header.Get("X-Amz-Checksum-Mode") != "ENABLED" {
				t.Errorf("got %s with mode %q", r.Method, r.Header.Get("X-Amz-Checksum-Mode"))
			}
			describe(w)
			w.Header().Set("Content-Length", "7")
			w.Header().Set("X-Amz-Checksum-Sha256", test.sum)
			w.Header().Set("X-Amz-Checksum-Type", test.kind)
		})
		got, err := bucket.Stat(t.Context(), "a/k")
		text := fmt.Sprintf("%s %d %s %s", got.Key, got.Size, got.StoredAt.UTC().Format(http.TimeFormat), got.Checksum)
		if want := fmt.Sprintf("a/k 7 %s %s", modified, test.want); text != want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", name, text, err, want)
		}
	}
}
