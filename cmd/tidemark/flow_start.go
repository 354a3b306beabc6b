package main

import (
	"github.com/spf13/cobra"

	"tidemark/cmd/tidemark/exit"
	"tidemark/cmd/tidemark/flows"
	"tidemark/shared/config"
	"tidemark/shared/postgres/ledger"
)

func newFlowStart() *cobra.Command {
	var from []string
	var reason string
	start := &cobra.Command{
		Use:   "start --from earliest | --from TOPIC/PARTITION=OFFSET ...",
		Short: "Says where partitions of the flow in TIDEMARK_FLOW_FILE begin",
		Long: "Puts checkpoints. A partition without one begins at the given offset; one that has a checkpoint is moved only\n" +
			"with --reason: forward leaves the records between out for good, back applies them again. Both are audited.\n" +
			"earliest moves every partition that has a checkpoint back to 0. A partition that nobody starts begins at 0.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return startFlow(cmd, from, reason) },
	}
	start.Flags().StringArrayVar(&from, "from", nil, "earliest, or TOPIC/PARTITION=OFFSET (may be repeated)")
	start.Flags().StringVar(&reason, "reason", "", "why, for the audit; needed to move a checkpoint that exists")
	if err := start.MarkFlagRequired("from"); err != nil {
		panic(err) // the flag is declared two lines above
	}
	return start
}

func startFlow(cmd *cobra.Command, from []string, reason string) error {
	environment, err := environment()
	if err != nil {
		return err
	}
	flow, err := config.ReadFlow(environment.FlowFile)
	if err != nil {
		return err
	}
	return operate(cmd.Context(), environment, func(operator *ledger.Operator) error {
		known, err := operator.Partitions(cmd.Context(), flow.Name)
		if err != nil {
			return err
		}
		starts, err := flows.ParseStarts(from, flow.Topics, known)
		if err != nil {
			return exit.Usage(err)
		}
		if len(starts) == 0 {
			cmd.Println("no partition has a checkpoint: each begins at 0")
			return nil
		}
		moved, err := operator.StartFlow(cmd.Context(), environment.TargetID, flow.Name, starts, reason)
		if err != nil {
			return err
		}
		for _, m := range moved {
			cmd.Println(flows.DescribeMove(m))
		}
		return nil
	})
}
