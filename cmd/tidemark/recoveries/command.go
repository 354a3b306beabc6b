package recoveries

import (
	"context"
	"fmt"
	"io"
	"time"

	"tidemark/cmd/tidemark/exit"
	"tidemark/shared/recovery"
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
		return c.byHand(ctx, options.Checkpoints, plan)
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

// stopped says what is left of a recovery that a person stopped.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("interrupted, and the same command goes on: %w", err)
}
