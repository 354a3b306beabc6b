package recovery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"tidemark/shared/apply"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/recovery/replay"
)

// replayFlows replays each flow from where its checkpoints stand. A flow whose record waits for another flow's comes again
// when that one has gone on.
func (o Options) replayFlows(ctx context.Context, plan Plan, report *Report) error {
	ends := map[string]position.Cut{}
	for _, p := range report.Try.Ends {
		ends[p.Flow] = report.Try.Ends.Offsets(p.Flow)
	}
	for waiting := slices.Sorted(maps.Keys(ends)); len(waiting) > 0; {
		var left []string
		var waits error
		moved := false
		for _, flow := range waiting {
			counts, err := o.replayFlow(ctx, flow, ends[flow])
			report.Replayed[flow] = report.Replayed[flow].Plus(counts)
			moved = moved || err == nil || counts.Applied > 0
			switch {
			case err == nil:
			case errors.Is(err, apply.ErrWaits) && fault.Is(err, fault.Poison):
				left, waits = append(left, flow), fmt.Errorf("replay flow %s: %w", flow, err)
			default:
				return fmt.Errorf("replay flow %s: %w", flow, o.vanished(ctx, plan, report.Try, err))
			}
		}
		if waits != nil && (!moved || len(waiting) == 1) {
			return waits
		}
		waiting = left
	}
	return nil
}

// vanished asks the log again when it lost in flight what was to be read next, so that the refusal has its name.
func (o Options) vanished(ctx context.Context, plan Plan, t Try, err error) error {
	if !fault.Is(err, fault.Gap) && !errors.Is(err, ErrOutOfRange) {
		return err
	}
	stand, failed := o.stand(ctx, t.Ends)
	if failed != nil {
		return errors.Join(err, failed)
	}
	in := &inspection{log: o.Log, body: plan.Choice.Body, now: o.Now(), try: &t, stand: stand}
	if _, failed = in.inspect(ctx); len(in.refusals) == 0 {
		return errors.Join(err, failed)
	}
	delete(in.refusals, TombstonesExpired) // judged when the call began
	refused := in.refused()
	if named, ok := errors.AsType[*RefusalError](refused); ok {
		named.Err = err
		return refused
	}
	return err
}

func (o Options) replayFlow(ctx context.Context, flow string, ends position.Cut) (counts Replayed, err error) {
	from, err := o.Database.Positions(ctx, flow)
	if err != nil {
		return counts, err
	}
	open := position.Cut{}
	for p, end := range ends {
		if from[p] < end {
			open[p] = from[p]
		}
	}
	if len(open) == 0 {
		return counts, nil
	}
	applier, err := o.Applier(flow)
	if err != nil {
		return counts, err
	}
	tail, err := o.Log.Open(ctx, open)
	if err != nil {
		return counts, err
	}
	defer tail.Close()
	return replay.Run(ctx, replay.Options{Tail: tail, Applier: applier, From: from, Ends: ends, Report: func(c Replayed) {
		if o.OnReplay != nil {
			o.OnReplay(flow, c)
		}
	}})
}
