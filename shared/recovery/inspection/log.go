// Package inspection owns whether the log still has what a manifest, or a try that goes on, needs: where the replay of each
// partition begins and ends, what is refused and by which name, what an operator has to accept.
//
// It declares the questions that it asks of the log (Log). It refuses to pass over what the log no longer has, unless a reason
// is given, and to end a replay where a topic's past is gone. It writes nothing. Values are plain; an inspection belongs to one
// goroutine.
package inspection

import (
	"context"
	"time"

	"tidemark/shared/position"
)

// Log answers questions about the log that holds the tail.
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
