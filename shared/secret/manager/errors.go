package manager

import (
	"tidemark/shared/fault"
	"tidemark/shared/fault/awscode"
)

// classify gives an error of the client its class and a hint. A fetch changes nothing, so what nobody answered is Retryable.
func classify(doing string, err error) error { return service().Classify(doing, err) }

func service() awscode.Service { return awscode.Service{Name: "Secrets Manager", Own: classOfCode} }

const (
	rightsHint = "allow secretsmanager:GetSecretValue on the secret, in this process's role and, of another account, in the secret's policy"
	keyHint    = "allow kms:Decrypt on the key that encrypts the secret, and see that the key is enabled"
	nameHint   = "name a secret that is there and is not about to be deleted, by its ARN: account and region are part of it"
)

// classOfCode is the table of the errors that this service alone has.
func classOfCode(code string) (class fault.Class, hint string) {
	switch code {
	case "InternalServiceError", "InternalServiceErrorException":
		return fault.Retryable, service().Away()
	case "AccessDeniedException", "AccessDenied":
		return fault.Misconfigured, rightsHint + "; " + keyHint
	case "DecryptionFailure", "DecryptionFailureException":
		return fault.Misconfigured, keyHint
	case "ResourceNotFoundException", "InvalidParameterException", "InvalidRequestException", "ValidationException":
		return fault.Misconfigured, nameHint
	}
	return fault.Unclassified, ""
}
