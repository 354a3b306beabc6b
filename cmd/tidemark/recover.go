package main

import (
	"github.com/spf13/cobra"

	"tidemark/cmd/tidemark/recoveries"
)

func newRecover() *cobra.Command {
	var asked recoveries.Flags
	command := &cobra.Command{
		Use:   "recover",
		Short: "Brings a lost target back: the newest backup that verifies, and the rest of the log",
		Long: "Restores a backup into the empty database in TIDEMARK_DATABASE_URL and replays the log from the backup's position to\n" +
			"where the log ends now. The plan is printed first; --dry-run stops there and writes nothing. Interrupted, or stopped by\n" +
			"anything else, the same command goes on with what it has. Each flow needs its flow file. With --until it stops before the\n" +
			"end of the log, and what lies behind is held until tidemark flow resume. --table restores single tables, and replays nothing.\n\n" +
			"It refuses by name, with what would override it and what that loses. Exit codes: 10 no_backup; 11 held_by_another,\n" +
			"lineage_forked; 12 untrusted; 13 corrupt, older_than_seen; 14 the log has not what the backup needs (log_truncated,\n" +
			"log_shorter_than_manifest, topic_recreated, partition_vanished, tombstones_expired); 15 target_not_empty,\n" +
			"identity_mismatch, schema_mismatch; 30 the database refused, or a record cannot be applied; 31 the brokers; 3 live, with warnings.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return recoverTarget(cmd, &asked) },
	}
	asked.Declare(command.Flags())
	if err := asked.Complete(command); err != nil {
		panic(err) // the flags are declared a line above
	}
	return command
}

func recoverTarget(cmd *cobra.Command, asked *recoveries.Flags) error {
	if asked.Extracts() {
		return asked.Extract(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
	}
	return recoveries.Command{
		Flags: asked, Actor: actor(), Tool: "tidemark " + version, Out: cmd.OutOrStdout(), Progress: cmd.ErrOrStderr(),
	}.Run(cmd.Context())
}
