package main

import (
	"github.com/spf13/cobra"

	"tidemark/shared/postgres/ledger"
)

func newInit() *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Makes a new target live under TIDEMARK_TARGET_ID",
		Long: "Gives the target its id and its first life. On a target that is live under the same id it changes nothing;\n" +
			"on any other it refuses.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			environment, err := environment()
			if err != nil {
				return err
			}
			return operate(cmd.Context(), environment, func(operator *ledger.Operator) error {
				life, made, err := operator.Init(cmd.Context(), environment.TargetID)
				if err != nil {
					return err
				}
				was := "was live already"
				if made {
					was = "is live"
				}
				cmd.Printf("target %s %s: lineage %s, incarnation %s\n", life.TargetID, was, life.Lineage, life.Incarnation)
				return nil
			})
		},
	}
}
