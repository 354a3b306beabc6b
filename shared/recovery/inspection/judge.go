package inspection

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/manifest/document"
	"tidemark/shared/position"
	"tidemark/shared/recovery/refusal"
)

// judge holds one partition against the log.
func (in *inspection) judge(ctx context.Context, p body.Partition) (Tally, *refusal.Error, error) {
	at := position.Partition{Topic: p.Topic, Number: p.Partition}
	bounds, has := in.bounds[at]
	t := Tally{Flow: p.Flow, Partition: at, From: in.from(p, at, bounds.Start), Until: bounds.Stable, Start: bounds.Start}
	t.Rewound = in.Earlier == nil && t.From < p.NextOffset
	if in.Earlier != nil {
		t.Until = in.Earlier.Ends.Offsets(p.Flow)[at]
		if t.Until <= t.From {
			return t, nil, nil // all of it is in, and what became of its log since is nothing to this try
		}
	}
	if bounds.End > bounds.Stable {
		t.Unstable = bounds.End
	}
	if refused := in.reaches(&t, p, bounds, has); refused != nil {
		return t, refused, nil
	}
	if refused, err := in.sameEpoch(ctx, at, p); refused != nil || err != nil {
		return t, refused, err
	}
	if refused, err := in.sameHistory(ctx, at, p, bounds); refused != nil || err != nil {
		return t, refused, err
	}
	if refused := in.tombstones(p, in.topics[p.Topic]); refused != nil {
		return t, refused, nil
	}
	if err := in.compaction(t, p); err != nil {
		return t, nil, err
	}
	if refused := in.leftOut(&t, p); refused != nil {
		return t, refused, nil
	}
	if refused, err := in.hold(ctx, &t, p); refused != nil || err != nil {
		return t, refused, err
	}
	return in.judgeStart(t, p)
}

// reaches refuses a log that is another one, or that does not reach to what the target has.
func (in *inspection) reaches(t *Tally, p body.Partition, bounds Bounds, has bool) *refusal.Error {
	topic, exists := in.topics[p.Topic]
	reach := max(p.NextOffset, t.From)
	switch {
	case !exists || !has:
		return &refusal.Error{Name: refusal.PartitionVanished, What: fmt.Sprintf("the log has no partition %s", t.Partition)}
	case p.TopicID != "" && topic.ID != p.TopicID:
		return &refusal.Error{
			Name: refusal.TopicRecreated, What: fmt.Sprintf("topic %s is %s, the manifest was made from %s", p.Topic, topic.ID, p.TopicID),
		}
	case reach > bounds.End:
		return shorter("%s ends at %d, and the target has what lies below %d", t.Partition, bounds.End, reach)
	case in.Earlier != nil && t.Until > bounds.End:
		return shorter("%s ends at %d, and ended at %d or later when the recovery began", t.Partition, bounds.End, t.Until)
	case reach > bounds.Stable:
		t.Until = max(reach, t.Until) // committed before; the log's transactions above are not
	}
	return nil
}

// hold ends a replay where it was asked to end, and keeps what lies behind.
func (in *inspection) hold(ctx context.Context, t *Tally, p body.Partition) (*refusal.Error, error) {
	if in.Earlier != nil {
		return nil, nil //nolint:nilnil // it was fixed when the try began
	}
	limit, limited, err := in.limit(ctx, t.Partition)
	if err != nil || !limited {
		return nil, err
	}
	for _, g := range in.Excluded { // the end of a range in which nothing is read
		if isOf(g, t.Flow, t.Partition) && g.From <= limit && limit < g.Until {
			limit = g.Until
		}
	}
	limit = min(max(limit, p.NextOffset, t.From), t.Until)
	if in.topics[p.Topic].Compacted && limit < t.Until {
		refused := in.acceptable(&refusal.Error{
			Name: refusal.LogTruncated, What: fmt.Sprintf("topic %s is compacted: what it had at %s in partition %d may have been superseded, "+
				"and is gone then", p.Topic, limit, p.Partition),
			Loses: "rows whose record was superseded after the point that was asked for",
		})
		if refused != nil {
			return refused, nil
		}
	}
	t.Held = &Held{
		Flow: t.Flow, Topic: p.Topic, TopicID: in.topics[p.Topic].ID, Partition: p.Partition, From: limit, Until: t.Until,
	}
	t.Until, t.Unstable = limit, 0
	return nil, nil //nolint:nilnil // it is held
}

// leftOut finds a gap that an operator makes by beginning behind the cut.
func (in *inspection) leftOut(t *Tally, p body.Partition) *refusal.Error {
	at, named := in.From.Offsets[t.Partition]
	if in.Earlier != nil || !named || at <= p.NextOffset {
		return nil
	}
	if end := in.bounds[t.Partition].End; end < at {
		return shorter("%s ends at %d, and replay is to begin at %d: what is written between would be skipped", t.Partition, end, at)
	}
	gap := position.Range{From: p.NextOffset, Until: at}
	refused := in.acceptable(&refusal.Error{
		Name:  refusal.LogTruncated,
		What:  fmt.Sprintf("replay of %s is to begin at %d, the target would stand at %d: %d offsets are left out", t.Partition, at, gap.From, gap.Len()),
		Loses: "every record between, which stands in the target's gaps and in every later manifest",
	})
	if refused == nil {
		in.accept(t, gap, p.Generation)
		in.LeftOut = append(in.LeftOut, Held{
			Flow: t.Flow, Topic: p.Topic, TopicID: in.topics[p.Topic].ID, Partition: p.Partition, From: gap.From, Until: gap.Until,
		})
	}
	return refused
}

func shorter(form string, args ...any) *refusal.Error {
	return &refusal.Error{Name: refusal.LogShorterThanManifest, What: fmt.Sprintf(form, args...)}
}

// from is where replay of a partition begins: at the cut, where it was asked to or where an earlier call came, and behind what
// was accepted and what was cut out.
func (in *inspection) from(p body.Partition, at position.Partition, start position.Offset) position.Offset {
	var passed []body.Gap
	var from position.Offset
	if in.Earlier == nil {
		if from = in.From.begin(at, p.NextOffset, start); from > p.NextOffset {
			return p.NextOffset // what lies between is judged as a gap
		}
	} else {
		from = in.Earlier.start(p)
		passed = in.Earlier.Accepted // in the order in which they were accepted
	}
	from = max(from, in.Stand[p.Flow][at])
	for _, g := range slices.Concat(passed, in.Excluded, passed) {
		if isOf(g, p.Flow, at) && (position.Range{From: g.From, Until: g.Until}).Contains(from) {
			from = g.Until
		}
	}
	return from
}

// start is where replay of a partition began.
func (t Earlier) start(p body.Partition) position.Offset {
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
func (in *inspection) sameEpoch(ctx context.Context, at position.Partition, p body.Partition) (*refusal.Error, error) {
	if p.LeaderEpoch == nil {
		return nil, nil //nolint:nilnil // nothing is known, so nothing is refused
	}
	end, err := in.Log.EpochEnd(ctx, at, *p.LeaderEpoch)
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

// sameHistory refuses a log of whose topic nobody wrote down the id, as a function does not that asks no broker, and that has a
// record below the cut which is younger than any that the target applied: another log has the name. Live apply judges so too.
func (in *inspection) sameHistory(
	ctx context.Context, at position.Partition, p body.Partition, bounds Bounds,
) (*refusal.Error, error) {
	const lastYear = 9999 // of a ledger: what claims a later time stands there with that
	if p.TopicID != "" || p.RecordTime == nil || p.RecordTime.Year() >= lastYear || p.NextOffset <= bounds.Start {
		return nil, nil //nolint:nilnil // it is known by its id, or nothing below the cut is left to judge by
	}
	younger := p.RecordTime.Truncate(time.Millisecond).Add(time.Millisecond) // records know milliseconds only
	found, err := in.Log.OffsetAt(ctx, at, younger)
	if err != nil {
		return nil, fmt.Errorf("ask for a record of %s that is younger than the manifest's: %w", at, err)
	}
	if found >= min(p.NextOffset, bounds.Stable) {
		return nil, nil //nolint:nilnil // what is younger came behind the cut
	}
	return &refusal.Error{
		Name: refusal.TopicRecreated, What: fmt.Sprintf("%s has a record at %d that is younger than any that the target has, which stands at %d",
			at, found, p.NextOffset),
	}, nil
}

// tombstones refuses a compacted topic whose deletes may be gone, although its offsets look as if nothing was.
func (in *inspection) tombstones(p body.Partition, topic Topic) *refusal.Error {
	if !topic.Compacted || p.NextOffset == 0 {
		return nil // the base has nothing of it that could have been deleted
	}
	age := in.age(p)
	if age < topic.DeleteRetention {
		return nil
	}
	return in.acceptable(&refusal.Error{
		Name: refusal.TombstonesExpired, What: fmt.Sprintf("topic %s keeps tombstones for %s, partition %d of the manifest is of %s ago", p.Topic,
			topic.DeleteRetention, p.Partition, age.Round(time.Second)),
		Loses: "deletes that the log no longer has: rows stay that were deleted",
	})
}

// age is how long ago the target stood where the base does.
func (in *inspection) age(p body.Partition) time.Duration {
	if p.RecordTime != nil {
		return in.Now.Sub(*p.RecordTime)
	}
	return in.Now.Sub(in.Body.Snapshot.Taken)
}

// compaction refuses a topic that may have let go of records whose columns later ones do not repeat: the last record of a key
// is then not the row.
func (in *inspection) compaction(t Tally, p body.Partition) error {
	topic := in.topics[p.Topic]
	if !topic.Compacted || in.WholeRows == nil || in.WholeRows(p.Flow) || t.Until <= t.From || topic.MinCompactionLag >= in.age(p) {
		return nil
	}
	return fault.New(fault.Misconfigured, "topic %s is compacted after %s, the manifest is of %s ago, and records of flow %s need not have "+
		"every column", p.Topic, topic.MinCompactionLag, in.age(p).Round(time.Second), p.Flow).
		WithHint("set cleanup.policy=delete, or min.compaction.lag.ms to more than the age of the oldest backup that is to be recovered from; " +
			"what is compacted away by now is lost: recover from a newer backup")
}

// judgeStart finds a gap between where replay begins and what the log still has.
func (in *inspection) judgeStart(t Tally, p body.Partition) (Tally, *refusal.Error, error) {
	if t.Start <= t.From {
		return t, nil, nil
	}
	if below := min(t.Start, p.NextOffset); t.From < below { // replay was asked to begin below the cut: the base has it
		if in.Earlier != nil {
			in.Present = append(in.Present, body.Gap{
				Flow: t.Flow, Topic: t.Partition.Topic, Partition: t.Partition.Number, Generation: p.Generation, From: t.From, Until: below,
			})
		}
		t.From = below
		return in.judgeStart(t, p)
	}
	gap := position.Range{From: t.From, Until: t.Start}
	refused := in.acceptable(&refusal.Error{
		Name:  refusal.LogTruncated,
		What:  fmt.Sprintf("%s begins at %d, the target would stand at %d: %d offsets are gone", t.Partition, t.Start, t.From, gap.Len()),
		Loses: "every record that the log no longer has, which stands in the target's gaps and in every later manifest",
	})
	if refused == nil {
		in.accept(&t, gap, p.Generation)
	}
	return t, refused, nil
}

// accept passes over a gap: replay begins behind it.
func (in *inspection) accept(t *Tally, gap position.Range, generation int64) {
	in.Gaps = append(in.Gaps, body.Gap{
		Flow: t.Flow, Topic: t.Partition.Topic, Partition: t.Partition.Number, Generation: generation, From: gap.From,
		Until: gap.Until, How: "accepted", Actor: in.Actor, Reason: in.AllowGap, At: document.Moment(in.Now),
	})
	t.From = gap.Until
	t.Until = max(t.Until, gap.Until)
}

// acceptable is nil when an operator has said that this may be missing, which is then said as a warning.
func (in *inspection) acceptable(r *refusal.Error) *refusal.Error {
	if in.AllowGap != "" {
		in.Warnings = append(in.Warnings, r.What+", accepted: "+in.AllowGap)
		return nil
	}
	r.Override = "--allow-gap REASON"
	return r
}
