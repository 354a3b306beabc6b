package recoveries

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
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

// Command is one call of the verb.
type Command struct {
	Flags         *Flags
	Actor, Tool   string
	Out, Progress io.Writer
}

// Run says the plan, recovers and says what was done. Errors: marked with where they came from.
func (c Command) Run(ctx context.Context) error {
	recovered, closeAll, err := c.Flags.Open(ctx, c.Actor, c.Tool)
	if err != nil {
		return err
	}
	defer closeAll()
	options, begun := recovered.Options, time.Now()
	plan, err := recovery.Prepare(ctx, options)
	if err != nil {
		return exit.Archive(err)
	}
	if c.Flags.commands {
		return c.byHand(ctx, options.Database, plan)
	}
	if err := (Plan{Plan: plan, DryRun: c.Flags.DryRun}).Show(c.Out, c.Flags.JSON); err != nil {
		return err
	}
	if err := recovered.Covers(plan); err != nil || c.Flags.DryRun {
		return err
	}
	ended, err := c.recover(ctx, options, plan)
	if err != nil {
		return exit.Archive(stopped(ctx, err))
	}
	ended.Took = time.Since(begun)
	if err := ended.Show(c.Out, c.Flags.JSON); err != nil {
		return err
	}
	if n := len(ended.Warnings); n > 0 {
		return exit.Warnedf("recovered, with %d warnings", n)
	}
	return nil
}

// recover recovers, with the functions stopped meanwhile if that was asked for.
func (c Command) recover(ctx context.Context, options recovery.Options, plan recovery.Plan) (Outcome, error) {
	watch := NewWatch(c.Progress, c.Flags.JSON, time.Now)
	options.OnRestore, options.OnReplay = watch.Restore, watch.Replay
	switching := &c.Flags.switching
	if len(switching.Asked) > 0 {
		closeGroups, err := c.prepare(ctx, &options, plan)
		if err != nil {
			return Outcome{}, err
		}
		defer closeGroups()
	}
	done, err := recovery.Run(ctx, options)
	if err != nil {
		return Outcome{}, err
	}
	done.Warnings = append(done.Warnings, switching.Warnings...)
	outcome := Outcome{Report: done}
	switch {
	case done.Try.Held != nil:
		outcome.Next = []string{"the functions change nothing while the target is held; after tidemark flow resume the same command goes on"}
	case len(switching.Asked) > 0:
		switched, err := switching.Finish(ctx)
		if outcome.Next = switched.Lines(); err != nil {
			for _, line := range outcome.Next {
				_, _ = fmt.Fprintln(c.Progress, line)
			}
			return outcome, fmt.Errorf("the target is live; the switch of the functions goes on by the same command: %w", err)
		}
	default:
		outcome.Next = []string{"the functions' consumer groups stand where they stood: --switch FLOW=FUNCTION moves them, " +
			"and --commands prints what does it by hand"}
	}
	return outcome, err
}

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
		Mappings: mappings, Groups: groups, Log: options.Log, Target: options.Database, Note: c.Tool, Wait: wait,
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
func (c Command) byHand(ctx context.Context, database recovery.Database, plan recovery.Plan) error {
	at := map[string]position.Cut{}
	for _, flow := range flowsOf(plan) {
		if !plan.Settled {
			break
		}
		stands, err := database.Positions(ctx, flow.Name)
		if err != nil {
			return err
		}
		at[flow.Name] = stands
	}
	logsIn := c.Flags.kafka.Mechanism != "" || c.Flags.kafka.TLS
	_, err := fmt.Fprintln(c.Out, strings.Join(ByHand(plan, at, c.Flags.kafka.Addresses, logsIn), "\n"))
	return err
}

// stopped says what is left of a recovery that a person stopped.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("interrupted, and the same command goes on: %w", err)
}
