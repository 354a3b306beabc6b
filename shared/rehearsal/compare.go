package rehearsal

import (
	"context"
	"fmt"
	"slices"

	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/position"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/inspection"
	"tidemark/shared/verify/census"
)

// countLive counts the live target, and makes where it stands the end of the replay. The manifest is chosen before, because it
// says which tables are counted; a newer one that comes meanwhile would show more than the live target did.
func (r *run) countLive(ctx context.Context) error {
	if !r.Recovery.Until.IsZero() {
		return fault.New(fault.Misconfigured, "the replay is to end where the live target stands, and elsewhere too").
			WithHint("a rehearsal up to another point compares with nothing: give --no-live with --until")
	}
	choice, warnings, err := recovery.Choose(ctx, r.Recovery)
	if err != nil {
		return err
	}
	r.Recovery.Manifest, r.outcome.Warnings = choice.Manifest.Run, warnings
	if r.live, err = r.Live.Read(ctx, choice.Body.Tables); err != nil {
		return fmt.Errorf("count the live target: %w", err)
	}
	r.outcome.LiveTaken = r.live.Taken
	return r.endAt(ctx, choice.Body.Cut, r.live.Cut)
}

// endAt ends the replay of every partition where the live target stands: at 0 where it has no checkpoint. Of topics that the
// manifest does not know, nobody can ask for an end: there the log itself is taken to end.
func (r *run) endAt(ctx context.Context, base, live body.Cut) error {
	ends, flows := position.Cut{}, flowsOf(base)
	for _, flow := range flowsOf(live) {
		if !slices.Contains(flows, flow) {
			r.outcome.Warnings = append(r.outcome.Warnings,
				fmt.Sprintf("flow %s began after the backup: a recovery from it knows nothing of the flow", flow))
		}
	}
	for _, flow := range flows {
		topics, err := r.Recovery.Log.Topics(ctx, slices.Concat(r.Recovery.Flows[flow], topicsOf(of(base, flow))))
		if err == nil {
			err = stand(ends, topics, live.Offsets(flow))
		}
		if err != nil {
			return fmt.Errorf("ask where the replay of flow %s ends: %w", flow, err)
		}
	}
	known, beyond := topicsOf(base), position.Cut{}
	for p, end := range ends {
		if !slices.Contains(known, p.Topic) {
			beyond[p] = end
			delete(ends, p)
		}
	}
	r.Recovery.Until = inspection.End{Offsets: ends}
	r.Recovery.Log = ending{r.Recovery.Log, beyond}
	return nil
}

// stand adds where a flow stands in every partition of its topics.
func stand(ends position.Cut, topics map[string]inspection.Topic, at position.Cut) error {
	for name, topic := range topics {
		for number := range topic.Partitions {
			p := position.Partition{Topic: name, Number: number}
			if end, twice := ends[p]; twice && end != at[p] {
				return fault.New(fault.Misconfigured, "two flows read %s and stand apart in it: no cut is that of both", p).
					WithHint("rehearse with --no-live, which compares with the archive alone")
			}
			ends[p] = at[p]
		}
	}
	return nil
}

// ending is a log that ends early in some partitions.
type ending struct {
	recovery.Log

	at position.Cut
}

// Bounds gives where partitions begin and end. See recovery.Log.
func (l ending) Bounds(ctx context.Context, of []position.Partition) (map[position.Partition]inspection.Bounds, error) {
	bounds, err := l.Log.Bounds(ctx, of)
	for p, b := range bounds {
		if end, early := l.at[p]; early {
			b.Stable, b.End = min(b.Stable, end), min(b.End, end)
			bounds[p] = b
		}
	}
	return bounds, err
}

func of(cut body.Cut, flow string) (own body.Cut) {
	for _, p := range cut {
		if p.Flow == flow {
			own = append(own, p)
		}
	}
	return own
}

func flowsOf(cut body.Cut) (flows []string) {
	for _, p := range cut {
		flows = append(flows, p.Flow)
	}
	slices.Sort(flows)
	return slices.Compact(flows)
}

func topicsOf(cut body.Cut) (topics []string) {
	for _, p := range cut {
		topics = append(topics, p.Topic)
	}
	slices.Sort(topics)
	return slices.Compact(topics)
}

// compareBase compares what the restore made with what the archive holds, before a record is replayed.
func (r *run) compareBase(ctx context.Context, base recovery.Base) error {
	r.did(Restore)
	want := census.Tables{}
	for _, t := range base.Body.Tables {
		if t.Schema == base.Body.Snapshot.LedgerSchema {
			continue // two databases never agree on it
		}
		digest, counted := r.outcome.Archive.Tables[t.Name]
		if !counted {
			return fault.New(fault.Bug, "the archive's rows of %s were not counted", t.Name)
		}
		want[t.Name] = digest
	}
	state, err := r.Scratch.Read(ctx, base.Body.Tables)
	if err != nil {
		return fmt.Errorf("count the restored base: %w", err)
	}
	r.base = state.Tables
	for _, d := range census.Compare(want, state.Tables) {
		r.outcome.Differences = append(r.outcome.Differences, Difference{Phase: Base, Table: &d})
	}
	r.outcome.Compared = len(want)
	r.did(Base)
	return nil
}

// compareLive compares what the replay ended with and the live target, tables and positions.
func (r *run) compareLive(after State) {
	for _, d := range census.Compare(r.live.Tables, after.Tables) {
		// Where no flow writes, the live target may have gone on alone: that is what the base alone has of it.
		base, there := r.base[d.Table]
		unwritten := there && d.Got != nil && d.Want != nil && *d.Got == base && slices.Contains(r.outcome.Plan.Unwritten, d.Table.String())
		r.outcome.Differences = append(r.outcome.Differences, Difference{Phase: Compare, Table: &d, Unwritten: unwritten})
	}
	flows := flowsOf(r.outcome.Plan.Choice.Body.Cut)
	for _, s := range census.ComparePositions(r.live.Cut, after.Cut) {
		none := s.Want == nil && *s.Got == 0 // a partition of which the live target has seen nothing yet
		if slices.Contains(flows, s.Flow) && !none {
			r.outcome.Differences = append(r.outcome.Differences, Difference{Phase: Compare, Shift: &s})
		}
	}
}
