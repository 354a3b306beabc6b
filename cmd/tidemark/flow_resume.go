package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tidemark/cmd/tidemark/exit"
	"tidemark/cmd/tidemark/recoveries"
	"tidemark/shared/archive/decision"
	"tidemark/shared/config"
	"tidemark/shared/postgres/ledger"
	"tidemark/shared/wiring"
)

func newFlowResume() *cobra.Command {
	var replay bool
	var skip string
	command := &cobra.Command{
		Use:   "resume --replay | --skip REASON",
		Short: "Lets the flow in TIDEMARK_FLOW_FILE go on that a recovery with --until holds",
		Long: "A recovery that was asked to stop before the log's end leaves its flows held. --replay lets them go on where they stand:\n" +
			"all that lies behind is applied. --skip leaves out for good what the log had behind that point when the recovery began,\n" +
			"and goes on with what came later; that is signed and written to the archive before, so that no later recovery brings it\n" +
			"back, and needs TIDEMARK_SIGNING_KEYS. Both ask the archive first: a life that is over is not made live, and what was\n" +
			"left out before is not applied. The target is live again when no flow is held any more.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if replay == (strings.TrimSpace(skip) != "") {
				return exit.Usage(errors.New("want one of --replay and --skip REASON"))
			}
			return resumeFlow(cmd, strings.TrimSpace(skip))
		},
	}
	command.Flags().BoolVar(&replay, "replay", false, "apply what is held")
	command.Flags().StringVar(&skip, "skip", "", "why what is held is left out for good; it is kept in the archive")
	return command
}

func resumeFlow(cmd *cobra.Command, skip string) error {
	environment, err := environment()
	if err != nil {
		return err
	}
	flow, err := config.ReadFlow(environment.FlowFile)
	if err != nil {
		return err
	}
	return operate(cmd.Context(), environment, func(operator *ledger.Operator) error {
		return recoveries.Resumption{
			Operator: operator, Target: environment.TargetID, Flow: flow.Name, Skip: skip, Decide: decisions,
		}.Run(cmd.Context(), cmd.OutOrStdout())
	})
}

// decisions is what writes decisions to the archive that the environment names.
func decisions(ctx context.Context) (o decision.Options, err error) {
	environment, err := config.LoadArchivist(config.OS())
	if err != nil {
		return o, err
	}
	if o.Archive, err = wiring.OpenArchive(ctx, environment.Archive, environment.TargetID); err != nil {
		return o, exit.Archive(err)
	}
	o.Actor, o.Now = actor(), time.Now
	o.Signers, err = wiring.Signers(ctx, environment.Archive)
	return o, err
}
