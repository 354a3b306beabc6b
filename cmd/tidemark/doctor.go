package main

import (
	"github.com/spf13/cobra"

	"tidemark/cmd/tidemark/backups"
	"tidemark/cmd/tidemark/exit"
	"tidemark/cmd/tidemark/report"
	"tidemark/shared/config"
	"tidemark/shared/fault"
	"tidemark/shared/health"
)

func newDoctor() *cobra.Command {
	var asJSON, probe bool
	doctor := &cobra.Command{
		Use:   "doctor",
		Short: "Checks whether backups can be made, believed and used, and says what to do where not",
		Long: "Asks each bucket (reachable, create-only, checksums, listing, clock, lifecycle rules, versions, locks, encryption), the\n" +
			"keys, the backups that are there (the newest verifies, nothing newer was seen, both buckets have them) and the\n" +
			"database (a snapshot as a backup takes it, without reading a row). Every line is ok, warn or FAIL, with what to do.\n\n" +
			"Nothing is changed: the owner's record is written again as it is, to see whether the store refuses that. --write-probe\n" +
			"writes one small object into each bucket, which the next expiry removes. Whether this account may delete is not tried:\n" +
			"only expiry needs that. The exit code is 3 with warnings, and that of the gravest failure otherwise.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			environment, err := config.LoadBackup(config.OS())
			if err != nil {
				return err
			}
			var told report.Doctor
			for _, examiner := range backups.Examiners(cmd.Context(), &environment, probe) {
				told = append(told, examiner.Examine(cmd.Context())...)
			}
			if err := cmd.Context().Err(); err != nil {
				return fault.Wrap(fault.Retryable, err)
			}
			return endDoctor(cmd, told, asJSON)
		},
	}
	doctor.Flags().BoolVar(&asJSON, "json", false, "print the findings as JSON")
	doctor.Flags().BoolVar(&probe, "write-probe", false, "write one small object into each bucket, to see that it can be done")
	return doctor
}

func endDoctor(cmd *cobra.Command, told report.Doctor, asJSON bool) error {
	show := told.Print
	if asJSON {
		show = told.PrintJSON
	}
	if err := show(cmd.OutOrStdout()); err != nil {
		return err
	}
	var failed []error
	for _, f := range told {
		if f.Verdict == health.Failed {
			failed = append(failed, f.Err)
		}
	}
	if len(failed) > 0 {
		return exit.Gravest(failed)
	}
	if warned := told.Count(health.Doubtful); warned > 0 {
		return exit.Warnedf("done, with %d warnings", warned)
	}
	return nil
}
