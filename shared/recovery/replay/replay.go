// Package replay owns in which order the rest of a log reaches a target that is recovered, and when all of it has.
//
// Order within a partition is the log's. Across partitions the oldest record goes first as far as the reader lets that be seen,
// and a record that needs another partition's waits for it. It refuses to go beyond the ends that it is given, to end before
// every partition was read up to its own, and to wait for what cannot come. Memory is bounded. A run belongs to one goroutine.
package replay

import (
	"cmp"
	"container/heap"
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

// What goes in at once at most, in records, and from how many bytes on nothing more is waited for.
const (
	batchRecords = 10_000
	batchBytes   = 16 << 20
)

// plenty is how many records at once show that the log has more of them at hand.
const plenty = 1_000

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
		Options: o, reached: position.Cut{}, queues: map[position.Partition]*queue{}, waits: map[position.Partition]error{},
	}
	maps.Copy(r.reached, o.From)
	for p := range o.Ends {
		r.queues[p] = &queue{}
	}
	err := r.run(ctx)
	return r.counts, err
}

// replay is one run.
type replay struct {
	Options

	reached  position.Cut
	queues   map[position.Partition]*queue // of every partition that has an end
	buffered int                           // records in the queues
	bytes    int                           // and their bytes
	came     int                           // how many the last answer added
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
		before := r.buffered
		for _, run := range batch {
			r.enqueue(run)
		}
		r.came = r.buffered - before
	}
}

// gathers says whether what is there waits for more, because so many came at last that the log has more at hand: a transaction
// of few records takes nearly as long as one of many. What trickles in goes at once.
func (r *replay) gathers() bool {
	return r.came >= plenty && r.buffered < batchRecords && r.bytes < batchBytes && !r.ending && !r.read()
}

// read says whether every partition was read up to its end.
func (r *replay) read() bool {
	for p, end := range r.Ends {
		if r.reached[p] < end {
			return false
		}
	}
	return true
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
	queue, end := r.queues[run.Partition], r.Ends[run.Partition]
	n := len(run.Records)
	for n > 0 && run.Records[n-1].Offset >= end {
		n--
	}
	if n == 0 {
		return
	}
	queue.add(run.Records[:n])
	r.buffered += n
	for i := range run.Records[:n] {
		r.bytes += run.Records[i].Size()
	}
}

func (r *replay) ended() bool { return r.buffered == 0 && r.read() }

func (r *replay) full() bool { return r.buffered >= mostBuffered || r.bytes >= mostBytes }

// stuck says why nothing can go on any more: every record that comes next waits for another one, and no partition that could
// bring it is left. Such a record can never apply. With more in hand than may be, no other is read for its sake.
func (r *replay) stuck() error {
	if len(r.waits) == 0 {
		return nil
	}
	for p, end := range r.Ends {
		if r.waits[p] == nil && (len(r.queues[p].left()) > 0 || r.reached[p] < end && !r.full()) {
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
	for !r.gathers() {
		batch := r.merge()
		if len(batch) == 0 {
			return nil
		}
		if err := r.apply(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// merge takes the oldest records of the partitions that do not wait for others, until one of them has none and is to be read on.
func (r *replay) merge() record.Batch {
	open, complete := r.open()
	all := r.ending || r.full()
	var batch record.Batch
	for count := 0; count < batchRecords && len(open) > 0 && (complete || all); {
		first := open[0]
		n := 1
		if len(open) == 1 {
			n = min(len(first.queue)-first.taken, batchRecords-count)
		}
		first.taken, count = first.taken+n, count+n
		if first.taken < len(first.queue) {
			heap.Fix(&open, 0)
			continue
		}
		complete = complete && !first.more
		batch = append(batch, first.run())
		heap.Pop(&open)
	}
	for _, h := range open {
		if h.taken > 0 {
			batch = append(batch, h.run())
		}
	}
	slices.SortFunc(batch, func(a, b record.Run) int { return a.Partition.Compare(b.Partition) })
	return batch
}

// open are the queues that have records and do not wait for others', and whether every partition that was not read to its end
// has a record.
func (r *replay) open() (open heads, complete bool) {
	complete = true
	for p, end := range r.Ends {
		switch queue := r.queues[p].left(); {
		case r.waits[p] != nil:
		case len(queue) > 0:
			open = append(open, &head{partition: p, queue: queue, more: r.reached[p] < end})
		default:
			complete = complete && r.reached[p] >= end
		}
	}
	heap.Init(&open)
	return open, complete
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
		left := queue.left()
		done := 0
		for done < len(left) && left[done].Offset < p.Next {
			r.bytes -= left[done].Size()
			done++
		}
		moved = moved || done > 0
		r.buffered -= done
		queue.done += done
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
		queue := r.queues[run.Partition].left()
		n, _ := slices.BinarySearchFunc(queue, last.Next(), func(rec record.Record, until position.Offset) int {
			return cmp.Compare(rec.Offset, until)
		})
		if n > 0 {
			rest = append(rest, record.Run{Partition: run.Partition, Records: queue[:n]})
		}
	}
	return rest
}
