package main

import (
	"errors"

	"github.com/spf13/cobra"

	"tidemark/cmd/tidemark/exit"
	"tidemark/cmd/tidemark/report"
	"tidemark/shared/archive"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/mirror"
	"tidemark/shared/config"
	"tidemark/shared/fault"
)

func newCopy() *cobra.Command {
	var source string
	var asJSON bool
	copies := &cobra.Command{
		Use:   "copy [--from primary|secondary]",
		Short: "Copies backups that one bucket has and the other lacks",
		Long: "Brings every manifest that verifies in one bucket into the other, objects first, with the records of lives,\n" +
			"decisions, marks and revocations. A manifest that is there and misses objects is completed. Nothing is overwritten\n" +
			"and nothing is removed; run it again after an interruption. A manifest that does not verify is named and left out,\n" +
			"and so is one that was withdrawn. The exit code is 3 when some were not copied.\n\n" +
			"It needs room in the other bucket for everything that is copied, and rights to write there.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if source != "primary" && source != "secondary" {
				return exit.Usage(errors.New("--from: want primary or secondary"))
			}
			return onArchive(cmd, func(_ config.Archivist, opened *archive.Archive) error {
				return copyBackups(cmd, opened, source, asJSON)
			})
		},
	}
	copies.Flags().StringVar(&source, "from", "primary", "the bucket to copy from: primary or secondary")
	copies.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	return copies
}

func copyBackups(cmd *cobra.Command, opened *archive.Archive, source string, asJSON bool) error {
	if len(opened.Places) < 2 { //nolint:mnd // from one to the other
		return fault.New(fault.Misconfigured, "TIDEMARK_ARCHIVE_SECONDARY is not set, so there is nowhere to copy to").
			WithHint("set it to a bucket on other disks, best in another account and region")
	}
	from, to := opened.Places[0], opened.Places[1]
	if source == "secondary" {
		from, to = to, from
	}
	h, err := history.Read(cmd.Context(), opened)
	if err == nil {
		err = h.Reached()
	}
	if err != nil {
		return err
	}
	done, err := mirror.Mend(cmd.Context(), h, from, to)
	told := report.Copying{From: from.Name, To: to.Name, Mended: done, Warnings: h.Warnings}
	show := told.Print
	if asJSON {
		show = told.PrintJSON
	}
	if err == nil || len(done.Copied)+len(done.Failed) > 0 {
		if failed := show(cmd.OutOrStdout()); failed != nil {
			return failed
		}
	}
	switch {
	case err != nil:
		return err
	case len(done.Failed) > 0 && len(done.Copied)+len(done.Already) == 0:
		return fault.New(fault.ClassOf(done.Failed[0].Reason), "none of %d manifests could be copied, the newest because: %w",
			len(done.Failed), done.Failed[0].Reason)
	case len(done.Failed) > 0 || len(h.Warnings) > 0:
		return exit.Warnedf("done, with warnings: %d manifests were not copied", len(done.Failed))
	}
	return nil
}
