package backups

import (
	"errors"
	"fmt"
	"strings"

	"tidemark/cmd/tidemark/exit"
	"tidemark/shared/archive/history"
	"tidemark/shared/fault"
)

// Find gives the one manifest that a person means: by run, by how the run begins, or as LIFE/NUMBER.
func (s *Seen) Find(meant string) (history.Entry, error) {
	const least = 4
	var found []history.Entry
	for _, e := range s.History.Entries {
		if fmt.Sprintf("%s/%d", e.Lineage, e.Seq) == meant || e.String() == meant ||
			len(meant) >= least && strings.HasPrefix(e.Run.String(), meant) {
			found = append(found, e)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		if len(s.History.Entries) == 0 {
			return history.Entry{}, fault.New(fault.Misconfigured, "look for manifest %.80q: %w", meant, history.ErrNoBackup).
				WithHint("check TIDEMARK_ARCHIVE, its prefix above all")
		}
		return history.Entry{}, exit.Usage(fmt.Errorf("no manifest is %.80q: want a run, its first characters, or LIFE/NUMBER, as tidemark manifests list "+
			"shows them", meant))
	}
	return history.Entry{}, exit.Usage(errors.New(meant + " may be any of several: give more of the run"))
}
