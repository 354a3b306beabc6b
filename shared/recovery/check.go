package recovery

import (
	"context"
	"fmt"
	"time"

	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/manifest/document"
	"tidemark/shared/position"
)

// Tally is what the log has for one partition of one flow.
type Tally struct {
	Flow      string
	Partition position.Partition
	From      position.Offset // where replay begins: the cut, or where an earlier call came, or behind an accepted gap
	Until     position.Offset // where it ends: the last stable offset when the try began
	Start     position.Offset // of the log
	Unstable  position.Offset // the high watermark, if transactions are open above Until; else 0
}

// Records is about how many records are to be replayed: offsets of control batches count.
func (t Tally) Records() int64 { return max(0, int64(t.Until-t.From)) }

// inspection is the log held against a manifest's cut and, when a try goes on, against what is left of it.
type inspection struct {
	log   Log
	body  body.Body
	now   time.Time
	actor string
	// allowGap is why a gap may be passed over; empty: it may not.
	allowGap string
	try      *Try                    // that goes on; nil: none
	stand    map[string]position.Cut // by flow, how far it came; nil: its base is not in

	topics   map[string]Topic
	bounds   map[position.Partition]Bounds
	gaps     []body.Gap // beside those that were accepted before
	refusals map[Name][]*RefusalError
	warnings []string
}

// inspect asks the log and gives what is to be replayed.
func (in *inspection) inspect(ctx context.Context) ([]Tally, error) {
	in.refusals = map[Name][]*RefusalError{}
	if err := in.ask(ctx); err != nil {
		return nil, err
	}
	partitions := in.partitions()
	tallies := make([]Tally, 0, len(partitions))
	for _, p := range partitions {
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
	for _, name := range []Name{PartitionVanished, TopicRecreated, LogShorterThanManifest, LogTruncated, TombstonesExpired} {
		if found := in.refusals[name]; len(found) > 0 {
			return refuse(fault.Gap, found...)
		}
	}
	return nil
}

func (in *inspection) ask(ctx context.Context) (err error) {
	var names []string
	seen := map[string]bool{}
	for _, p := range in.body.Cut {
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

// place names a partition of a flow in a cut.
type place struct {
	flow, topic string
	number      int32
}

func placeOf(p body.Partition) place { return place{p.Flow, p.Topic, p.Partition} }

// partitions are those of the cut and those that its topics got since, which begin at 0. A try that goes on has those that
// it began with: others are the live function's.
func (in *inspection) partitions() body.Cut {
	known := map[place]body.Partition{}
	all := append(body.Cut{}, in.body.Cut...)
	for _, p := range in.body.Cut {
		known[placeOf(p)] = p
	}
	if in.try != nil {
		all = all[:0]
		for _, end := range in.try.Ends {
			p, inCut := known[placeOf(end)]
			if !inCut {
				p = body.Partition{Flow: end.Flow, Topic: end.Topic, Partition: end.Partition}
			}
			all = append(all, p)
		}
		return all
	}
	for _, p := range in.body.Cut {
		for number := range in.topics[p.Topic].Partitions {
			added := body.Partition{Flow: p.Flow, Topic: p.Topic, Partition: number}
			if _, has := known[placeOf(added)]; !has {
				known[placeOf(added)] = added
				all = append(all, added)
			}
		}
	}
	all.Sort()
	return all
}

// judge holds one partition against the log.
func (in *inspection) judge(ctx context.Context, p body.Partition) (Tally, *RefusalError, error) {
	at := position.Partition{Topic: p.Topic, Number: p.Partition}
	topic, exists := in.topics[p.Topic]
	bounds, has := in.bounds[at]
	t := Tally{Flow: p.Flow, Partition: at, From: in.from(p, at), Until: bounds.Stable, Start: bounds.Start}
	if in.try != nil {
		t.Until = in.try.Ends.Offsets(p.Flow)[at]
		if t.Until <= t.From {
			return t, nil, nil // all of it is in, and what became of its log since is nothing to this try
		}
	}
	if bounds.End > bounds.Stable {
		t.Unstable = bounds.End
	}
	reach := max(p.NextOffset, t.From)
	switch {
	case !exists || !has:
		return t, &RefusalError{Name: PartitionVanished, What: fmt.Sprintf("the log has no partition %s", at)}, nil
	case p.TopicID != "" && topic.ID != p.TopicID:
		return t, &RefusalError{
			Name: TopicRecreated, What: fmt.Sprintf("topic %s is %s, the manifest was made from %s", p.Topic, topic.ID, p.TopicID),
		}, nil
	case reach > bounds.End:
		return t, shorter("%s ends at %d, and the target has what lies below %d", at, bounds.End, reach), nil
	case in.try != nil && t.Until > bounds.End:
		return t, shorter("%s ends at %d, and ended at %d or later when the recovery began", at, bounds.End, t.Until), nil
	case reach > bounds.Stable:
		t.Until = max(reach, t.Until) // committed before; the log's transactions above are not
	}
	if refusal, err := in.sameEpoch(ctx, at, p); refusal != nil || err != nil {
		return t, refusal, err
	}
	if refusal := in.tombstones(p, topic); refusal != nil {
		return t, refusal, nil
	}
	return in.judgeStart(t, p.Generation)
}

func shorter(form string, args ...any) *RefusalError {
	return &RefusalError{Name: LogShorterThanManifest, What: fmt.Sprintf(form, args...)}
}

// from is where replay of a partition begins: at the cut or where an earlier call came, and behind what was accepted.
func (in *inspection) from(p body.Partition, at position.Partition) position.Offset {
	from := max(p.NextOffset, in.stand[p.Flow][at])
	if in.try == nil {
		return from
	}
	for _, g := range in.try.Accepted { // in the order in which they were accepted
		gap := position.Range{From: g.From, Until: g.Until}
		if g.Flow == p.Flow && g.Topic == p.Topic && g.Partition == p.Partition && gap.Contains(from) {
			from = gap.Until
		}
	}
	return from
}

// sameEpoch refuses a log that lost what the manifest has: another leader has written over it.
func (in *inspection) sameEpoch(ctx context.Context, at position.Partition, p body.Partition) (*RefusalError, error) {
	if p.LeaderEpoch == nil {
		return nil, nil //nolint:nilnil // nothing is known, so nothing is refused
	}
	end, err := in.log.EpochEnd(ctx, at, *p.LeaderEpoch)
	switch {
	case fault.Is(err, fault.Gap):
		return shorter("%v, and the manifest stands at %d in it", err, p.NextOffset), nil
	case err != nil:
		return nil, fmt.Errorf("ask for leader epoch %d of %s: %w", *p.LeaderEpoch, at, err)
	case end < p.NextOffset:
		return shorter("leader epoch %d of %s ends at %d, the manifest stands at %d", *p.LeaderEpoch, at, end, p.NextOffset), nil
	}
	return nil, nil //nolint:nilnil // it agrees
}

// tombstones refuses a compacted topic whose deletes may be gone, although its offsets look as if nothing was.
func (in *inspection) tombstones(p body.Partition, topic Topic) *RefusalError {
	if !topic.Compacted || p.NextOffset == 0 {
		return nil // the base has nothing of it that could have been deleted
	}
	since := in.body.Snapshot.Taken
	if p.RecordTime != nil {
		since = *p.RecordTime
	}
	age := in.now.Sub(since)
	if age < topic.DeleteRetention {
		return nil
	}
	return in.acceptable(&RefusalError{
		Name: TombstonesExpired, What: fmt.Sprintf("topic %s keeps tombstones for %s, partition %d of the manifest is of %s ago", p.Topic,
			topic.DeleteRetention, p.Partition, age.Round(time.Second)),
		Loses: "deletes that the log no longer has: rows stay that were deleted",
	})
}

// judgeStart finds a gap between where replay begins and what the log still has.
func (in *inspection) judgeStart(t Tally, generation int64) (Tally, *RefusalError, error) {
	if t.Start <= t.From {
		return t, nil, nil
	}
	gap := position.Range{From: t.From, Until: t.Start}
	refusal := in.acceptable(&RefusalError{
		Name:  LogTruncated,
		What:  fmt.Sprintf("%s begins at %d, the target would stand at %d: %d offsets are gone", t.Partition, t.Start, t.From, gap.Len()),
		Loses: "every record that the log no longer has, which stands in the target's gaps and in every later manifest",
	})
	if refusal == nil {
		in.gaps = append(in.gaps, body.Gap{
			Flow: t.Flow, Topic: t.Partition.Topic, Partition: t.Partition.Number, Generation: generation, From: gap.From,
			Until: gap.Until, How: "accepted", Actor: in.actor, Reason: in.allowGap, At: document.Moment(in.now),
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
	r.Override = "--allow-gap REASON"
	return r
}
