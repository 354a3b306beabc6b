package ssmmark

import (
	"tidemark/shared/fault"
	"tidemark/shared/fault/awscode"
)

// classify gives an error of the client its class and a hint. Raising again is harmless, so what nobody answered is Retryable.
func classify(doing string, err error) error { return service().Classify(doing, err) }

func service() awscode.Service { return awscode.Service{Name: "the service", Own: classOfCode} }

const (
	nameHint   = "name a parameter of type String that nothing else writes to, as in ssm:/tidemark/TARGET/newest"
	rightsHint = "allow ssm:GetParameter and ssm:PutParameter on the parameter, and kms:Decrypt where it is a SecureString"
	roomHint   = "delete parameters that nobody needs, or take the labels off old versions of this one"
)

// classOfCode is the table of the errors that this service alone has.
func classOfCode(code string) (class fault.Class, hint string) {
	switch code {
	case "TooManyUpdates", "InternalServerError":
		return fault.Retryable, service().Away()
	case "ParameterVersionNotFound": // deleted since its number was seen
		return fault.Retryable, ""
	case "AccessDeniedException", "AccessDenied", "InvalidKeyId":
		return fault.Misconfigured, rightsHint
	case "ValidationException", "ParameterPatternMismatchException", "HierarchyLevelLimitExceededException",
		"HierarchyTypeMismatchException", "UnsupportedParameterType", "InvalidAllowedPatternException":
		return fault.Misconfigured, nameHint
	case "ParameterLimitExceeded", "ParameterMaxVersionLimitExceeded":
		return fault.Misconfigured, roomHint
	}
	return fault.Unclassified, ""
}
