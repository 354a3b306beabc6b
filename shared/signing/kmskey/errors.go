package kmskey

import (
	"errors"
	"net/http"

	"github.com/aws/smithy-go"

	"tidemark/shared/fault"
)

// classify gives an error of the client its class and a hint. What the service did not say itself is a broken connection
// or an ended wait: signing again is harmless, so it is Retryable.
func classify(doing string, err error) error {
	class, hint := fault.Retryable, "KMS was not reached: check the network, the region, the endpoint, and this process's credentials"
	if said, ok := errors.AsType[smithy.APIError](err); ok {
		class, hint = classOfCode(said.ErrorCode())
		if class == fault.Unclassified && temporary(err) {
			class, hint = fault.Retryable, awayHint
		}
	}
	classified := fault.New(class, "%s: %w", doing, err)
	if hint == "" {
		return classified
	}
	return classified.WithHint("%s", hint)
}

const (
	awayHint     = "KMS is busy or has trouble of its own: try again later"
	identityHint = "give this process AWS credentials: a role, or the variables AWS_*; log in again if they have ended"
	stateHint    = "enable the key, or cancel its deletion (aws kms describe-key shows its state), or sign with another one"
	kindHint     = "the key is not for signing with Ed25519 or ECDSA on P-256: name another one"
)

// classOfCode is the table of the service's errors. What is not in it is Unclassified: whoever meets it stops.
func classOfCode(code string) (class fault.Class, hint string) {
	switch code {
	case "ThrottlingException", "Throttling", "RequestLimitExceeded", "TooManyRequestsException", "LimitExceededException",
		"KMSInternalException", "KMSInternal", "InternalFailure", "InternalError", "InternalServiceError",
		"DependencyTimeoutException", "DependencyTimeout", "KeyUnavailableException", "KeyUnavailable",
		"ServiceUnavailable", "ServiceUnavailableException", "RequestTimeout", "RequestTimeoutException":
		return fault.Retryable, awayHint
	case "ExpiredTokenException", "ExpiredToken", "RequestExpired": // the next call fetches credentials anew
		return fault.Retryable, "the credentials have ended: log in again if they are not renewed by themselves"
	case "AccessDeniedException", "AccessDenied":
		return fault.Misconfigured, "allow kms:GetPublicKey and kms:Sign on the key, in its policy and in this process's role"
	case "NotFoundException", "NotFound", "InvalidArnException", "InvalidArn", "ValidationException":
		return fault.Misconfigured, "name a key that exists, by its ARN: account and region are part of it"
	case "DisabledException", "Disabled", "KMSInvalidStateException", "KMSInvalidState":
		return fault.Misconfigured, stateHint
	case "InvalidKeyUsageException", "InvalidKeyUsage", "UnsupportedOperationException", "UnsupportedOperation":
		return fault.Misconfigured, kindHint
	case "UnrecognizedClientException", "InvalidClientTokenId", "MissingAuthenticationToken",
		"MissingAuthenticationTokenException", "InvalidSignatureException", "SignatureDoesNotMatch", "IncompleteSignature",
		"IncompleteSignatureException", "OptInRequired":
		return fault.Misconfigured, identityHint
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
