package replays

import (
	"context"

	"tidemark/cmd/tidemark/report/listing"
	"tidemark/shared/position"
	"tidemark/shared/recovery/inspection"
)

// answers are what a log says of all topics that manifests stand in.
type answers struct {
	topics map[string]inspection.Topic
	bounds map[position.Partition]inspection.Bounds
}

func ask(ctx context.Context, list []listing.Manifest, log Log) (a answers, err error) {
	var names []string
	seen := map[string]bool{}
	for _, m := range list {
		for _, p := range m.Body.Cut {
			if !seen[p.Topic] {
				seen[p.Topic] = true
				names = append(names, p.Topic)
			}
		}
	}
	if len(names) == 0 {
		return a, nil
	}
	if a.topics, err = log.Topics(ctx, names); err != nil {
		return a, err
	}
	var partitions []position.Partition
	for name, topic := range a.topics {
		for number := range topic.Partitions {
			partitions = append(partitions, position.Partition{Topic: name, Number: number})
		}
	}
	a.bounds, err = log.Bounds(ctx, partitions)
	return a, err
}
