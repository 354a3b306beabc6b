package recoveries

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"tidemark/cmd/tidemark/exit"
	"tidemark/cmd/tidemark/report"
	"tidemark/shared/eventmapping"
	"tidemark/shared/position"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/switchover"
	"tidemark/shared/wiring/recovering"
)

// prepare finds the functions' mappings, and has them stopped when the try remembers them.
func (c Command) prepare(ctx context.Context, options *recovery.Options, plan recovery.Plan) (func(), error) {
	mappings, err := eventmapping.Dial(ctx, eventmapping.Options{})
	if err != nil {
		return nil, err
	}
	groups, err := recovering.OpenGroups(ctx, &c.Flags.kafka, time.Now)
	if err != nil {
		return nil, exit.Kafka(err)
	}
	var kept json.RawMessage
	if plan.Resumed != nil {
		kept = plan.Resumed.Switch
	}
	switching := &c.Flags.switching
	options.Switch, err = switching.Prepare(ctx, switchover.Options{
		Mappings: mappings, Groups: groups, Log: options.Log, Target: options.Checkpoints, Note: c.Tool, Wait: wait,
		OnWait: func(what string) { _, _ = fmt.Fprintln(c.Progress, report.OneLine(what)) },
	}, plan, kept)
	if err != nil {
		groups.Close()
		return nil, err
	}
	options.OnBegun = switching.Stop
	return groups.Close, nil
}

// wait pauses, or ends with the context.
func wait(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// byHand prints the commands that a person types who does not ask for a switch. Where the flows stand is known when the
// recovery has ended.
func (c Command) byHand(ctx context.Context, checkpoints recovery.Checkpoints, plan recovery.Plan) error {
	at := map[string]position.Cut{}
	for _, flow := range flowsOf(plan) {
		if !plan.Settled {
			break
		}
		stands, err := checkpoints.Positions(ctx, flow.Name)
		if err != nil {
			return err
		}
		at[flow.Name] = stands
	}
	logsIn := c.Flags.kafka.Mechanism != "" || c.Flags.kafka.TLS
	_, err := fmt.Fprintln(c.Out, strings.Join(ByHand(plan, at, c.Flags.kafka.Addresses, logsIn), "\n"))
	return err
}
