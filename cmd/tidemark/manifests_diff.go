package main

import (
	"github.com/spf13/cobra"

	"tidemark/cmd/tidemark/report/listing"
	"tidemark/shared/archive"
	"tidemark/shared/config"
)

func newManifestsDiff() *cobra.Command {
	var asJSON bool
	diff := &cobra.Command{
		Use:   "diff RUN RUN",
		Short: "Shows what changed from one manifest to another",
		Long: "Shows tables that came, went or changed, how many objects both share, how far each partition moved, and which\n" +
			"definitions changed. Rows that were changed in place show as bytes that were stored anew.",
		Args: cobra.ExactArgs(2), //nolint:mnd // from and to
		RunE: func(cmd *cobra.Command, arguments []string) error {
			return onArchive(cmd, func(_ config.Archivist, opened *archive.Archive) error {
				read, err := readManifests(cmd, opened, arguments)
				if err != nil {
					return err
				}
				for _, m := range read {
					if !m.IsRead() {
						return m.Problem
					}
				}
				told := listing.Difference{From: read[0], To: read[1]}
				if asJSON {
					return told.PrintJSON(cmd.OutOrStdout())
				}
				return told.Print(cmd.OutOrStdout())
			})
		},
	}
	diff.Flags().BoolVar(&asJSON, "json", false, "print the difference as JSON")
	return diff
}
