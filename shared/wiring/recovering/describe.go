package recovering

import (
	"context"
	"fmt"
	"slices"

	"tidemark/shared/manifest/body"
	"tidemark/shared/position"
	"tidemark/shared/recovery/inspection"
)

// Describe asks a log about the cut of a backup: topics' ids, where partitions begin and end, and which cluster it is. A partition
// that the log does not reach to keeps what it had: its topic may be another one by now.
//
// Errors: the log's own.
func Describe(ctx context.Context, log inspection.Log, cut body.Cut) (body.Cut, string, error) {
	cluster, err := log.ClusterID(ctx)
	if err != nil {
		return nil, "", err
	}
	var names []string
	for _, p := range cut {
		if !slices.Contains(names, p.Topic) {
			names = append(names, p.Topic)
		}
	}
	topics, err := log.Topics(ctx, names)
	if err != nil {
		return nil, "", fmt.Errorf("describe %d topics: %w", len(names), err)
	}
	var partitions []position.Partition
	for _, p := range cut {
		if at := partitionOf(p); p.Partition < topics[p.Topic].Partitions && !slices.Contains(partitions, at) {
			partitions = append(partitions, at)
		}
	}
	bounds, err := log.Bounds(ctx, partitions)
	if err != nil {
		return nil, "", fmt.Errorf("ask where %d partitions begin and end: %w", len(partitions), err)
	}
	described := slices.Clone(cut)
	for i := range described {
		p := &described[i]
		if b, known := bounds[partitionOf(*p)]; known && p.NextOffset <= b.End {
			p.TopicID, p.Log = topics[p.Topic].ID, &body.LogBounds{Start: b.Start, End: b.End}
		}
	}
	return described, cluster, nil
}

func partitionOf(p body.Partition) position.Partition {
	return position.Partition{Topic: p.Topic, Number: p.Partition}
}
