package s3api

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"tidemark/shared/archive"
	"tidemark/shared/fault"
)

// AnswerError is an answer of the store that is not the one asked for.
type AnswerError struct {
	Status    int
	Code      string // empty when the answer had none, as those to a HEAD
	Message   string
	RequestID string
	Err       error // the client's own
}

const maxMessage = 200

// Error is what the store said.
func (r *AnswerError) Error() string {
	text := fmt.Sprintf("the store answers %d", r.Status)
	if r.Code != "" {
		text += " " + r.Code
	}
	if message := strings.Join(strings.Fields(r.Message), " "); message != "" {
		text += fmt.Sprintf(": %.*s", maxMessage, message)
	}
	if r.RequestID != "" {
		text += " (request " + r.RequestID + ")"
	}
	return text
}

// Unwrap gives the client's own error.
func (r *AnswerError) Unwrap() error { return r.Err }

// ErrNoCredentials is in the error of a client that found nothing to sign with. Nothing was sent.
var ErrNoCredentials = errors.New("no credentials were to be had")

// verdict is what an answer means.
type verdict struct {
	class fault.Class
	kind  error // one of archive's errors, or nil
	hint  string
	// refused: the store did nothing. Of other answers that waiting may mend, a Create proves nothing.
	refused bool
}

const (
	hintClock  = "the clocks of this machine and of the store are more than 15 minutes apart: set this one's by NTP"
	hintRights = "grant this identity the rights on the bucket and its objects; without the right to list, a store also denies " +
		"what is not there"
	hintKeys     = "check the access key and its secret"
	hintToken    = "the credentials have run out; they are asked for anew at the next try"
	hintRegion   = "set the region that the bucket is in, and the endpoint of that region"
	hintBucket   = "create the bucket, or correct its name; nothing was taken for an empty archive"
	hintEndpoint = "check the endpoint: what answers there may not be an object store"
	hintKMS      = "the key of SSE-KMS cannot be used: check that it exists, is enabled and that this identity may use it"
	hintFrozen   = "the object was moved to a storage class that must be restored first: remove that lifecycle rule"
	hintSpace    = "the store is full or over its quota"
	hintFeature  = "the store does not do this: choose one that does, or do not ask for it"
	hintLock     = "object lock is a property of a bucket that it must be created with"
	hintUnsent   = "set an access key and its secret, or run where the platform gives a role"
	hintWire     = "the bytes changed on their way; if it happens again, look at proxies between here and the store"
)

func misconfigured(hint string) verdict { return verdict{class: fault.Misconfigured, hint: hint} }

func denied(hint string) verdict {
	return verdict{class: fault.Misconfigured, kind: archive.ErrDenied, hint: hint}
}

// judge is the table of answers, by code first: the same status says "no such key" and "no such bucket".
func judge(status int, code string) verdict {
	switch code {
	case "NoSuchKey", "NoSuchVersion":
		return verdict{class: fault.Retryable, kind: archive.ErrNotFound}
	case "NoSuchBucket", "InvalidBucketName":
		return misconfigured(hintBucket)
	case "PermanentRedirect", "TemporaryRedirect", "Redirect", "AuthorizationHeaderMalformed", "InvalidRegion",
		"IllegalLocationConstraintException", "XMinioInvalidRegion":
		return misconfigured(hintRegion)
	case "RequestTimeTooSkewed", "RequestExpired":
		return denied(hintClock)
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "InvalidSecurity", "UnrecognizedClientException":
		return denied(hintKeys)
	case "ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired":
		return verdict{class: fault.Retryable, hint: hintToken, refused: true}
	case "InvalidObjectState":
		return misconfigured(hintFrozen)
	case "BadDigest", "XAmzContentChecksumMismatch", "XAmzContentSHA256Mismatch", "InvalidDigest", "IncompleteBody":
		return verdict{class: fault.Retryable, hint: hintWire, refused: true}
	case "RequestTimeout", "RequestTimeoutException", "Busy", "InternalError", "ServiceUnavailable":
		return verdict{class: fault.Retryable}
	case "QuotaExceeded", "XMinioAdminBucketQuotaExceeded", "XMinioStorageFull", "InsufficientCapacity":
		return verdict{class: fault.Retryable, hint: hintSpace}
	case "ObjectLockConfigurationNotFoundError", "InvalidBucketState":
		return misconfigured(hintLock)
	case "EntityTooLarge", "MaxMessageLengthExceeded", "NotImplemented":
		return misconfigured(hintFeature)
	}
	switch {
	case strings.HasPrefix(code, "KMS.Throttl"), strings.HasPrefix(code, "KMS.Internal"), code == "KMS.DependencyTimeoutException":
		return verdict{class: fault.Retryable}
	case strings.HasPrefix(code, "KMS."), strings.HasPrefix(code, "XMinioKMS"), strings.HasPrefix(code, "XMinioKms"):
		return misconfigured(hintKMS)
	case strings.HasPrefix(code, "SlowDown"), strings.Contains(code, "Throttl"), strings.HasPrefix(code, "TooManyRequests"):
		return verdict{class: fault.Retryable}
	}
	return judgeStatus(status)
}

// judgeStatus is the table for answers whose code says nothing to us.
func judgeStatus(status int) verdict {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return misconfigured(hintRegion)
	case http.StatusPreconditionFailed, http.StatusNotModified: // 304: stores that take a condition for one of a GET
		return verdict{class: fault.Fenced, kind: archive.ErrExists}
	case http.StatusConflict:
		return verdict{class: fault.Retryable, kind: archive.ErrConflict, refused: true}
	case http.StatusUnauthorized, http.StatusForbidden:
		return denied(hintRights)
	case http.StatusNotFound:
		return misconfigured(hintEndpoint)
	case http.StatusMethodNotAllowed, http.StatusNotImplemented, http.StatusRequestEntityTooLarge:
		return misconfigured(hintFeature)
	case http.StatusInsufficientStorage:
		return verdict{class: fault.Retryable, hint: hintSpace}
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return verdict{class: fault.Retryable}
	}
	if status >= http.StatusInternalServerError {
		return verdict{class: fault.Retryable}
	}
	return verdict{class: fault.Unclassified}
}

// judgeSilence is the table for calls that got no answer.
func judgeSilence(err error) verdict {
	if errors.Is(err, ErrNoCredentials) {
		return verdict{class: fault.Retryable, hint: hintUnsent, refused: true}
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return misconfigured("the store's certificate is not vouched for: set the authority that signed it")
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok || errors.Is(err, http.ErrSchemeMismatch) {
		return misconfigured("one side speaks TLS and the other does not: check http and https in the endpoint")
	}
	return verdict{class: fault.Retryable}
}

// verdictOf is what an error of a client means. One that was decided already is left so.
func verdictOf(err error) verdict {
	if decided, ok := errors.AsType[*fault.Error](err); ok {
		return verdict{class: decided.Class, hint: decided.Hint}
	}
	if refusal, ok := errors.AsType[*AnswerError](err); ok {
		return judge(refusal.Status, refusal.Code)
	}
	return judgeSilence(err)
}

// explain gives a client's error its class and says what was tried.
func (v verdict) explain(act string, err error) error {
	if v.kind != nil {
		err = fmt.Errorf("%w: %w", v.kind, err)
	}
	explained := fault.New(v.class, "%s: %w", act, err)
	if v.hint != "" {
		return explained.WithHint("%s", v.hint)
	}
	return explained
}

func explain(act string, err error) error { return verdictOf(err).explain(act, err) }

// explainCreate is explain for a write that must not be repeated unseen: unless the store says that it did nothing, the
// content may be there, or may come to be there yet.
func explainCreate(act string, err error) error {
	v := verdictOf(err)
	if v.class == fault.Retryable && !v.refused {
		v.class = fault.UnknownOutcome
	}
	return v.explain(act, err)
}

// hasCode says whether the store refused with one of the codes.
func hasCode(err error, codes ...string) bool {
	refusal, ok := errors.AsType[*AnswerError](err)
	if !ok {
		return false
	}
	for _, code := range codes {
		if refusal.Code == code {
			return true
		}
	}
	return false
}
