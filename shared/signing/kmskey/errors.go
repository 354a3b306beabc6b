package kmskey

import (
	"tidemark/shared/fault"
	"tidemark/shared/fault/awscode"
)

// classify gives an error of the client its class and a hint. Signing again is harmless, so what nobody answered is Retryable.
func classify(doing string, err error) error { return service().Classify(doing, err) }

func service() awscode.Service { return awscode.Service{Name: "KMS", Own: classOfCode} }

const (
	stateHint = "enable the key, or cancel its deletion (aws kms describe-key shows its state), or sign with another one"
	kindHint  = "the key is not for signing with Ed25519 or ECDSA on P-256: name another one"
)

// classOfCode is the table of the errors that this service alone has.
func classOfCode(code string) (class fault.Class, hint string) {
	switch code {
	case "LimitExceededException", "KMSInternalException", "KMSInternal", "InternalServiceError", "DependencyTimeoutException",
		"DependencyTimeout", "KeyUnavailableException", "KeyUnavailable":
		return fault.Retryable, service().Away()
	case "AccessDeniedException", "AccessDenied":
		return fault.Misconfigured, "allow kms:GetPublicKey and kms:Sign on the key, in its policy and in this process's role"
	case "NotFoundException", "NotFound", "InvalidArnException", "InvalidArn", "ValidationException":
		return fault.Misconfigured, "name a key that exists, by its ARN: account and region are part of it"
	case "DisabledException", "Disabled", "KMSInvalidStateException", "KMSInvalidState":
		return fault.Misconfigured, stateHint
	case "InvalidKeyUsageException", "InvalidKeyUsage", "UnsupportedOperationException", "UnsupportedOperation":
		return fault.Misconfigured, kindHint
	}
	return fault.Unclassified, ""
}
