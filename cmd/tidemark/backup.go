package main

import (
	"time"

	"github.com/spf13/cobra"

	"tidemark/cmd/tidemark/backups"
	"tidemark/cmd/tidemark/exit"
	"tidemark/cmd/tidemark/progress"
	"tidemark/cmd/tidemark/report"
	"tidemark/shared/backup"
	"tidemark/shared/config"
)

func newBackup() *cobra.Command {
	var asked backups.Flags
	command := &cobra.Command{
		Use:   "backup",
		Short: "Backs the target up: one state of all its tables, signed, in each bucket",
		Long: "Reads one state of the whole database and of its position in the log, stores what no earlier backup has, signs a\n" +
			"manifest and copies it to the second bucket. What is not whole is never listed. It needs rights to read every table\n" +
			"and to write the ledger, and the variables in docs/configuration.md; the flags overrule them.\n\n" +
			"Interrupted, or stopped halfway by anything else, it lists nothing, and the next backup uses what was stored.\n" +
			"Exit codes: 3 it is there, with warnings or not in every bucket; 11 another backup is running, or another life owns\n" +
			"the target; 30 the database refused, or holds what a restore would not bring back; 75 time ran out, run it again.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			environment, err := asked.Load(cmd.Flags())
			if err != nil {
				return err
			}
			if asked.DryRun {
				return planBackup(cmd, &environment, asked.JSON)
			}
			return backUp(cmd, &environment, asked.JSON)
		},
	}
	asked.Declare(command.Flags())
	return command
}

func backUp(cmd *cobra.Command, environment *config.Backup, asJSON bool) error {
	options, err := backups.Options(cmd.Context(), environment, actor(), "tidemark "+version)
	if err != nil {
		return exit.Archive(err)
	}
	watch, begun := progress.New(cmd.ErrOrStderr(), asJSON, time.Now), time.Now()
	var reached backup.Progress
	options.OnProgress = func(p backup.Progress) {
		reached = p
		watch.Note(p)
	}
	made, err := backup.Run(cmd.Context(), options)
	watch.End(reached, err == nil)
	if err != nil {
		return exit.Archive(interrupted(cmd.Context(), err))
	}
	told := report.Backup{Result: made, Places: len(options.Writer.Archive.Places), Took: time.Since(begun)}
	show := told.Print
	if asJSON {
		show = told.PrintJSON
	}
	if err := show(cmd.OutOrStdout()); err != nil {
		return err
	}
	if len(made.Warnings) > 0 || made.Copies < told.Places {
		return exit.Warnedf("done, with %d warnings, in %d of %d buckets", len(made.Warnings), made.Copies, told.Places)
	}
	return nil
}
