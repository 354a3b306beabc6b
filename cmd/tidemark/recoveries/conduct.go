package recoveries

import (
	"context"
	"fmt"
	"time"

	"tidemark/shared/apply"
	"tidemark/shared/recovery"
)

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
	case done.State == apply.StateHeld:
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
