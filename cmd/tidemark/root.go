package main

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"tidemark/cmd/tidemark/exit"
	"tidemark/shared/config"
	"tidemark/shared/postgres"
	"tidemark/shared/postgres/address"
	"tidemark/shared/postgres/ledger"
	"tidemark/shared/wiring/login"
)

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "tidemark",
		Short: "Moves records from Kafka into PostgreSQL exactly once",
		Long: "The operator's command of Tidemark. Settings come from TIDEMARK_* variables; docs/configuration.md lists them.\n" +
			"Exit codes: 0 done, 1 internal, 2 usage or configuration, 3 done with warnings, 10 no backup, 11 held by another,\n" +
			"12 trust, 13 integrity, 14 a gap, 15 another target, 20 access to the store, 21 the store is away, 30 PostgreSQL,\n" +
			"31 Kafka, 75 to be continued, 130 interrupted. Any other code is a failure.",
		Version: version, SilenceErrors: true, SilenceUsage: true,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exit.Usage(err) })
	flow := &cobra.Command{Use: "flow", Short: "Acts on a flow"}
	flow.AddCommand(newFlowStart(), newFlowResume())
	root.AddCommand(newMigrate(), newInit(), flow, newBackup(), newRecover(), newManifests(), newVerify(), newRehearse(),
		newDoctor(), newExpire(), newCopy(), newKeep(), newUnkeep(), newRevoke(), newKeys())
	return root
}

// environment is what the variables say. Errors: fault.Misconfigured.
func environment() (config.Command, error) { return config.LoadCommand(config.OS()) }

// dial reads the database's address. Errors: fault.Misconfigured.
func dial(environment config.Command) (*pgx.ConnConfig, error) {
	at, err := address.Parse(environment.Database.Reveal(), environment.ConnectTimeout)
	if err != nil {
		return nil, fmt.Errorf("TIDEMARK_DATABASE_URL: %w", err)
	}
	postgres.LogInWith(&at.Config, login.Database(&environment.Process, time.Now))
	return at, nil
}

// operate connects and runs one act as the person who started the command.
func operate(ctx context.Context, environment config.Command, act func(*ledger.Operator) error) error {
	at, err := dial(environment)
	if err != nil {
		return err
	}
	conn, err := postgres.Connect(ctx, at)
	if err != nil {
		return exit.Database(postgres.Classify(err))
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // every act has committed or failed by then
	if err := act(ledger.NewOperator(conn, environment.LedgerSchema, actor())); err != nil {
		return exit.Database(err)
	}
	return nil
}

// actor is who acts, for the audit: the account and the machine.
func actor() string {
	name := "unknown"
	if account, err := user.Current(); err == nil {
		name = account.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}
