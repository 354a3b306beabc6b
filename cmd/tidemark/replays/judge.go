package replays

import (
	"fmt"
	"time"

	"tidemark/cmd/tidemark/report/listing"
	"tidemark/shared/manifest/body"
	"tidemark/shared/position"
	"tidemark/shared/recovery/inspection"
)

// judge gives the worst that is true of any partition: of a log that is another one, a gap says nothing.
func (a answers) judge(b body.Body, now time.Time) listing.Log {
	worst := listing.Log{State: listing.Replayable}
	for _, p := range withNew(b.Cut, a.topics) {
		found := a.partition(p, b.Snapshot.Taken, now)
		if found.State == listing.NoLog {
			return found
		}
		if found.State == listing.LogGap && worst.State == listing.Replayable {
			worst = found
		}
	}
	return worst
}

func (a answers) partition(p body.Partition, taken, now time.Time) listing.Log {
	at := position.Partition{Topic: p.Topic, Number: p.Partition}
	topic, exists := a.topics[p.Topic]
	bounds, has := a.bounds[at]
	switch {
	case !exists || !has:
		return listing.Log{State: listing.NoLog, Why: fmt.Sprintf("there is no partition %s", at)}
	case p.TopicID != "" && topic.ID != p.TopicID:
		return listing.Log{State: listing.NoLog, Why: fmt.Sprintf("topic %s was made anew", p.Topic)}
	case p.NextOffset > bounds.End:
		return listing.Log{State: listing.NoLog, Why: fmt.Sprintf("%s ends at %d, before %d", at, bounds.End, p.NextOffset)}
	case p.NextOffset < bounds.Start:
		return listing.Log{State: listing.LogGap, Why: fmt.Sprintf("%s begins at %d, behind %d", at, bounds.Start, p.NextOffset)}
	}
	if p.RecordTime != nil {
		taken = *p.RecordTime
	}
	if topic.Compacted && p.NextOffset > 0 && now.Sub(taken) >= topic.DeleteRetention {
		return listing.Log{State: listing.LogGap, Why: fmt.Sprintf("topic %s keeps deletes for %s alone", p.Topic, topic.DeleteRetention)}
	}
	return listing.Log{State: listing.Replayable}
}

// withNew is a cut with the partitions that its topics got since, which begin at 0.
func withNew(cut body.Cut, topics map[string]inspection.Topic) body.Cut {
	type place struct {
		flow, topic string
		number      int32
	}
	known := map[place]bool{}
	for _, p := range cut {
		known[place{p.Flow, p.Topic, p.Partition}] = true
	}
	all := append(body.Cut{}, cut...)
	for _, p := range cut {
		for number := range topics[p.Topic].Partitions {
			if at := (place{p.Flow, p.Topic, number}); !known[at] {
				known[at] = true
				all = append(all, body.Partition{Flow: p.Flow, Topic: p.Topic, Partition: number})
			}
		}
	}
	return all
}
