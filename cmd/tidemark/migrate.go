package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"tidemark/cmd/tidemark/exit"
	"tidemark/cmd/tidemark/vacancy"
	"tidemark/shared/postgres/migrations"
)

func newMigrate() *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Makes the ledger in the target, or brings it up to this release's version",
		Long: "Makes Tidemark's tables and functions in the target's ledger schema. It changes nothing of yours and nothing at\n" +
			"all when the ledger is up to date. It refuses a database that a recovery has claimed. Functions never do this.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			environment, err := environment()
			if err != nil {
				return err
			}
			address, err := dial(environment)
			if err != nil {
				return err
			}
			if err := vacancy.Database(cmd.Context(), address, &environment); err != nil {
				return err
			}
			result, err := migrations.Up(cmd.Context(), address, environment.LedgerSchema)
			if err != nil {
				return exit.Database(err)
			}
			if len(result.Applied) == 0 {
				cmd.Printf("ledger in schema %s: version %d, nothing to do\n", environment.LedgerSchema, result.To)
				return nil
			}
			cmd.Printf("ledger in schema %s: version %d -> %d\n", environment.LedgerSchema, result.From, result.To)
			for _, name := range result.Applied {
				cmd.Println(fmt.Sprintf("  applied %s", name))
			}
			return nil
		},
	}
}
