package inspection

import (
	"context"
	"fmt"
	"slices"

	"tidemark/shared/archive/decision"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/notice"
	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/position"
)

// Exclusions finds what operators have cut out of the log, in any life: decisions outlive the database that they were taken in.
// Such a range is neither replayed nor missed. Warnings name decisions about topics that are gone.
//
// Errors: a decision that cannot be believed, or that this release does not replay; the log's own.
func (o Options) Exclusions(ctx context.Context, h *history.History, b body.Body) (excluded []body.Gap, warnings []string, err error) {
	decisions, err := h.Decisions(ctx)
	if err != nil || len(decisions) == 0 {
		return nil, nil, err
	}
	var names []string
	for _, d := range decisions {
		if !slices.Contains(names, d.Topic) {
			names = append(names, d.Topic)
		}
	}
	topics, err := o.Log.Topics(ctx, names)
	if err != nil {
		return nil, nil, fmt.Errorf("describe the topics of %d decisions: %w", len(decisions), err)
	}
	for _, d := range decisions {
		if d.Act != decision.Exclude {
			return nil, nil, fault.New(fault.Misconfigured, "decision %d of life %s is to %s, which this release does not replay", d.Number,
				d.Lineage, d.Act).WithHint("recover with a release that knows it")
		}
		if d.TopicID != "" && topics[d.Topic].ID != d.TopicID {
			warnings = append(warnings, fmt.Sprintf("decision %d of life %s is about another topic that had the name %s", d.Number,
				d.Lineage, d.Topic))
			continue
		}
		if has := b.Cut.Offsets(d.Flow)[position.Partition{Topic: d.Topic, Number: d.Partition}]; d.From < has && has < d.Until {
			warnings = append(warnings, fmt.Sprintf("the base has [%d,%d) of %s/%d, of which decision %d of life %s left out [%d,%d)", d.From, has,
				d.Topic, d.Partition, d.Number, d.Lineage, d.From, d.Until))
		}
		excluded = append(excluded, body.Gap{
			Flow: d.Flow, Topic: d.Topic, Partition: d.Partition, Generation: generation(b, d), From: d.From, Until: d.Until,
			How: "excluded", Actor: d.Actor, Reason: d.Reason, At: d.Created,
		})
	}
	return excluded, warnings, nil
}

// generation is that of a decision's partition in the base.
func generation(b body.Body, d notice.Decision) int64 {
	for _, p := range b.Cut {
		if p.Flow == d.Flow && p.Topic == d.Topic && p.Partition == d.Partition {
			return p.Generation
		}
	}
	return 0
}

// Stops are where a flow's replay must stop for now: at its ends, and before what may not be read. due are the ranges in which
// a checkpoint stands already.
func Stops(flow string, from, ends position.Cut, passes []body.Gap) (until position.Cut, due []body.Gap) {
	until = position.Cut{}
	for _, p := range ends.Partitions() {
		until[p] = ends[p]
		for _, g := range passes {
			switch gap := (position.Range{From: g.From, Until: g.Until}); {
			case !isOf(g, flow, p):
			case from[p] >= ends[p]: // what lies behind the end is not this replay's
			case gap.Contains(from[p]):
				g.From = max(g.From, from[p]) // what lies below is in
				due = append(due, g)
			case g.From > from[p]:
				until[p] = min(until[p], g.From)
			}
		}
	}
	return until, due
}
