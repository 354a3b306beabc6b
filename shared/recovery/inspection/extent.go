package inspection

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tidemark/shared/archive/history"
	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/position"
)

// Start says where replay begins. The zero value: at the manifest's cut.
type Start struct {
	Earliest bool         // at the log's beginning
	Offsets  position.Cut // for those partitions; others begin at the cut
}

// End says where replay ends. The zero value: at the end of the log as it is when the recovery begins.
type End struct {
	At      time.Time    // before the first record of that time or later, in every partition
	Offsets position.Cut // for those partitions; others go on to the end of the log
}

// IsZero says that nothing was asked for.
func (e End) IsZero() bool { return e.At.IsZero() && len(e.Offsets) == 0 }

// Asked is how both were named: a call that goes on with a try must name the same.
func (o Options) Asked() string {
	var words []string
	if o.From.Earliest {
		words = append(words, "from earliest")
	}
	add := func(word string, cut position.Cut) {
		for _, p := range slices.SortedFunc(maps.Keys(cut), position.Partition.Compare) {
			words = append(words, fmt.Sprintf("%s %s=%s", word, p, cut[p]))
		}
	}
	add("from", o.From.Offsets)
	if !o.Until.At.IsZero() {
		words = append(words, "until "+o.Until.At.UTC().Format(time.RFC3339Nano))
	}
	add("until", o.Until.Offsets)
	return strings.Join(words, ", ")
}

// limit is where replay of a partition was asked to end; false: at the end of the log.
func (o Options) limit(ctx context.Context, p position.Partition) (position.Offset, bool, error) {
	if !o.Until.At.IsZero() {
		at, err := o.Log.OffsetAt(ctx, p, o.Until.At)
		if err != nil {
			err = fmt.Errorf("ask where %s stood at %s: %w", p, o.Until.At.UTC().Format(time.RFC3339), err)
		}
		return at, true, err
	}
	at, limited := o.Until.Offsets[p]
	return at, limited, nil
}

// Fits refuses a manifest that shows more than was asked for: replay cannot take anything back.
func (o Options) Fits(ctx context.Context, _ history.Manifest, b body.Body) error {
	named := map[position.Partition]bool{}
	for _, c := range b.Cut {
		p := position.Partition{Topic: c.Topic, Number: c.Partition}
		named[p] = true
		limit, limited, err := o.limit(ctx, p)
		if err != nil {
			return err
		}
		if limited && c.NextOffset > limit {
			return fault.New(fault.Misconfigured, "it shows %s up to %s, beyond %s", p, c.NextOffset, o.Asked()).
				WithHint("an older manifest is needed: tidemark manifests list; or a later --until")
		}
	}
	for p := range o.Until.Offsets {
		if !named[p] && !hasTopic(b.Cut, p.Topic) && !o.reads(p.Topic) {
			return fault.New(fault.Misconfigured, "--until names %s, and no flow of the manifest reads that topic", p).
				WithHint("name TOPIC/PARTITION as tidemark recover --dry-run shows them")
		}
	}
	return nil
}

// Held is a range of the log that a recovery stopped before.
type Held struct {
	Flow      string          `json:"flow"`
	Topic     string          `json:"topic"`
	TopicID   string          `json:"topic_id,omitempty"`
	Partition int32           `json:"partition"`
	From      position.Offset `json:"from,string"`  // where the checkpoint stands
	Until     position.Offset `json:"until,string"` // where the log ended when the recovery began
}

// reads says whether a flow file names a topic.
func (o Options) reads(topic string) bool {
	for _, topics := range o.Flows {
		if slices.Contains(topics, topic) {
			return true
		}
	}
	return false
}

func hasTopic(cut body.Cut, topic string) bool {
	return slices.ContainsFunc(cut, func(p body.Partition) bool { return p.Topic == topic })
}

// begin is where replay of a partition was asked to begin, at the cut unless something was.
func (s Start) begin(p position.Partition, cut, start position.Offset) position.Offset {
	if at, named := s.Offsets[p]; named {
		return at
	}
	if s.Earliest {
		return min(cut, start) // a log that begins above the cut has a gap, which is not to be passed over in silence
	}
	return cut
}

// Ends is the cut up to which the log is replayed: what parent and child have in common. base is the manifest's.
func Ends(tallies []Tally, base body.Cut) body.Cut {
	known := map[place]body.Partition{}
	for _, c := range base {
		known[placeOf(c)] = c
	}
	ends := body.Cut{}
	for _, t := range tallies {
		end := t.at(max(t.Until, t.From))
		end.Generation = known[placeOf(end)].Generation
		ends = append(ends, end)
	}
	ends.Sort()
	return ends
}

// Starts are the partitions whose replay begins below the cut.
func Starts(tallies []Tally) (starts body.Cut) {
	for _, t := range tallies {
		if t.Rewound {
			starts = append(starts, t.at(t.From))
		}
	}
	return starts
}

func (t Tally) at(offset position.Offset) body.Partition {
	return body.Partition{Flow: t.Flow, Topic: t.Partition.Topic, Partition: t.Partition.Number, NextOffset: offset}
}

// Holds is what lies behind the ends that were asked for; nil: none were.
func Holds(tallies []Tally) (held []Held) {
	for _, t := range tallies {
		if t.Held != nil {
			h := *t.Held
			h.From = max(t.Until, t.From)
			h.Until = max(h.Until, h.From)
			held = append(held, h)
		}
	}
	return held
}
