// Package origin owns whose word an error is that a recovery ends with: the brokers', the database's, or an archive's that was
// asked meanwhile. The exit code hangs on it.
//
// It decides nothing and changes no error's class. No state.
package origin

import (
	"context"
	"time"

	"tidemark/cmd/tidemark/exit"
	"tidemark/shared/position"
	"tidemark/shared/record"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/inspection"
)

// Log marks what the brokers refuse.
func Log(log recovery.Log) recovery.Log { return markedLog{log} }

type markedLog struct{ log recovery.Log }

// ClusterID names the cluster. See recovery.Log.
func (l markedLog) ClusterID(ctx context.Context) (string, error) {
	id, err := l.log.ClusterID(ctx)
	return id, exit.Kafka(err)
}

// Topics describes topics. See recovery.Log.
func (l markedLog) Topics(ctx context.Context, names []string) (map[string]inspection.Topic, error) {
	topics, err := l.log.Topics(ctx, names)
	return topics, exit.Kafka(err)
}

// Bounds gives where partitions begin and end. See recovery.Log.
func (l markedLog) Bounds(ctx context.Context, of []position.Partition) (map[position.Partition]inspection.Bounds, error) {
	bounds, err := l.log.Bounds(ctx, of)
	return bounds, exit.Kafka(err)
}

// EpochEnd is the offset behind the last record of a leader epoch. See recovery.Log.
func (l markedLog) EpochEnd(ctx context.Context, p position.Partition, epoch int32) (position.Offset, error) {
	end, err := l.log.EpochEnd(ctx, p, epoch)
	return end, exit.Kafka(err)
}

// OffsetAt finds a time. See recovery.Log.
func (l markedLog) OffsetAt(ctx context.Context, p position.Partition, at time.Time) (position.Offset, error) {
	offset, err := l.log.OffsetAt(ctx, p, at)
	return offset, exit.Kafka(err)
}

// Open reads partitions. See recovery.Log.
func (l markedLog) Open(ctx context.Context, from position.Cut) (recovery.Tail, error) {
	tail, err := l.log.Open(ctx, from)
	if err != nil {
		return nil, exit.Kafka(err)
	}
	return markedTail{tail}, nil
}

type markedTail struct{ recovery.Tail }

// Next gives the records that came next. See recovery.Tail.
func (t markedTail) Next(ctx context.Context) (record.Batch, position.Cut, error) {
	batch, reached, err := t.Tail.Next(ctx)
	return batch, reached, exit.Kafka(err)
}
