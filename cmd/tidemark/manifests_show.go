package main

import (
	"github.com/spf13/cobra"

	"tidemark/cmd/tidemark/backups"
	"tidemark/cmd/tidemark/report/listing"
	"tidemark/shared/archive"
	"tidemark/shared/config"
)

func newManifestsShow() *cobra.Command {
	var asJSON bool
	show := &cobra.Command{
		Use:   "show RUN",
		Short: "Shows everything that a manifest says",
		Long: "Shows the snapshot, the position in the log, tables, sequences, gaps, what is not captured, warnings and copies.\n" +
			"With --json the statement and the body are printed as they were signed. What cannot be read is left out, and the exit\n" +
			"code says why.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			return onArchive(cmd, func(_ config.Archivist, opened *archive.Archive) error {
				read, err := readManifests(cmd, opened, arguments)
				if err != nil {
					return err
				}
				show := read[0].Print
				if asJSON {
					show = read[0].PrintJSON
				}
				if err := show(cmd.OutOrStdout()); err != nil {
					return err
				}
				return read[0].Problem
			})
		},
	}
	show.Flags().BoolVar(&asJSON, "json", false, "print the documents as JSON")
	return show
}

// readManifests reads those that a person means.
func readManifests(cmd *cobra.Command, opened *archive.Archive, meant []string) (read []listing.Manifest, err error) {
	seen, err := backups.Look(cmd.Context(), opened, "")
	if err != nil {
		return nil, err
	}
	for _, text := range meant {
		e, err := seen.Find(text)
		if err != nil {
			return nil, err
		}
		read = append(read, seen.Read(cmd.Context(), e))
	}
	return read, nil
}
