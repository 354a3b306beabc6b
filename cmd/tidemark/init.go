package main

import (
	"errors"

	"github.com/spf13/cobra"

	"tidemark/cmd/tidemark/vacancy"
	"tidemark/shared/postgres/ledger"
)

func newInit() *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Makes a new target live under TIDEMARK_TARGET_ID",
		Long: "Gives the target its id and its first life. On a target that is live under the same id it changes nothing;\n" +
			"on any other it refuses, and so it does where the archive in TIDEMARK_ARCHIVE holds a life of a target already.",
		Args: cobra.NoArgs,
		RunE: initTarget,
	}
}

func initTarget(cmd *cobra.Command, _ []string) error {
	environment, err := environment()
	if err != nil {
		return err
	}
	var refused error
	err = operate(cmd.Context(), environment, func(operator *ledger.Operator) error {
		if refused, err = vacancy.Refuse(cmd, operator); refused != nil || err != nil {
			return errors.Join(refused, err)
		}
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
	if refused != nil {
		return refused
	}
	return err
}
