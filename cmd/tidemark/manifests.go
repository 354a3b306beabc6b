package main

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"tidemark/cmd/tidemark/backups"
	"tidemark/cmd/tidemark/exit"
	"tidemark/cmd/tidemark/report/listing"
	"tidemark/shared/archive"
	"tidemark/shared/archive/history"
	"tidemark/shared/config"
	"tidemark/shared/fault"
)

func newManifests() *cobra.Command {
	manifests := &cobra.Command{
		Use:   "manifests",
		Short: "Shows which backups there are, what is in one, and what changed between two",
		Long: "Every manifest is verified before it is shown: its signature, its body, and that each of its objects is there. The\n" +
			"objects' own bytes are not read. A manifest is named by its run, by the first characters of it, or by LIFE/NUMBER.",
	}
	manifests.AddCommand(newManifestsList(), newManifestsShow(), newManifestsDiff())
	return manifests
}

func newManifestsList() *cobra.Command {
	var bucket string
	var asJSON bool
	list := &cobra.Command{
		Use:   "list",
		Short: "Lists every manifest of both buckets, newest first",
		Long: "SIZE is the stored bytes of everything that a manifest refers to, most of which it shares with others. CUT is how\n" +
			"many partitions it has a position of, and the sum of those. LOG says whether the log still holds what follows: it\n" +
			"is unknown while no brokers are configured. The exit code is 3 when one cannot be used or a bucket did not answer.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return onArchive(cmd, func(_ config.Archivist, opened *archive.Archive) error {
				seen, err := backups.Look(cmd.Context(), opened, bucket)
				if err != nil {
					return err
				}
				return listManifests(cmd, seen, asJSON)
			})
		},
	}
	list.Flags().StringVar(&bucket, "bucket", "", "look into one bucket alone: primary or secondary")
	list.Flags().BoolVar(&asJSON, "json", false, "print the list as JSON")
	return list
}

func listManifests(cmd *cobra.Command, seen *backups.Seen, asJSON bool) error {
	told := listing.Manifests{Warnings: seen.Warnings(), Now: time.Now()}
	for _, e := range seen.History.Entries {
		told.List = append(told.List, seen.Read(cmd.Context(), e))
	}
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
	case len(told.List) == 0 && seen.History.Reached() == nil:
		return fault.New(fault.Misconfigured, "list manifests: %w", history.ErrNoBackup).
			WithHint("check TIDEMARK_ARCHIVE, its prefix above all; tidemark backup makes one")
	case len(bad) > 0 && len(bad) == len(told.List):
		return fault.New(fault.ClassOf(bad[0].Problem), "none of %d manifests can be used, the newest because: %w", len(bad), bad[0].Problem)
	case len(bad) > 0 || len(told.Warnings) > 0:
		return exit.Warnedf("done, with warnings: %d of %d manifests cannot be used", len(bad), len(told.List))
	}
	return nil
}
