// Package replay owns in which order the rest of a log reaches a target that is recovered, and when all of it has.
//
// Order within a partition is the log's. Across partitions the oldest record goes first as far as the reader lets that be seen,
// and a record that needs another partition's waits for it. It refuses to go beyond the ends that it is given, to end before
// every partition was read up to its own, and to wait for what cannot come. Memory is bounded. A run belongs to one goroutine.
package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
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

// Tail is a reader of several partitions. It belongs to one goroutine.
type Tail interface {
	// Next gives the records that came next, in order within a partition, and how far each partition that moved was read:
	// behind control batches and records of aborted transactions too, which are not among the records. It waits for something
	// to come, as long as the context lasts.
	//
	// Errors: ErrOutOfRange when the log no longer has the next offset; nothing is ever skipped in silence.
	Next(ctx context.Context) (record.Batch, position.Cut, error)
	Close()
}

// ErrOutOfRange says that the log does not have the offset that is to be read next. Its class is fault.Gap.
var ErrOutOfRange = errors.New("the log does not have the next offset")

// Counts are what a replay did.
type Counts struct {
	Applied, Present, Absorbed int
}

// Plus adds two counts.
func (c Counts) Plus(other Counts) Counts {
	return Counts{c.Applied + other.Applied, c.Present + other.Present, c.Absorbed + other.Absorbed}
}

const batchRecords = 10_000

// What waits at most for a partition that gives none, in records and in their bytes.
const (
	mostBuffered = 100_000
	mostBytes    = 256 << 20
)

// Options says what is brought from where to where.
type Options struct {
	Tail       Tail
	Applier    Applier
	From, Ends position.Cut
	Report     func(Counts) // called after each batch; nil: nobody asks
}

// Run brings a flow from where its checkpoints stand to where it ends. The counts are valid also beside an error.
//
// Errors: the tail's and the applier's own; fault.Poison with apply.ErrWaits when a record waits for what does not come.
func Run(ctx context.Context, o Options) (Counts, error) {
	r := &replay{
		Options: o, reached: position.Cut{}, queues: map[position.Partition][]record.Record{}, waits: map[position.Partition]error{},
	}
	maps.Copy(r.reached, o.From)
	err := r.run(ctx)
	return r.counts, err
}

// replay is one run.
type replay struct {
	Options

	reached  position.Cut
	queues   map[position.Partition][]record.Record
	buffered int // records in the queues
	bytes    int // and their bytes
	// waits are the partitions whose next record needs another partition's, and why.
	waits  map[position.Partition]error
	ending bool // nothing more comes: what is there goes in the order that it has
	counts Counts
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
		if err := r.stuck(); err != nil {
			return err
		}
		batch, reached, err := r.Tail.Next(ctx)
		if err != nil {
			return r.leave(ctx, err)
		}
		for p, offset := range reached {
			r.reached[p] = max(r.reached[p], offset)
		}
		for _, run := range batch {
			r.enqueue(run)
		}
	}
}

// leave applies what was read before the log lost what comes next: it is not to be lost too.
func (r *replay) leave(ctx context.Context, err error) error {
	if !errors.Is(err, ErrOutOfRange) && !fault.Is(err, fault.Gap) {
		return err
	}
	r.ending = true
	return errors.Join(err, r.drain(ctx))
}

// enqueue keeps what lies below the end; what came after it is the live function's.
func (r *replay) enqueue(run record.Run) {
	for i := range run.Records {
		if run.Records[i].Offset < r.Ends[run.Partition] {
			r.queues[run.Partition] = append(r.queues[run.Partition], run.Records[i])
			r.buffered, r.bytes = r.buffered+1, r.bytes+run.Records[i].Size()
		}
	}
}

func (r *replay) ended() bool {
	for p, end := range r.Ends {
		if r.reached[p] < end || len(r.queues[p]) > 0 {
			return false
		}
	}
	return true
}

func (r *replay) full() bool { return r.buffered >= mostBuffered || r.bytes >= mostBytes }

// stuck says why nothing can go on any more: every record that comes next waits for another one, and no partition that could
// bring it is left. Such a record can never apply. With more in hand than may be, no other is read for its sake.
func (r *replay) stuck() error {
	if len(r.waits) == 0 {
		return nil
	}
	for p, end := range r.Ends {
		if r.waits[p] == nil && (len(r.queues[p]) > 0 || r.reached[p] < end && !r.full()) {
			return nil
		}
	}
	waiting := slices.SortedFunc(maps.Keys(r.waits), position.Partition.Compare)
	return fault.New(fault.Poison, "replay %s: nothing else goes on: %w", waiting[0], r.waits[waiting[0]]).
		WithHint("%s", cmp.Or(fault.HintOf(r.waits[waiting[0]]), "the row that it needs is not in the base and not in the log up to "+
			"the end of the replay: see what writes it; the same command goes on"))
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
	all := r.ending || r.full()
	taken := map[position.Partition]int{}
	for count := 0; count < batchRecords; count++ {
		next, complete := r.oldest(taken)
		if next == (position.Partition{}) || !complete && !all {
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
// Those that wait for others are left out.
func (r *replay) oldest(taken map[position.Partition]int) (next position.Partition, complete bool) {
	complete = true
	var first *record.Record
	for p, end := range r.Ends {
		if r.waits[p] != nil {
			continue
		}
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

// apply applies a batch until all of it is in, or until the rest waits for another partition's record. That is put aside until
// any partition goes on.
func (r *replay) apply(ctx context.Context, batch record.Batch) error {
	for len(batch) > 0 {
		outcome, err := r.Applier.Apply(ctx, batch)
		moved := r.settle(outcome)
		if r.Report != nil {
			r.Report(r.counts)
		}
		batch = r.left(batch)
		switch {
		case err == nil && len(batch) > 0:
			return fault.New(fault.Bug, "replay: the applier left %s and said nothing", batch[0].Partition)
		case err == nil:
			return nil
		case ctx.Err() != nil, !fault.Is(err, fault.Retryable):
			return fmt.Errorf("replay: %w", err)
		case moved:
		case r.putAside(outcome):
			return nil
		default:
			return fmt.Errorf("replay: %w", err)
		}
	}
	return nil
}

// settle takes what is in off the queues, and says whether that is anything.
func (r *replay) settle(outcome apply.Outcome) bool {
	moved := false
	for _, p := range outcome.Partitions {
		queue := r.queues[p.Partition]
		done := 0
		for done < len(queue) && queue[done].Offset < p.Next {
			r.bytes -= queue[done].Size()
			done++
		}
		moved = moved || done > 0
		r.buffered -= done
		r.queues[p.Partition] = queue[done:]
		r.counts = r.counts.Plus(Counts{p.Applied, p.Skipped, p.Absorbed})
	}
	if moved {
		clear(r.waits)
	}
	return moved
}

// putAside notes the partitions that wait for others. It is false when anything stopped for another reason.
func (r *replay) putAside(outcome apply.Outcome) bool {
	waits := map[position.Partition]error{}
	for _, p := range outcome.Partitions {
		switch {
		case errors.Is(p.Err, apply.ErrWaits):
			waits[p.Partition] = p.Err
		case p.Err != nil:
			return false
		}
	}
	maps.Copy(r.waits, waits)
	return len(waits) > 0
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
