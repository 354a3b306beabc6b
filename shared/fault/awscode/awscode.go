// Package awscode owns what an error of one of AWS's services asks of the caller, as far as all services say it alike.
//
// A service adds the codes that only it has, and its name. What the service did not say itself is a broken connection or an
// ended wait. It knows no client: an error tells its code and its status by two methods. No I/O, no state.
package awscode

import (
	"errors"
	"net/http"

	"tidemark/shared/fault"
)

// LogIn is the hint for who has no credentials, or none that the service knows.
const LogIn = "give this process AWS credentials: a role, or the variables AWS_*; log in again if they have ended"

// Service is a service whose calls may be repeated.
type Service struct {
	Name string // as a sentence begins with it
	// Own is the table of the codes that the service alone has, or means in its own way; Unclassified for any other.
	Own func(code string) (class fault.Class, hint string)
}

// Classify gives an error of a call its class and a hint. What is in no table is Unclassified: whoever meets it stops.
func (s Service) Classify(doing string, err error) error {
	class, hint := fault.Retryable, s.Name+" was not reached: check the network, the region, the endpoint, and this process's credentials"
	said, ok := errors.AsType[interface {
		error
		ErrorCode() string
	}](err)
	if ok {
		class, hint = s.classOf(said.ErrorCode())
		if class == fault.Unclassified && temporary(err) {
			class, hint = fault.Retryable, s.Away()
		}
	}
	classified := fault.New(class, "%s: %w", doing, err)
	if hint == "" {
		return classified
	}
	return classified.WithHint("%s", hint)
}

// Away is the hint for a service that has trouble of its own.
func (s Service) Away() string { return s.Name + " is busy or has trouble of its own: try again later" }

func (s Service) classOf(code string) (fault.Class, string) {
	if class, hint := s.Own(code); class != fault.Unclassified {
		return class, hint
	}
	switch code {
	case "ThrottlingException", "Throttling", "RequestLimitExceeded", "TooManyRequestsException", "InternalFailure", "InternalError",
		"ServiceUnavailable", "ServiceUnavailableException", "RequestTimeout", "RequestTimeoutException":
		return fault.Retryable, s.Away()
	case "ExpiredTokenException", "ExpiredToken", "RequestExpired": // the next call fetches credentials anew
		return fault.Retryable, "the credentials have ended: log in again if they are not renewed by themselves"
	case "UnrecognizedClientException", "InvalidClientTokenId", "MissingAuthenticationToken",
		"MissingAuthenticationTokenException", "InvalidSignatureException", "SignatureDoesNotMatch", "IncompleteSignature",
		"IncompleteSignatureException", "OptInRequired":
		return fault.Misconfigured, LogIn
	}
	return fault.Unclassified, ""
}

// temporary says whether the status of the service's answer asks for another try.
func temporary(err error) bool {
	answer, ok := errors.AsType[interface {
		error
		HTTPStatusCode() int
	}](err)
	if !ok {
		return false
	}
	status := answer.HTTPStatusCode()
	return status >= http.StatusInternalServerError || status == http.StatusTooManyRequests
}
