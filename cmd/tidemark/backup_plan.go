package main

import (
	"context"

	"github.com/spf13/cobra"

	"tidemark/cmd/tidemark/backups"
	"tidemark/shared/config"
	"tidemark/shared/fault"
)

// planBackup says what a backup would read, also of one that would be refused for what it leaves out.
func planBackup(cmd *cobra.Command, environment *config.Backup, asJSON bool) error {
	plan, err := backups.Plan(cmd.Context(), environment)
	if err != nil && len(plan.Tables) == 0 {
		return err
	}
	show := plan.Print
	if asJSON {
		show = plan.PrintJSON
	}
	if failed := show(cmd.OutOrStdout()); failed != nil {
		return failed
	}
	return err
}

// interrupted says what is left of a backup that a person stopped. An outcome that is not known stays so.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() == nil || fault.Is(err, fault.UnknownOutcome) {
		return err
	}
	return fault.New(fault.Retryable, "interrupted, and nothing is listed: %w", err).
		WithHint("run it again: what was stored is used")
}
