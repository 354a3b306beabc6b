package s3api_test

import (
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/archive/s3api"
	"tidemark/shared/archive/s3api/s3apitest"
	"tidemark/shared/fault"
)

// TestSilence is about what is made of no answer.
func TestSilence(t *testing.T) {
	t.Parallel()
	for adapter, open := range adapters() {
		for name, test := range map[string]func(*testing.T, s3apitest.Open){
			"OfAServerThatIsNotThere": notThere, "OfAServerThatHangs": hanging, "OfAServerWithAnUnknownAuthority": unknownAuthority,
			"OfAServerThatSpeaksNoTLS": noTLS,
		} {
			t.Run(adapter+"/"+name, func(t *testing.T) {
				t.Parallel()
				test(t, open)
			})
		}
	}
}

func notThere(t *testing.T, open s3apitest.Open) {
	t.Helper()
	address := closedServer()
	for _, call := range calls() {
		want := fault.Retryable
		if call.name == "Create" {
			want = fault.UnknownOutcome
		}
		err := call.make(t.Context(), open(t, s3apitest.Options(address)))
		if !fault.Is(err, want) || errors.Is(err, archive.ErrNotFound) || strings.Contains(fault.Line(err), s3apitest.Secret) {
			t.Errorf("%s: got %v (%s), want %s", call.name, err, fault.ClassOf(err), want)
		}
	}
}

func hanging(t *testing.T, open s3apitest.Open) {
	t.Helper()
	bucket := s3apitest.Serve(t, open, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // until then the server does not see that a client leaves
		<-r.Context().Done()
	}, func(o *s3api.Options) { o.Timeout = shortTimeout })
	if err := bucket.Create(t.Context(), "k", []byte("content")); !fault.Is(err, fault.UnknownOutcome) {
		t.Errorf("got %v, want an unknown outcome", err)
	}
	if _, err := bucket.Read(t.Context(), "k", archive.Span{Limit: 9}); !fault.Is(err, fault.Retryable) {
		t.Errorf("got %v, want retryable", err)
	}
}

// noTLS: that will not get better by waiting either.
func noTLS(t *testing.T, open s3apitest.Open) {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	for _, call := range calls() {
		err := call.make(t.Context(), open(t, s3apitest.Options(strings.Replace(server.URL, "http:", "https:", 1))))
		if !fault.Is(err, fault.Misconfigured) || !strings.Contains(fault.HintOf(err), "https") {
			t.Errorf("%s: got %v (%s), want it misconfigured", call.name, err, fault.ClassOf(err))
		}
	}
}

// quiet takes what a server says of clients that leave.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// shortTimeout is how long a call may take whose answer never comes.
const shortTimeout = 100 * time.Millisecond

// closedServer is an address where nothing listens.
func closedServer() string {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	return server.URL
}

// unknownAuthority: a certificate that nobody vouches for will not get better by waiting.
func unknownAuthority(t *testing.T, open s3apitest.Open) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = quiet()
	server.StartTLS()
	t.Cleanup(server.Close)
	for _, call := range calls() {
		if err := call.make(t.Context(), open(t, s3apitest.Options(server.URL))); !fault.Is(err, fault.Misconfigured) ||
			!strings.Contains(fault.HintOf(err), "authority") {
			t.Errorf("%s: got %v (%s), want it misconfigured", call.name, err, fault.ClassOf(err))
		}
	}
}
