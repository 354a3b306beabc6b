package main

import (
	"github.com/spf13/cobra"

	"tidemark/cmd/tidemark/backups"
	"tidemark/shared/archive"
	"tidemark/shared/config"
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
			"many partitions it has a position of, and the sum of those. LOG says whether the log still holds what follows:\n" +
			"replayable, gap, no log where it is another one, and unknown while TIDEMARK_KAFKA_BROKERS is not set or the brokers\n" +
			"do not answer. The exit code is 3 when a manifest cannot be used or a bucket did not answer.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return onArchive(cmd, func(_ config.Archivist, opened *archive.Archive) error {
				seen, err := backups.Look(cmd.Context(), opened, bucket)
				if err != nil {
					return err
				}
				return seen.List(cmd, asJSON)
			})
		},
	}
	list.Flags().StringVar(&bucket, "bucket", "", "look into one bucket alone: primary or secondary")
	list.Flags().BoolVar(&asJSON, "json", false, "print the list as JSON")
	return list
}
