package recovery

import (
	"context"
	"fmt"
	"slices"
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
	Held      *Held           // what lies behind an end that was asked for; nil: none was
	Rewound   bool            // replay was asked to begin below the cut
}

// Records is about how many records are to be replayed: offsets of control batches count.
func (t Tally) Records() int64 { return max(0, int64(t.Until-t.From)) }

// inspection is the log held against a manifest's cut and, when a try goes on, against what is left of it.
type inspection struct {
	options  Options // AllowGap is why a gap may be passed over; empty: it may not
	body     body.Body
	now      time.Time
	try      *Try                    // that goes on; nil: none
	stand    map[string]position.Cut // by flow, how far it came; nil: its base is not in
	excluded []body.Gap              // what operators have cut out of the log

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
	names := topicsOf(in.body.Cut)
	for _, topics := range in.options.Flows {
		for _, name := range topics {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if in.topics, err = in.options.Log.Topics(ctx, names); err != nil {
		return fmt.Errorf("describe %d topics: %w", len(names), err)
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		if _, exists := in.topics[name]; !exists && !hasTopic(in.body.Cut, name) {
			in.warnings = append(in.warnings, fmt.Sprintf("the log has no topic %s, which a flow file names", name))
		}
	}
	var partitions []position.Partition
	for name, topic := range in.topics {
		for number := range topic.Partitions {
			partitions = append(partitions, position.Partition{Topic: name, Number: number})
		}
	}
	if in.bounds, err = in.options.Log.Bounds(ctx, partitions); err != nil {
		return fmt.Errorf("ask where %d partitions begin and end: %w", len(partitions), err)
	}
	return nil
}

// topicsOf are a cut's topics.
func topicsOf(cut body.Cut) (names []string) {
	for _, p := range cut {
		if !slices.Contains(names, p.Topic) {
			names = append(names, p.Topic)
		}
	}
	return names
}

// place names a partition of a flow in a cut.
type place struct {
	flow, topic string
	number      int32
}

func placeOf(p body.Partition) place { return place{p.Flow, p.Topic, p.Partition} }

// partitions are those of the cut and those that the flows' topics have beside them, which begin at 0. A try that goes on has those that
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
	reads := map[string]map[string]bool{} // by flow
	add := func(flow string, topics ...string) {
		if reads[flow] == nil {
			reads[flow] = map[string]bool{}
		}
		for _, topic := range topics {
			reads[flow][topic] = true
		}
	}
	for _, p := range in.body.Cut {
		add(p.Flow, p.Topic)
	}
	for flow, topics := range in.options.Flows {
		add(flow, topics...)
	}
	for flow, topics := range reads {
		for topic := range topics {
			for number := range in.topics[topic].Partitions {
				added := body.Partition{Flow: flow, Topic: topic, Partition: number}
				if _, has := known[placeOf(added)]; !has {
					all = append(all, added)
				}
			}
		}
	}
	all.Sort()
	return all
}

// judge holds one partition against the log.
func (in *inspection) judge(ctx context.Context, p body.Partition) (Tally, *RefusalError, error) {
	at := position.Partition{Topic: p.Topic, Number: p.Partition}
	bounds, has := in.bounds[at]
	t := Tally{Flow: p.Flow, Partition: at, From: in.from(p, at, bounds.Start), Until: bounds.Stable, Start: bounds.Start}
	t.Rewound = in.try == nil && t.From < p.NextOffset
	if in.try != nil {
		t.Until = in.try.Ends.Offsets(p.Flow)[at]
		if t.Until <= t.From {
			return t, nil, nil // all of it is in, and what became of its log since is nothing to this try
		}
	}
	if bounds.End > bounds.Stable {
		t.Unstable = bounds.End
	}
	if refusal := in.reaches(&t, p, bounds, has); refusal != nil {
		return t, refusal, nil
	}
	if refusal, err := in.sameEpoch(ctx, at, p); refusal != nil || err != nil {
		return t, refusal, err
	}
	if refusal := in.tombstones(p, in.topics[p.Topic]); refusal != nil {
		return t, refusal, nil
	}
	if refusal := in.leftOut(&t, p); refusal != nil {
		return t, refusal, nil
	}
	if refusal, err := in.hold(ctx, &t, p); refusal != nil || err != nil {
		return t, refusal, err
	}
	return in.judgeStart(t, p.Generation)
}

// reaches refuses a log that is another one, or that does not reach to what the target has.
func (in *inspection) reaches(t *Tally, p body.Partition, bounds Bounds, has bool) *RefusalError {
	topic, exists := in.topics[p.Topic]
	reach := max(p.NextOffset, t.From)
	switch {
	case !exists || !has:
		return &RefusalError{Name: PartitionVanished, What: fmt.Sprintf("the log has no partition %s", t.Partition)}
	case p.TopicID != "" && topic.ID != p.TopicID:
		return &RefusalError{
			Name: TopicRecreated, What: fmt.Sprintf("topic %s is %s, the manifest was made from %s", p.Topic, topic.ID, p.TopicID),
		}
	case reach > bounds.End:
		return shorter("%s ends at %d, and the target has what lies below %d", t.Partition, bounds.End, reach)
	case in.try != nil && t.Until > bounds.End:
		return shorter("%s ends at %d, and ended at %d or later when the recovery began", t.Partition, bounds.End, t.Until)
	case reach > bounds.Stable:
		t.Until = max(reach, t.Until) // committed before; the log's transactions above are not
	}
	return nil
}

// hold ends a replay where it was asked to end, and keeps what lies behind.
func (in *inspection) hold(ctx context.Context, t *Tally, p body.Partition) (*RefusalError, error) {
	if in.try != nil {
		return nil, nil //nolint:nilnil // it was fixed when the try began
	}
	limit, limited, err := in.options.limit(ctx, t.Partition)
	if err != nil || !limited {
		return nil, err
	}
	for _, g := range in.excluded { // the end of a range in which nothing is read
		if isOf(g, t.Flow, t.Partition) && g.From < limit && limit < g.Until {
			limit = g.Until
		}
	}
	limit = min(max(limit, p.NextOffset, t.From), t.Until)
	if in.topics[p.Topic].Compacted && limit < t.Until {
		refusal := in.acceptable(&RefusalError{
			Name: LogTruncated, What: fmt.Sprintf("topic %s is compacted: what it had at %s in partition %d may have been superseded, "+
				"and is gone then", p.Topic, limit, p.Partition),
			Loses: "rows whose record was superseded after the point that was asked for",
		})
		if refusal != nil {
			return refusal, nil
		}
	}
	t.Held = &Held{
		Flow: t.Flow, Topic: p.Topic, TopicID: in.topics[p.Topic].ID, Partition: p.Partition, From: limit, Until: t.Until,
	}
	t.Until, t.Unstable = limit, 0
	return nil, nil //nolint:nilnil // it is held
}

// leftOut finds a gap that an operator makes by beginning behind the cut.
func (in *inspection) leftOut(t *Tally, p body.Partition) *RefusalError {
	at, named := in.options.From.Offsets[t.Partition]
	if in.try != nil || !named || at <= p.NextOffset {
		return nil
	}
	gap := position.Range{From: p.NextOffset, Until: at}
	refusal := in.acceptable(&RefusalError{
		Name:  LogTruncated,
		What:  fmt.Sprintf("replay of %s is to begin at %d, the target would stand at %d: %d offsets are left out", t.Partition, at, gap.From, gap.Len()),
		Loses: "every record between, which stands in the target's gaps and in every later manifest",
	})
	if refusal == nil {
		in.accept(t, gap, p.Generation)
	}
	return refusal
}

func shorter(form string, args ...any) *RefusalError {
	return &RefusalError{Name: LogShorterThanManifest, What: fmt.Sprintf(form, args...)}
}

// from is where replay of a partition begins: at the cut, where it was asked to or where an earlier call came, and behind what
// was accepted and what was cut out.
func (in *inspection) from(p body.Partition, at position.Partition, start position.Offset) position.Offset {
	var passed []body.Gap
	var from position.Offset
	if in.try == nil {
		if from = in.options.From.begin(at, p.NextOffset, start); from > p.NextOffset {
			return p.NextOffset // what lies between is judged as a gap
		}
	} else {
		from = in.try.start(p)
		passed = in.try.Accepted // in the order in which they were accepted
	}
	from = max(from, in.stand[p.Flow][at])
	for _, g := range slices.Concat(passed, in.excluded, passed) {
		if isOf(g, p.Flow, at) && (position.Range{From: g.From, Until: g.Until}).Contains(from) {
			from = g.Until
		}
	}
	return from
}

// start is where replay of a partition began.
func (t Try) start(p body.Partition) position.Offset {
	for _, s := range t.Starts {
		if placeOf(s) == placeOf(p) {
			return s.NextOffset
		}
	}
	return p.NextOffset
}

// isOf says whether a gap is of that partition.
func isOf(g body.Gap, flow string, p position.Partition) bool {
	return g.Flow == flow && g.Topic == p.Topic && g.Partition == p.Number
}

// sameEpoch refuses a log that lost what the manifest has: another leader has written over it.
func (in *inspection) sameEpoch(ctx context.Context, at position.Partition, p body.Partition) (*RefusalError, error) {
	if p.LeaderEpoch == nil {
		return nil, nil //nolint:nilnil // nothing is known, so nothing is refused
	}
	end, err := in.options.Log.EpochEnd(ctx, at, *p.LeaderEpoch)
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
		in.accept(&t, gap, generation)
	}
	return t, refusal, nil
}

// accept passes over a gap: replay begins behind it.
func (in *inspection) accept(t *Tally, gap position.Range, generation int64) {
	in.gaps = append(in.gaps, body.Gap{
		Flow: t.Flow, Topic: t.Partition.Topic, Partition: t.Partition.Number, Generation: generation, From: gap.From,
		Until: gap.Until, How: "accepted", Actor: in.options.Actor, Reason: in.options.AllowGap, At: document.Moment(in.now),
	})
	t.From = gap.Until
	t.Until = max(t.Until, gap.Until)
}

// acceptable is nil when an operator has said that this may be missing, which is then said as a warning.
func (in *inspection) acceptable(r *RefusalError) *RefusalError {
	if in.options.AllowGap != "" {
		in.warnings = append(in.warnings, r.What+", accepted: "+in.options.AllowGap)
		return nil
	}
	r.Override = "--allow-gap REASON"
	return r
}
