package claim

import (
	"tidemark/shared/fault"
	"tidemark/shared/postgres"
)

// SQLSTATEs that are judged here.
const (
	lockNotAvailable = "55P03"
	noPrivilege      = "42501"
)

// Classify is postgres.Classify for one who writes no records: nothing is poison.
func Classify(err error) error {
	classified := postgres.Classify(err)
	switch {
	case err == nil:
		return nil
	case postgres.StateOf(err) == noPrivilege:
		return fault.New(fault.Misconfigured, "%w", classified).WithHint("recover as a role that may make schemas in the database " +
			"and, where row security applies, has BYPASSRLS")
	case fault.Is(classified, fault.Poison):
		return fault.New(fault.Bug, "%w", classified)
	}
	return classified
}
