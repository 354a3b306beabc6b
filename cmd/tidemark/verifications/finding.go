package verifications

import (
	"time"

	"tidemark/cmd/tidemark/report"
	"tidemark/cmd/tidemark/report/listing"
	"tidemark/shared/archive/attestation"
	"tidemark/shared/fault"
	"tidemark/shared/verify"
)

// finding is what was found of one manifest.
type finding struct {
	listing.Manifest

	subject      verify.Subject
	outcome      verify.Outcome
	begun, ended time.Time
	written      attestation.Written
	err          error // what decides the exit code
}

// judge adds what kept the manifest from being read, or from being used, to what the check found.
func (f *finding) judge() {
	f.err = f.outcome.Err()
	switch {
	case f.Problem == nil || len(f.outcome.Problems) > 0:
		return
	case fault.Is(f.Problem, fault.Retryable), fault.Is(f.Problem, fault.Misconfigured) && !f.Revoked:
		f.outcome.Unread, f.outcome.Reason = f.outcome.Unread+1, f.Problem
	default:
		f.outcome.Problems = append(f.outcome.Problems, verify.Problem{What: report.OneLine(f.Problem.Error())})
	}
	f.err = f.Problem // its own word tells more: trust is not damage
}
