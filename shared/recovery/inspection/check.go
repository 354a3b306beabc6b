package inspection

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/position"
	"tidemark/shared/recovery/refusal"
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

// Options says what is asked of which log.
type Options struct {
	Log Log
	// Flows are the topics of each flow, beside those that the manifest knows.
	Flows map[string][]string
	// WholeRows says whether every record of a flow has every column. Nil: all have.
	WholeRows func(flow string) bool
	From      Start
	Until     End
	AllowGap  string // why records may be missing; empty: they may not
	Actor     string
}

// Subject is what the log is held against.
type Subject struct {
	Body     body.Body
	Now      time.Time
	Earlier  *Earlier                // a try that goes on; nil: none
	Stand    map[string]position.Cut // by flow, how far it came; nil: its base is not in
	Excluded []body.Gap              // what operators have cut out of the log
}

// Earlier is what a try that goes on has fixed.
type Earlier struct {
	Ends, Starts body.Cut
	Accepted     []body.Gap
}

// Findings are what the log has.
type Findings struct {
	Tallies []Tally
	Gaps    []body.Gap // that were accepted now
	// Present are ranges of a rewound partition that the log has let go of and the base has: nothing is missing.
	Present []body.Gap
	// LeftOut are those of them that the log may have still: where replay was asked to begin makes them.
	LeftOut  []Held
	Warnings []string

	refusals map[refusal.Name][]*refusal.Error
}

// inspection is one look at the log.
type inspection struct {
	Options
	Subject
	Findings

	topics map[string]Topic
	bounds map[position.Partition]Bounds
}

// Inspect holds the log against a manifest's cut and, when a try goes on, against what is left of it. What it refuses is in the
// findings: see Refused.
//
// Errors: the log's own.
func (o Options) Inspect(ctx context.Context, s Subject) (Findings, error) {
	in := &inspection{Options: o, Subject: s, Findings: Findings{refusals: map[refusal.Name][]*refusal.Error{}}}
	if err := in.ask(ctx); err != nil {
		return in.Findings, err
	}
	partitions := in.partitions()
	if err := in.named(partitions); err != nil {
		return in.Findings, err
	}
	for _, p := range partitions {
		tally, refused, err := in.judge(ctx, p)
		if err != nil {
			return in.Findings, err
		}
		if refused != nil {
			in.refusals[refused.Name] = append(in.refusals[refused.Name], refused)
		}
		in.Tallies = append(in.Tallies, tally)
	}
	return in.Findings, nil
}

// Refused gives the gravest kind of refusal: what is another log altogether before what the log no longer has. except is not
// asked for; nil: nothing was refused.
func (f Findings) Refused(except ...refusal.Name) error {
	for _, name := range []refusal.Name{
		refusal.PartitionVanished, refusal.TopicRecreated, refusal.LogShorterThanManifest, refusal.LogTruncated, refusal.TombstonesExpired,
	} {
		if found := f.refusals[name]; len(found) > 0 && !slices.Contains(except, name) {
			return refusal.Of(fault.Gap, found...)
		}
	}
	return nil
}

// named refuses a start or an end of a partition that is not there: it would be passed over, and the log applied.
func (in *inspection) named(partitions body.Cut) error {
	for flag, cut := range map[string]position.Cut{"--from": in.From.Offsets, "--until": in.Until.Offsets} {
		for _, p := range cut.Partitions() {
			if !slices.ContainsFunc(partitions, func(b body.Partition) bool { return b.Topic == p.Topic && b.Partition == p.Number }) {
				return fault.New(fault.Misconfigured, "%s names %s, which is not there", flag, p).
					WithHint("name TOPIC/PARTITION as tidemark recover --dry-run shows them")
			}
		}
	}
	return nil
}

func (in *inspection) ask(ctx context.Context) (err error) {
	names := topicsOf(in.Body.Cut)
	for _, topics := range in.Flows {
		for _, name := range topics {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if in.topics, err = in.Log.Topics(ctx, names); err != nil {
		return fmt.Errorf("describe %d topics: %w", len(names), err)
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		if _, exists := in.topics[name]; !exists && !hasTopic(in.Body.Cut, name) {
			in.Warnings = append(in.Warnings, fmt.Sprintf("the log has no topic %s, which a flow file names", name))
		}
	}
	var partitions []position.Partition
	for name, topic := range in.topics {
		for number := range topic.Partitions {
			partitions = append(partitions, position.Partition{Topic: name, Number: number})
		}
	}
	if in.bounds, err = in.Log.Bounds(ctx, partitions); err != nil {
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

// partitions are those of the cut and those that the flows' topics have beside them, which begin at 0. A try that goes on has
// those that it began with: others are the live function's.
func (in *inspection) partitions() body.Cut {
	known := map[place]body.Partition{}
	all := append(body.Cut{}, in.Body.Cut...)
	for _, p := range in.Body.Cut {
		known[placeOf(p)] = p
	}
	if in.Earlier != nil {
		return in.began(known)
	}
	for flow, topics := range in.subscriptions() {
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

// began are the partitions that the try began with.
func (in *inspection) began(known map[place]body.Partition) body.Cut {
	all := make(body.Cut, 0, len(in.Earlier.Ends))
	for _, end := range in.Earlier.Ends {
		p, inCut := known[placeOf(end)]
		if !inCut {
			p = body.Partition{Flow: end.Flow, Topic: end.Topic, Partition: end.Partition}
		}
		all = append(all, p)
	}
	return all
}

// subscriptions are the topics of each flow: those that the manifest knows and those of its file.
func (in *inspection) subscriptions() map[string]map[string]bool {
	reads := map[string]map[string]bool{}
	add := func(flow, topic string) {
		if reads[flow] == nil {
			reads[flow] = map[string]bool{}
		}
		reads[flow][topic] = true
	}
	for _, p := range in.Body.Cut {
		add(p.Flow, p.Topic)
	}
	for flow, topics := range in.Flows {
		for _, topic := range topics {
			add(flow, topic)
		}
	}
	return reads
}
