package recovery

import (
	"context"

	"tidemark/shared/position"
	"tidemark/shared/recovery/inspection"
	"tidemark/shared/recovery/replay"
)

// Log is the log that holds the tail: Kafka's topics.
type Log interface {
	inspection.Log
	// Open reads partitions from these offsets on, committed records alone. The caller closes the tail.
	Open(ctx context.Context, from position.Cut) (Tail, error)
}

// Tail is a reader of several partitions.
type Tail = replay.Tail

// ErrOutOfRange says that the log does not have the offset that is to be read next.
var ErrOutOfRange = replay.ErrOutOfRange

// Applier applies records to the target that is being recovered.
type Applier = replay.Applier

// Replayed counts what a replay did.
type Replayed = replay.Counts
