package recovery

import (
	"context"
	"time"

	"tidemark/shared/position"
	"tidemark/shared/recovery/replay"
)

// Log is the log that holds the tail: Kafka's topics.
type Log interface {
	// ClusterID names the cluster.
	ClusterID(ctx context.Context) (string, error)
	// Topics describes topics; one that does not exist is not in the answer.
	Topics(ctx context.Context, names []string) (map[string]Topic, error)
	// Bounds gives where partitions begin and end, as asked now.
	Bounds(ctx context.Context, partitions []position.Partition) (map[position.Partition]Bounds, error)
	// EpochEnd is the offset behind the last record of a leader epoch, as the log has it now. fault.Gap when the log never came
	// to that epoch.
	EpochEnd(ctx context.Context, p position.Partition, epoch int32) (position.Offset, error)
	// OffsetAt is the offset of the first record of that time or later, the last stable offset when there is none.
	OffsetAt(ctx context.Context, p position.Partition, at time.Time) (position.Offset, error)
	// Open reads partitions from these offsets on, committed records alone. The caller closes the tail.
	Open(ctx context.Context, from position.Cut) (Tail, error)
}

// Topic is what a topic is set to.
type Topic struct {
	ID         string // a UUID; another one is another topic
	Partitions int32
	Compacted  bool // cleanup.policy holds compact
	Deleted    bool // cleanup.policy holds delete
	// DeleteRetention is how long a compacted topic keeps tombstones, MinCompactionLag how long it keeps everything.
	DeleteRetention, MinCompactionLag time.Duration
}

// Bounds are where a partition begins and ends.
type Bounds struct {
	Start  position.Offset // the first offset that the log holds
	Stable position.Offset // the last stable offset: below it every transaction has ended
	End    position.Offset // the high watermark
}

// Tail is a reader of several partitions.
type Tail = replay.Tail

// ErrOutOfRange says that the log does not have the offset that is to be read next.
var ErrOutOfRange = replay.ErrOutOfRange

// Applier applies records to the target that is being recovered.
type Applier = replay.Applier

// Replayed counts what a replay did.
type Replayed = replay.Counts
