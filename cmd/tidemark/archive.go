package main

import (
	"github.com/spf13/cobra"

	"tidemark/cmd/tidemark/exit"
	"tidemark/shared/archive"
	"tidemark/shared/config"
	"tidemark/shared/wiring"
)

// onArchive opens the archive and runs one act on it. No database is needed.
func onArchive(cmd *cobra.Command, act func(config.Archivist, *archive.Archive) error) error {
	environment, err := config.LoadArchivist(config.OS())
	if err != nil {
		return err
	}
	opened, err := wiring.OpenArchive(cmd.Context(), environment.Archive, environment.TargetID)
	if err != nil {
		return err
	}
	if err := act(environment, opened); err != nil {
		return exit.Archive(err)
	}
	return nil
}
