package recovery

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"tidemark/shared/apply"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/record"
)

// Applier applies records to the target that is being recovered: an apply.Applier.
type Applier interface {
	Apply(ctx context.Context, batch record.Batch) (apply.Outcome, error)
}

// Replayed counts what a replay did.
type Replayed struct {
	Applied, Present, Absorbed int
}

const (
	batchRecords = 10_000
	mostBuffered = 100_000 // records that wait for a partition that gives none
)

// replay brings one flow from where its checkpoints stand to where it ends.
type replay struct {
	tail    Tail
	applier Applier
	ends    position.Cut
	reached position.Cut
	queues  map[position.Partition][]record.Record
	counts  *Replayed
	report  func(Replayed)
}

// run reads and applies until every partition has reached its end: judged by the reader's position, which control batches and
// aborted transactions move too.
func (r *replay) run(ctx context.Context) error {
	for {
		if err := r.drain(ctx); err != nil {
			return err
		}
		if r.ended() {
			return nil
		}
		batch, reached, err := r.tail.Next(ctx)
		if err != nil {
			return err
		}
		for p, offset := range reached {
			r.reached[p] = max(r.reached[p], offset)
		}
		for _, run := range batch {
			r.enqueue(run)
		}
	}
}

// enqueue keeps what lies below the end; what came after it is the live function's.
func (r *replay) enqueue(run record.Run) {
	for i := range run.Records {
		if run.Records[i].Offset < r.ends[run.Partition] {
			r.queues[run.Partition] = append(r.queues[run.Partition], run.Records[i])
		}
	}
}

func (r *replay) ended() bool {
	for p, end := range r.ends {
		if r.reached[p] < end || len(r.queues[p]) > 0 {
			return false
		}
	}
	return true
}

// drain applies what can be ordered: as long as every partition that has not ended has a record, the oldest goes first. When too
// much waits for a partition that gives nothing, what is there goes.
func (r *replay) drain(ctx context.Context) error {
	for {
		batch := r.merge()
		if len(batch) == 0 {
			return nil
		}
		if err := r.apply(ctx, batch); err != nil {
			return err
		}
	}
}

func (r *replay) merge() record.Batch {
	buffered := 0
	for _, queue := range r.queues {
		buffered += len(queue)
	}
	taken := map[position.Partition]int{}
	for count := 0; count < batchRecords; count++ {
		next, complete := r.oldest(taken)
		if next == (position.Partition{}) || !complete && buffered < mostBuffered {
			break
		}
		taken[next]++
	}
	batch := make(record.Batch, 0, len(taken))
	for p, n := range taken {
		batch = append(batch, record.Run{Partition: p, Records: r.queues[p][:n]})
	}
	slices.SortFunc(batch, func(a, b record.Run) int { return a.Partition.Compare(b.Partition) })
	return batch
}

// oldest is the partition whose next record has the lowest time, and whether every partition that has not ended was asked.
func (r *replay) oldest(taken map[position.Partition]int) (next position.Partition, complete bool) {
	complete = true
	var first *record.Record
	for p, end := range r.ends {
		queue := r.queues[p][taken[p]:]
		if len(queue) == 0 {
			complete = complete && r.reached[p] >= end
			continue
		}
		if first == nil || cmp.Or(queue[0].Time.Compare(first.Time), p.Compare(next)) < 0 {
			first, next = &queue[0], p
		}
	}
	return next, complete
}

// apply applies a batch until all of it is in. What waits for another partition's record comes again, as long as any partition
// goes on.
func (r *replay) apply(ctx context.Context, batch record.Batch) error {
	for {
		outcome, err := r.applier.Apply(ctx, batch)
		progress := false
		for _, p := range outcome.Partitions {
			queue := r.queues[p.Partition]
			done := slices.IndexFunc(queue, func(rec record.Record) bool { return rec.Offset >= p.Next })
			if done < 0 {
				done = len(queue)
			}
			progress = progress || done > 0
			r.queues[p.Partition] = queue[done:]
			r.counts.Applied, r.counts.Present = r.counts.Applied+p.Applied, r.counts.Present+p.Skipped
			r.counts.Absorbed += p.Absorbed
		}
		r.report(*r.counts)
		if err == nil {
			return nil
		}
		if !fault.Is(err, fault.Retryable) || !progress || ctx.Err() != nil {
			return fmt.Errorf("replay: %w", err)
		}
		batch = r.left(batch)
		if len(batch) == 0 {
			return nil
		}
	}
}

// left is what of a batch is still queued.
func (r *replay) left(batch record.Batch) record.Batch {
	var rest record.Batch
	for _, run := range batch {
		last := run.Records[len(run.Records)-1].Offset
		queue := r.queues[run.Partition]
		n := slices.IndexFunc(queue, func(rec record.Record) bool { return rec.Offset > last })
		if n < 0 {
			n = len(queue)
		}
		if n > 0 {
			rest = append(rest, record.Run{Partition: run.Partition, Records: queue[:n]})
		}
	}
	return rest
}
