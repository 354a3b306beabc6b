package s3apitest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/archive"
	"tidemark/shared/fault"
)

const pageSize = 1000

// shelf answers listings from a list of whole keys, in the order in which they stand there.
type shelf struct {
	keys     []string
	requests atomic.Int32
	failAt   int32 // the request that is refused; 0: none
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if s.requests.Add(1) == s.failAt {
		Refuse(w, http.StatusServiceUnavailable, "SlowDown")
		return
	}
	from := 0
	if token := query.Get("continuation-token"); token != "" {
		from, _ = strconv.Atoi(token) // 0 gives the first page again, which no test takes for the right one
	}
	var found []string
	for _, key := range s.keys {
		if strings.HasPrefix(key, query.Get("prefix")) {
			found = append(found, key)
		}
	}
	until := min(from+pageSize, len(found))
	page(w, query.Get("encoding-type") == "url", found[from:until], until, until < len(found))
}

// page writes one answer of a listing.
func page(w http.ResponseWriter, encoded bool, keys []string, token int, more bool) {
	var text strings.Builder
	fmt.Fprintf(&text, "<ListBucketResult><Name>%s</Name><IsTruncated>%t</IsTruncated>", bucketName, more)
	if encoded {
		text.WriteString("<EncodingType>url</EncodingType>")
	}
	if more {
		fmt.Fprintf(&text, "<NextContinuationToken>%d</NextContinuationToken>", token)
	}
	for _, key := range keys {
		if encoded {
			key = strings.ReplaceAll(url.QueryEscape(key), "%2F", "/")
		}
		fmt.Fprintf(&text, "<Contents><Key>%s</Key><LastModified>2026-11-02T10:00:00.000Z</LastModified><Size>7</Size></Contents>", key)
	}
	text.WriteString("</ListBucketResult>")
	w.Header().Set("Content-Type", "application/xml")
	_, _ = w.Write([]byte(text.String()))
}

// listing holds a List to giving all keys, in order, or an error.
func listing(t *testing.T, open Open) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Open){
		"GivesAllPagesInOrder": allPages, "LeavesForeignObjectsAlone": foreignObjects,
		"TakesOddPrefixes": oddPrefixes, "RefusesAnotherOrder": anotherOrder,
		"StopsWithItsReader": stopsEarly, "NeverEndsEarlyInSilence": endsEarly, "RefusesAnAnswerThatIsNone": noAnswer,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open)
		})
	}
}

// numbered are keys in the order of their bytes.
func numbered(count int) (relative, whole []string) {
	for i := range count {
		relative = append(relative, fmt.Sprintf("m/%05d.json", i))
		whole = append(whole, prefix+"/"+relative[i])
	}
	return relative, whole
}

func allPages(t *testing.T, open Open) {
	t.Helper()
	for _, count := range []int{0, 1, pageSize, pageSize + 1, 2500} {
		want, whole := numbered(count)
		stands := &shelf{keys: whole}
		bucket := Serve(t, open, stands.ServeHTTP)
		got, err := collect(t.Context(), bucket, "m/")
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%d keys: %v (-want +got):\n%s", count, err, diff)
		}
		if got, want := int(stands.requests.Load()), max(1, (count+pageSize-1)/pageSize); got != want {
			t.Errorf("%d keys: got %d requests, want %d", count, got, want)
		}
	}
	_, whole := numbered(3)
	for info, err := range Serve(t, open, (&shelf{keys: whole}).ServeHTTP).List(t.Context(), "m/00001") {
		got := fmt.Sprint(info.Key, info.Size, info.StoredAt.UTC().Format(http.TimeFormat), info.Checksum)
		if want := "m/00001.json7" + modified; strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
}

func foreignObjects(t *testing.T, open Open) {
	t.Helper()
	whole := []string{
		prefix + "-next/a", prefix + "/", prefix + "/A b+%ü.json", prefix + "/a", prefix + "/a/", prefix + "/a\x01&<", prefix + "/b//c", prefix + "/z",
	}
	got, err := collect(t.Context(), Serve(t, open, (&shelf{keys: whole}).ServeHTTP), "")
	if diff := cmp.Diff([]string{"a", "z"}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// oddPrefixes: stores refuse some of these, in words of their own.
func oddPrefixes(t *testing.T, open Open) {
	t.Helper()
	whole := []string{prefix + "/..b", prefix + "/.a", prefix + "/a/.b", prefix + "/a/b", prefix + "/ab"}
	bucket := Serve(t, open, func(w http.ResponseWriter, r *http.Request) {
		asked := r.URL.Query().Get("prefix")
		for name := range strings.SplitSeq(asked, "/") {
			if name == "." || name == ".." {
				Refuse(w, http.StatusBadRequest, "XMinioInvalidResourceName")
				return
			}
		}
		(&shelf{keys: whole}).ServeHTTP(w, r)
	})
	for asked, want := range map[string][]string{
		".": {"..b", ".a"}, "..": {"..b"}, "a/.": {"a/.b"}, "a/..": nil, "a": {"a/.b", "a/b", "ab"}, "a/": {"a/.b", "a/b"},
		"../": nil, "/": nil, "a//": nil, "A": nil,
	} {
		got, err := collect(t.Context(), bucket, asked)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", asked, err, diff)
		}
	}
}

func anotherOrder(t *testing.T, open Open) {
	t.Helper()
	want, whole := numbered(2500)
	swapped := slices.Clone(whole)
	swapped[1999], swapped[2000] = swapped[2000], swapped[1999]
	twice := slices.Insert(slices.Clone(whole), 1000, whole[999])
	for name, test := range map[string]struct {
		keys []string
		sees int
	}{"swapped across pages": {swapped, 2000}, "twice": {twice, 1000}} {
		got, err := collect(t.Context(), Serve(t, open, (&shelf{keys: test.keys}).ServeHTTP), "m/")
		if !fault.Is(err, fault.Misconfigured) || len(got) != test.sees {
			t.Errorf("%s: got %d keys of %d, %v (%s), want %d and it misconfigured", name, len(got), len(want), err, fault.ClassOf(err), test.sees)
		}
	}
}

func stopsEarly(t *testing.T, open Open) {
	t.Helper()
	_, whole := numbered(2500)
	stands := &shelf{keys: whole}
	seen := 0
	for _, err := range Serve(t, open, stands.ServeHTTP).List(t.Context(), "m/") {
		if seen++; failed(t, err) || seen == 7 {
			break
		}
	}
	if seen != 7 || stands.requests.Load() != 1 {
		t.Errorf("saw %d keys in %d requests, want 7 in one", seen, stands.requests.Load())
	}
}

func endsEarly(t *testing.T, open Open) {
	t.Helper()
	_, whole := numbered(2500)
	got, err := collect(t.Context(), Serve(t, open, (&shelf{keys: whole, failAt: 3}).ServeHTTP), "m/")
	if !fault.Is(err, fault.Retryable) || len(got) != 2000 {
		t.Errorf("a page that fails: got %d keys, %v (%s), want 2000 and a retryable error", len(got), err, fault.ClassOf(err))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := 0
	var last error
	for _, err := range Serve(t, open, (&shelf{keys: whole}).ServeHTTP).List(ctx, "m/") {
		if last = err; err == nil {
			seen++
		}
		if seen == pageSize {
			cancel()
		}
	}
	if !errors.Is(last, context.Canceled) || !fault.Is(last, fault.Retryable) || seen != pageSize {
		t.Errorf("a reader that leaves: saw %d keys, %v, want 1000 and an error", seen, last)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := collect(cancelled, Serve(t, open, (&shelf{keys: whole}).ServeHTTP), "m/"); err == nil || len(got) != 0 {
		t.Errorf("a reader that has left: got %d keys, %v, want an error", len(got), err)
	}
}

// noAnswer: a listing without an object is how an archive looks that was never written to. It must be one.
func noAnswer(t *testing.T, open Open) {
	t.Helper()
	const more = "<ListBucketResult><Name>backups</Name><IsTruncated>true</IsTruncated></ListBucketResult>"
	for name, body := range map[string]string{
		"nothing": "", "a page of a proxy": "<html><body>welcome</body></html>", "half": "<ListBucketResult><Name>backups</Name><Con",
		"no name": "<ListBucketResult></ListBucketResult>", "more and not where": more,
	} {
		bucket := Serve(t, open, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) })
		got, err := collect(t.Context(), bucket, "")
		if err == nil || errors.Is(err, archive.ErrNotFound) || len(got) != 0 {
			t.Errorf("%s: got %d keys, %v, want an error", name, len(got), err)
		}
	}
}
