package backups

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"tidemark/cmd/tidemark/exit"
	"tidemark/cmd/tidemark/replays"
	"tidemark/cmd/tidemark/report/listing"
	"tidemark/shared/archive/history"
	"tidemark/shared/fault"
)

// List shows every manifest, and says how it ended.
//
// Errors: fault.Misconfigured, with history.ErrNoBackup, for none; of the newest one's class when none can be used; a warning
// when some cannot.
func (s *Seen) List(cmd *cobra.Command, asJSON bool) error {
	told := listing.Manifests{Warnings: s.Warnings(), Now: time.Now()}
	for _, e := range s.History.Entries {
		told.List = append(told.List, s.Read(cmd.Context(), e))
	}
	replays.Tell(cmd.Context(), told.List)
	if err := cmd.Context().Err(); err != nil {
		return fault.Wrap(fault.Retryable, err)
	}
	show := told.Print
	if asJSON {
		show = told.PrintJSON
	}
	if err := show(cmd.OutOrStdout()); err != nil {
		return err
	}
	bad := slices.DeleteFunc(slices.Clone(told.List), func(m listing.Manifest) bool { return m.Problem == nil || m.Revoked })
	switch {
	case len(told.List) == 0 && s.History.Reached() == nil:
		return fault.New(fault.Misconfigured, "list manifests: %w", history.ErrNoBackup).
			WithHint("check TIDEMARK_ARCHIVE, its prefix above all; tidemark backup makes one")
	case len(bad) > 0 && len(bad) == len(told.List):
		return fault.New(fault.ClassOf(bad[0].Problem), "none of %d manifests can be used, the newest because: %w", len(bad), bad[0].Problem)
	case len(bad) > 0 || len(told.Warnings) > 0:
		return exit.Warnedf("done, with warnings: %d of %d manifests cannot be used", len(bad), len(told.List))
	}
	return nil
}
