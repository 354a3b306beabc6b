package recovery

import (
	"context"
	"fmt"
	"time"

	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/position"
)

// Tally is what the log has for one partition of one flow.
type Tally struct {
	Flow      string
	Partition position.Partition
	From      position.Offset // where replay begins: the cut, or behind an accepted gap
	Until     position.Offset // where it ends, the last stable offset when it was asked
	Start     position.Offset // of the log
	Unstable  position.Offset // the high watermark, if transactions are open above Until; else 0
}

// Records is about how many records are to be replayed: offsets of control batches count.
func (t Tally) Records() int64 { return max(0, int64(t.Until-t.From)) }

// inspection is the log held against a manifest's cut.
type inspection struct {
	log      Log
	cut      body.Cut
	now      time.Time
	allowGap string // why a gap may be passed over; empty: it may not

	topics   map[string]Topic
	bounds   map[position.Partition]Bounds
	gaps     []body.Gap
	refusals map[string][]*RefusalError
	warnings []string
}

// inspect asks the log and gives what is to be replayed.
func (in *inspection) inspect(ctx context.Context) ([]Tally, error) {
	in.refusals = map[string][]*RefusalError{}
	if err := in.ask(ctx); err != nil {
		return nil, err
	}
	tallies := make([]Tally, 0, len(in.cut))
	for _, p := range in.withAdded() {
		tally, refusal, err := in.judge(ctx, p)
		if err != nil {
			return nil, err
		}
		if refusal != nil {
			in.refusals[refusal.Name] = append(in.refusals[refusal.Name], refusal)
		}
		tallies = append(tallies, tally)
	}
	return tallies, in.refused()
}

// refused gives the gravest kind of refusal: what is another log altogether before what the log no longer has.
func (in *inspection) refused() error {
	for _, name := range []string{PartitionVanished, TopicRecreated, LogShorterThanManifest, LogTruncated, TombstonesExpired} {
		if found := in.refusals[name]; len(found) > 0 {
			return refuse(fault.Gap, found...)
		}
	}
	return nil
}

func (in *inspection) ask(ctx context.Context) (err error) {
	var names []string
	seen := map[string]bool{}
	for _, p := range in.cut {
		if !seen[p.Topic] {
			seen[p.Topic] = true
			names = append(names, p.Topic)
		}
	}
	if in.topics, err = in.log.Topics(ctx, names); err != nil {
		return fmt.Errorf("describe %d topics: %w", len(names), err)
	}
	var partitions []position.Partition
	for name, topic := range in.topics {
		for number := range topic.Partitions {
			partitions = append(partitions, position.Partition{Topic: name, Number: number})
		}
	}
	if in.bounds, err = in.log.Bounds(ctx, partitions); err != nil {
		return fmt.Errorf("ask where %d partitions begin and end: %w", len(partitions), err)
	}
	return nil
}

// withAdded is the cut with the partitions that its topics got since: they begin at 0.
func (in *inspection) withAdded() body.Cut {
	cut := append(body.Cut{}, in.cut...)
	known := map[string]bool{}
	flows := map[[2]string]bool{}
	for _, p := range in.cut {
		known[fmt.Sprintf("%s %s/%d", p.Flow, p.Topic, p.Partition)] = true
		flows[[2]string{p.Flow, p.Topic}] = true
	}
	for flow := range flows {
		for number := range in.topics[flow[1]].Partitions {
			if !known[fmt.Sprintf("%s %s/%d", flow[0], flow[1], number)] {
				cut = append(cut, body.Partition{Flow: flow[0], Topic: flow[1], Partition: number})
			}
		}
	}
	cut.Sort()
	return cut
}

// judge holds one partition against the log.
func (in *inspection) judge(ctx context.Context, p body.Partition) (Tally, *RefusalError, error) {
	at := position.Partition{Topic: p.Topic, Number: p.Partition}
	topic, exists := in.topics[p.Topic]
	bounds, has := in.bounds[at]
	t := Tally{Flow: p.Flow, Partition: at, From: p.NextOffset, Until: bounds.Stable, Start: bounds.Start}
	if bounds.End > bounds.Stable {
		t.Unstable = bounds.End
	}
	switch {
	case !exists || !has:
		return t, &RefusalError{Name: PartitionVanished, What: fmt.Sprintf("the log has no partition %s", at)}, nil
	case p.TopicID != "" && topic.ID != p.TopicID:
		return t, &RefusalError{
			Name: TopicRecreated, What: fmt.Sprintf("topic %s is %s, the manifest was made from %s", p.Topic, topic.ID, p.TopicID),
		}, nil
	case p.NextOffset > bounds.End:
		return t, &RefusalError{
			Name: LogShorterThanManifest, What: fmt.Sprintf("%s ends at %d, the manifest stands at %d", at, bounds.End, p.NextOffset),
		}, nil
	case p.NextOffset > bounds.Stable:
		t.Until = p.NextOffset // committed before; the log's transactions above are not
	}
	if refusal, err := in.sameEpoch(ctx, at, p); refusal != nil || err != nil {
		return t, refusal, err
	}
	if refusal := in.tombstones(p, topic); refusal != nil {
		return t, refusal, nil
	}
	return in.judgeStart(t)
}

// sameEpoch refuses a log that lost what the manifest has: another leader has written over it.
func (in *inspection) sameEpoch(ctx context.Context, at position.Partition, p body.Partition) (*RefusalError, error) {
	if p.LeaderEpoch == nil {
		return nil, nil //nolint:nilnil // nothing is known, so nothing is refused
	}
	end, err := in.log.EpochEnd(ctx, at, *p.LeaderEpoch)
	if err != nil {
		return nil, fmt.Errorf("ask for leader epoch %d of %s: %w", *p.LeaderEpoch, at, err)
	}
	if end < p.NextOffset {
		return &RefusalError{Name: LogShorterThanManifest, What: fmt.Sprintf(
			"leader epoch %d of %s ends at %d, the manifest stands at %d", *p.LeaderEpoch, at, end, p.NextOffset)}, nil
	}
	return nil, nil //nolint:nilnil // it agrees
}

// tombstones refuses a compacted topic whose deletes may be gone, although its offsets look as if nothing was.
func (in *inspection) tombstones(p body.Partition, topic Topic) *RefusalError {
	if !topic.Compacted || p.RecordTime == nil {
		return nil
	}
	if age := in.now.Sub(*p.RecordTime); age >= topic.DeleteRetention {
		return in.acceptable(&RefusalError{
			Name: TombstonesExpired, What: fmt.Sprintf("topic %s keeps tombstones for %s, the manifest is of %s ago", p.Topic,
				topic.DeleteRetention, age.Round(time.Second)),
		})
	}
	return nil
}

// judgeStart finds a gap between the cut and what the log still has.
func (in *inspection) judgeStart(t Tally) (Tally, *RefusalError, error) {
	if t.Start <= t.From {
		return t, nil, nil
	}
	gap := position.Range{From: t.From, Until: t.Start}
	refusal := in.acceptable(&RefusalError{
		Name: LogTruncated, What: fmt.Sprintf("%s begins at %d, the manifest stands at %d: %d offsets are gone", t.Partition, t.Start, t.From,
			gap.Len()),
	})
	if refusal == nil {
		in.gaps = append(in.gaps, body.Gap{
			Flow: t.Flow, Topic: t.Partition.Topic, Partition: t.Partition.Number, From: gap.From, Until: gap.Until, How: "accepted",
			Reason: in.allowGap, At: in.now.UTC(),
		})
		t.From = t.Start
		t.Until = max(t.Until, t.Start)
	}
	return t, refusal, nil
}

// acceptable is nil when an operator has said that this may be missing, which is then said as a warning.
func (in *inspection) acceptable(r *RefusalError) *RefusalError {
	if in.allowGap != "" {
		in.warnings = append(in.warnings, r.What+", accepted: "+in.allowGap)
		return nil
	}
	r.Override, r.Loses = "--allow-gap REASON", "every record that the log no longer has, which is audited and said in the next manifest"
	return r
}
