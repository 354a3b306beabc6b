package ssmmark

import (
	"errors"
	"net/http"

	"github.com/aws/smithy-go"

	"tidemark/shared/fault"
)

// classify gives an error of the client its class and a hint. What the service did not say itself is a broken connection or
// an ended wait: raising again is harmless, so it is Retryable.
func classify(doing string, err error) error {
	class, hint := fault.Retryable, "the service was not reached: check the network, the region, the endpoint, and this process's credentials"
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
	awayHint        = "the service is busy or has trouble of its own: try again later"
	credentialsHint = "give this process AWS credentials: a role, or the variables AWS_*; log in again if they have ended" //nolint:gosec // no credentials
	nameHint        = "name a parameter of type String that nothing else writes to, as in ssm:/tidemark/TARGET/newest"
	rightsHint      = "allow ssm:GetParameter and ssm:PutParameter on the parameter, and kms:Decrypt where it is a SecureString"
	roomHint        = "delete parameters that nobody needs, or take the labels off old versions of this one"
)

// classOfCode is the table of the service's errors. What is not in it is Unclassified: whoever meets it stops.
func classOfCode(code string) (class fault.Class, hint string) {
	switch code {
	case "ThrottlingException", "Throttling", "RequestLimitExceeded", "TooManyRequestsException", "TooManyUpdates",
		"InternalServerError", "InternalFailure", "InternalError", "ServiceUnavailable", "ServiceUnavailableException",
		"RequestTimeout", "RequestTimeoutException":
		return fault.Retryable, awayHint
	case "ExpiredTokenException", "ExpiredToken", "RequestExpired": // the next call fetches credentials anew
		return fault.Retryable, "the credentials have ended: log in again if they are not renewed by themselves"
	case "ParameterVersionNotFound": // deleted since its number was seen
		return fault.Retryable, ""
	case "AccessDeniedException", "AccessDenied", "InvalidKeyId":
		return fault.Misconfigured, rightsHint
	case "ValidationException", "ParameterPatternMismatchException", "HierarchyLevelLimitExceededException",
		"HierarchyTypeMismatchException", "UnsupportedParameterType", "InvalidAllowedPatternException":
		return fault.Misconfigured, nameHint
	case "ParameterLimitExceeded", "ParameterMaxVersionLimitExceeded":
		return fault.Misconfigured, roomHint
	case "UnrecognizedClientException", "InvalidClientTokenId", "MissingAuthenticationToken",
		"MissingAuthenticationTokenException", "InvalidSignatureException", "SignatureDoesNotMatch", "IncompleteSignature",
		"IncompleteSignatureException", "OptInRequired":
		return fault.Misconfigured, credentialsHint
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
