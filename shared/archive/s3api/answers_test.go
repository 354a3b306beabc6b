package s3api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tidemark/shared/archive"
	"tidemark/shared/archive/miniobucket"
	"tidemark/shared/archive/s3api"
	"tidemark/shared/archive/s3api/s3apitest"
	"tidemark/shared/archive/s3bucket"
	"tidemark/shared/fault"
)

// row is an answer and what must be made of it.
type row struct {
	status int
	code   string
	class  fault.Class // for what may be repeated
	create fault.Class // for a Create; Unclassified: as class
	kind   error       // none: of all of archive's errors
	hint   string      // a part of it
}

const (
	retryable     = fault.Retryable
	unknown       = fault.UnknownOutcome
	misconfigured = fault.Misconfigured
)

// rows is the table of answers.
func rows() []row {
	return slices.Concat(keyRows(), placeRows(), identityRows(), wireRows())
}

func keyRows() []row {
	return []row{
		{status: 404, code: "NoSuchKey", class: retryable, create: unknown, kind: archive.ErrNotFound},
		{status: 404, code: "NoSuchVersion", class: retryable, create: unknown, kind: archive.ErrNotFound},
		{status: 412, code: "PreconditionFailed", class: fault.Fenced, kind: archive.ErrExists},
		{status: 412, class: fault.Fenced, kind: archive.ErrExists},
		{status: 304, class: fault.Fenced, kind: archive.ErrExists},
		{status: 409, code: "ConditionalRequestConflict", class: retryable, kind: archive.ErrConflict},
		{status: 409, code: "OperationAborted", class: retryable, kind: archive.ErrConflict},
		{status: 409, class: retryable, kind: archive.ErrConflict},
		{status: 403, code: "InvalidObjectState", class: misconfigured, hint: "storage class"},
	}
}

func placeRows() []row {
	return []row{
		{status: 404, code: "NoSuchBucket", class: misconfigured, hint: "create the bucket"},
		{status: 400, code: "InvalidBucketName", class: misconfigured, hint: "its name"},
		{status: 404, class: misconfigured, hint: "check the endpoint"},
		{status: 404, code: "SomethingElse", class: misconfigured, hint: "check the endpoint"},
		{status: 301, code: "PermanentRedirect", class: misconfigured, hint: "region"},
		{status: 307, code: "TemporaryRedirect", class: misconfigured, hint: "region"},
		{status: 302, class: misconfigured, hint: "region"},
		{status: 400, code: "AuthorizationHeaderMalformed", class: misconfigured, hint: "region"},
		{status: 400, code: "InvalidRegion", class: misconfigured, hint: "region"},
		{status: 400, code: "IllegalLocationConstraintException", class: misconfigured, hint: "region"},
		{status: 409, code: "InvalidBucketState", class: misconfigured, hint: "object lock"},
		{status: 501, code: "NotImplemented", class: misconfigured, hint: "does not do this"},
		{status: 405, code: "MethodNotAllowed", class: misconfigured, hint: "does not do this"},
		{status: 400, code: "EntityTooLarge", class: misconfigured, hint: "does not do this"},
		{status: 413, class: misconfigured, hint: "does not do this"},
	}
}

func identityRows() []row {
	return []row{
		{status: 403, code: "AccessDenied", class: misconfigured, kind: archive.ErrDenied, hint: "grant"},
		{status: 403, class: misconfigured, kind: archive.ErrDenied, hint: "grant"},
		{status: 401, class: misconfigured, kind: archive.ErrDenied, hint: "grant"},
		{status: 403, code: "InvalidAccessKeyId", class: misconfigured, kind: archive.ErrDenied, hint: "access key"},
		{status: 403, code: "SignatureDoesNotMatch", class: misconfigured, kind: archive.ErrDenied, hint: "secret"},
		{status: 400, code: "InvalidToken", class: misconfigured, kind: archive.ErrDenied, hint: "access key"},
		{status: 403, code: "RequestTimeTooSkewed", class: misconfigured, kind: archive.ErrDenied, hint: "clock"},
		{status: 400, code: "ExpiredToken", class: retryable, create: retryable, hint: "asked for anew"},
		{status: 403, code: "ExpiredToken", class: retryable, create: retryable, hint: "asked for anew"},
		{status: 400, code: "TokenRefreshRequired", class: retryable, create: retryable, hint: "asked for anew"},
		{status: 400, code: "KMS.DisabledException", class: misconfigured, hint: "SSE-KMS"},
		{status: 400, code: "KMS.NotFoundException", class: misconfigured, hint: "SSE-KMS"},
		{status: 400, code: "KMS.ThrottlingException", class: retryable, create: unknown},
	}
}

func wireRows() []row {
	return []row{
		// The content's way.
		{status: 400, code: "BadDigest", class: retryable, create: retryable, hint: "on their way"},
		{status: 400, code: "XAmzContentChecksumMismatch", class: retryable, create: retryable, hint: "on their way"},
		{status: 400, code: "XAmzContentSHA256Mismatch", class: retryable, create: retryable, hint: "on their way"},
		{status: 400, code: "IncompleteBody", class: retryable, create: retryable, hint: "on their way"},
		// What passes.
		{status: 503, code: "SlowDown", class: retryable, create: unknown},
		{status: 503, code: "SlowDownWrite", class: retryable, create: unknown},
		{status: 503, code: "ServiceUnavailable", class: retryable, create: unknown},
		{status: 500, code: "InternalError", class: retryable, create: unknown},
		{status: 400, code: "RequestTimeout", class: retryable, create: unknown},
		{status: 408, class: retryable, create: unknown},
		{status: 429, code: "TooManyRequests", class: retryable, create: unknown},
		{status: 400, code: "ThrottlingException", class: retryable, create: unknown},
		{status: 500, class: retryable, create: unknown},
		{status: 502, class: retryable, create: unknown},
		{status: 503, class: retryable, create: unknown},
		{status: 504, class: retryable, create: unknown},
		{status: 507, code: "XMinioStorageFull", class: retryable, create: unknown, hint: "full"},
		{status: 507, class: retryable, create: unknown, hint: "full"},
		{status: 400, code: "XMinioAdminBucketQuotaExceeded", class: retryable, create: unknown, hint: "quota"},
		// Everything else is nobody's guess.
		{status: 400, code: "InvalidRequest", class: fault.Unclassified},
		{status: 400, code: "InvalidArgument", class: fault.Unclassified},
		{status: 400, class: fault.Unclassified},
		{status: 418, class: fault.Unclassified},
	}
}

// call is a way to meet an answer.
type call struct {
	name string
	make func(context.Context, *s3api.Bucket) error
}

func calls() []call {
	return []call{
		{"Create", func(ctx context.Context, b *s3api.Bucket) error { return b.Create(ctx, "k", []byte("content")) }},
		{"Read", func(ctx context.Context, b *s3api.Bucket) error {
			_, err := b.Read(ctx, "k", archive.Span{Limit: 9})
			return err
		}},
		{"Stat", func(ctx context.Context, b *s3api.Bucket) error {
			_, err := b.Stat(ctx, "k")
			return err
		}},
		{"List", func(ctx context.Context, b *s3api.Bucket) error {
			for _, err := range b.List(ctx, "") {
				return err
			}
			return nil
		}},
	}
}

// adapters are what speaks to stores.
func adapters() map[string]s3apitest.Open {
	return map[string]s3apitest.Open{
		"S3": func(tb testing.TB, options s3api.Options) *s3api.Bucket {
			tb.Helper()
			bucket, err := s3bucket.Open(tb.Context(), options)
			if err != nil {
				tb.Fatal(err)
			}
			return bucket
		},
		"MinIO": func(tb testing.TB, options s3api.Options) *s3api.Bucket {
			tb.Helper()
			bucket, err := miniobucket.Open(options)
			if err != nil {
				tb.Fatal(err)
			}
			return bucket
		},
	}
}

// TestAnswers gives every row to every call of every adapter, over HTTP.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for adapter, open := range adapters() {
		for _, row := range rows() {
			t.Run(fmt.Sprintf("%s/%d %s", adapter, row.status, row.code), func(t *testing.T) {
				t.Parallel()
				bucket := s3apitest.Serve(t, open, func(w http.ResponseWriter, _ *http.Request) {
					s3apitest.Refuse(w, row.status, row.code)
				})
				for _, call := range calls() {
					want := row.class
					if call.name == "Create" && row.create != fault.Unclassified {
						want = row.create
					}
					row.compare(t, call.name, call.make(t.Context(), bucket), want)
				}
			})
		}
		t.Run(adapter+"/a page of a proxy", func(t *testing.T) { t.Parallel(); proxysPage(t, open) })
	}
}

func proxysPage(t *testing.T, open s3apitest.Open) {
	t.Helper()
	bucket := s3apitest.Serve(t, open, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "<html><body>not found</body></html>")
	})
	for _, call := range calls() {
		if err := call.make(t.Context(), bucket); !fault.Is(err, fault.Misconfigured) || errors.Is(err, archive.ErrNotFound) {
			t.Errorf("%s: got %v (%s), want it misconfigured", call.name, err, fault.ClassOf(err))
		}
	}
}

func (r row) compare(t *testing.T, name string, err error, want fault.Class) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: got no error", name)
		return
	}
	if got := fault.ClassOf(err); got != want {
		t.Errorf("%s: got %s for %v, want %s", name, got, err, want)
	}
	kinds := []error{
		archive.ErrNotFound, archive.ErrExists, archive.ErrConflict, archive.ErrTooLarge, archive.ErrLocked, archive.ErrDenied,
	}
	for _, kind := range kinds {
		if got := errors.Is(err, kind); got != (kind == r.kind) { //nolint:errorlint // the value itself
			t.Errorf("%s: is %q: got %t for %v", name, kind, got, err)
		}
	}
	if got := fault.HintOf(err); !strings.Contains(got, r.hint) || (got == "") != (r.hint == "") {
		t.Errorf("%s: got the hint %q, want %q in it", name, got, r.hint)
	}
	text := fault.Line(err)
	if strings.Contains(text, s3apitest.Secret) || strings.Contains(text, "\n") || !strings.Contains(text, fmt.Sprint(r.status)) {
		t.Errorf("%s: got %q, want one line with the status and no secret", name, text)
	}
}
