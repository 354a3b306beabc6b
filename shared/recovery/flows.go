package recovery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"tidemark/shared/apply"
	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/position"
	"tidemark/shared/recovery/inspection"
	"tidemark/shared/recovery/refusal"
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
			counts, err := o.replayFlow(ctx, flow, ends[flow], plan, report)
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
	o.AllowGap = "" // what was accepted is in the try, and this came on top
	seen, failed := o.inspect().Inspect(ctx, inspection.Subject{
		Body: plan.Choice.Body, Now: o.Now(), Earlier: t.earlier(), Stand: stand, Excluded: plan.Excluded,
	})
	refused := seen.Refused(refusal.TombstonesExpired) // judged when the call began
	if failed != nil || refused == nil {
		return errors.Join(err, failed)
	}
	if named, ok := errors.AsType[*refusal.Error](refused); ok {
		named.Err = err
		return refused
	}
	return err
}

// replayFlow replays a flow piece by piece: up to what may not be read, over it, and on.
func (o Options) replayFlow(ctx context.Context, flow string, ends position.Cut, plan Plan, report *Report) (Replayed, error) {
	f := flowReplay{Options: o, flow: flow, ends: ends, report: report, passes: slices.Concat(report.Try.Accepted, plan.Excluded, plan.Present)}
	for {
		from, err := f.stand(ctx)
		if err != nil {
			return f.counts, err
		}
		until, due := inspection.Stops(flow, from, ends, f.passes)
		open := unread(from, until)
		switch {
		case len(due) > 0:
			if err = o.Checkpoints.Pass(ctx, report.Try, due); err != nil {
				err = fmt.Errorf("pass over %d ranges of the log: %w", len(due), err)
			}
		case len(open) == 0:
			return f.counts, nil
		default:
			err = f.piece(ctx, open, replay.Options{From: from, Ends: until})
		}
		if err != nil {
			return f.counts, err
		}
	}
}

// flowReplay is the replay of one flow by one call.
type flowReplay struct {
	Options

	flow    string
	ends    position.Cut
	passes  []body.Gap // ranges that are not read
	report  *Report
	applier Applier
	counts  Replayed
}

// stand is where the partitions stand, or how far this call has read them.
func (f *flowReplay) stand(ctx context.Context) (position.Cut, error) {
	from, err := f.Checkpoints.Positions(ctx, f.flow)
	if err != nil {
		return nil, err
	}
	if from == nil {
		from = position.Cut{}
	}
	for p, reached := range f.report.Reached[f.flow] {
		from[p] = max(from[p], reached)
	}
	return from, nil
}

// unread are the partitions that have not come as far as they must, and where they stand.
func unread(from, until position.Cut) position.Cut {
	open := position.Cut{}
	for p, stop := range until {
		if from[p] < stop {
			open[p] = from[p]
		}
	}
	return open
}

// piece replays the partitions that are open.
func (f *flowReplay) piece(ctx context.Context, open position.Cut, o replay.Options) (err error) {
	if f.applier == nil {
		if f.applier, err = f.Applier(f.flow, f.report.Try.Incarnation); err != nil {
			return err
		}
	}
	if o.Tail, err = f.Log.Open(ctx, open); err != nil {
		return err
	}
	defer o.Tail.Close()
	o.Applier = f.applier
	before := f.counts
	o.Report = func(c Replayed) {
		if f.OnReplay != nil {
			f.OnReplay(f.flow, before.Plus(c))
		}
	}
	counts, err := replay.Run(ctx, o)
	f.counts = before.Plus(counts)
	if err == nil {
		f.report.Reached[f.flow] = o.Ends
	}
	return err
}
