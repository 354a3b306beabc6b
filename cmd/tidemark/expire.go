package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"tidemark/cmd/tidemark/exit"
	"tidemark/cmd/tidemark/report"
	"tidemark/shared/archive"
	"tidemark/shared/archive/history"
	"tidemark/shared/config"
	"tidemark/shared/expiry"
	"tidemark/shared/fault"
)

func newExpire() *cobra.Command {
	var confirmed, asJSON bool
	expire := &cobra.Command{
		Use:   "expire [--confirm]",
		Short: "Says which backups go by the policy and, with --confirm, removes them",
		Long: "Reads every manifest of both buckets and shows what the TIDEMARK_KEEP_ variables say of it. Without --confirm\n" +
			"nothing is written and nothing is removed.\n\n" +
			"With --confirm the manifests that go are deleted: no recovery can begin at them any more. Their objects go in two\n" +
			"steps, since a backup may be leaning on them: this run names in sweeps/ what nothing refers to, and the first run\n" +
			"a day or more later removes what is still unneeded. Run it on a schedule.\n\n" +
			"A manifest that cannot be read stops everything, because what it refers to is not known. What does not verify\n" +
			"never goes by the policy: withdraw it with tidemark revoke. Objects under object lock stay until their lock ends;\n" +
			"then the exit code is 3 and a later run takes them.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return onArchive(cmd, func(environment config.Archivist, opened *archive.Archive) error {
				done, err := expiry.Run(cmd.Context(), expiry.Options{
					Archive: opened, Policy: environment.Expiry, Actor: actor(), Now: time.Now,
				}, confirmed)
				return endExpiry(cmd, done, asJSON, err)
			})
		},
	}
	expire.Flags().BoolVar(&confirmed, "confirm", false, "remove what goes; without it nothing changes")
	expire.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	return expire
}

// endExpiry prints the report, also of a run that failed halfway, and says how it ended.
func endExpiry(cmd *cobra.Command, done expiry.Report, asJSON bool, err error) error {
	show := report.Expiry
	if asJSON {
		show = report.ExpiryJSON
	}
	if len(done.Decisions) > 0 || err == nil {
		if failed := show(cmd.OutOrStdout(), done); failed != nil {
			return failed
		}
	}
	locked := len(done.Locked)
	for _, swept := range done.Sweeps {
		locked += len(swept.Locked)
	}
	switch {
	case errors.Is(err, expiry.ErrNothingVerified) && len(done.Decisions) == 0:
		return fault.New(fault.Misconfigured, "expire: %w", history.ErrNoBackup).
			WithHint("check TIDEMARK_ARCHIVE, its prefix above all; nothing was removed")
	case err != nil:
		return err
	case locked > 0:
		return exit.Warnedf("done, with warnings: locked objects stay, and a later run takes them: %d", locked)
	case len(done.Warnings) > 0:
		return exit.Warnedf("done, with %d warnings", len(done.Warnings))
	}
	return nil
}
