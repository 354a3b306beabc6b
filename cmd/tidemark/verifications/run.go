package verifications

import (
	"time"

	"github.com/spf13/cobra"

	"tidemark/cmd/tidemark/backups"
	"tidemark/cmd/tidemark/exit"
	"tidemark/shared/config"
	"tidemark/shared/fault"
	"tidemark/shared/wiring"
)

// run does what was asked.
func (a *asked) run(cmd *cobra.Command) error {
	options, err := a.options()
	if err != nil {
		return err
	}
	environment, err := config.LoadArchivist(config.OS())
	if err != nil {
		return err
	}
	v := &checker{asked: a, options: options, now: time.Now, told: time.Now(), watch: cmd.ErrOrStderr()}
	if v.attest.Archive, err = wiring.OpenArchive(cmd.Context(), environment.Archive, environment.TargetID); err != nil {
		return err
	}
	if err := v.open(cmd.Context(), environment.Archive); err != nil {
		return exit.Archive(err)
	}
	if v.seen, err = backups.Look(cmd.Context(), v.attest.Archive, a.bucket); err != nil {
		return exit.Archive(err)
	}
	findings, err := v.all(cmd.Context())
	if err := a.print(cmd, findings); err != nil {
		return err
	}
	if err == nil && cmd.Context().Err() != nil {
		err = fault.New(fault.Retryable, "verify: %w", cmd.Context().Err())
	}
	return findings.end(err)
}
