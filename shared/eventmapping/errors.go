package eventmapping

import (
	"tidemark/shared/fault"
	"tidemark/shared/fault/awscode"
)

func service() awscode.Service { return awscode.Service{Name: "AWS Lambda", Own: classOfCode} }

const (
	rightsHint = "allow lambda:ListEventSourceMappings on *, and lambda:GetEventSourceMapping and lambda:UpdateEventSourceMapping on " +
		"the mappings of the function"
	changingHint = "the mapping is being created, updated or deleted: the same call does it once that has ended"
	namesHint    = "check the name, the account and the region: a function by its name or ARN, a mapping by its UUID"
)

// classOfCode is the table of the errors that this service alone has.
func classOfCode(code string) (class fault.Class, hint string) {
	switch code {
	case "ResourceInUseException", "ResourceConflictException", "ResourceNotReadyException", "PreconditionFailedException":
		return fault.Retryable, changingHint
	case "ServiceException":
		return fault.Retryable, service().Away()
	case "AccessDeniedException", "AccessDenied":
		return fault.Misconfigured, rightsHint
	case "ResourceNotFoundException", "InvalidParameterValueException", "ValidationException":
		return fault.Misconfigured, namesHint
	}
	return fault.Unclassified, ""
}
