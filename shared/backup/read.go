package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/shared/archive/packing"
	"tidemark/shared/archive/writer"
	"tidemark/shared/backup/chunk"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
)

// reading is the tables of a snapshot on their way into the archive.
type reading struct {
	options  Options
	run      *writer.Run
	snapshot Snapshot
	tables   []Table
	before   map[body.Name]*body.Table
	known    map[manifest.Digest]manifest.Object // by plain bytes, of the manifest before

	mu       sync.Mutex
	chunks   map[[2]int][]*body.Chunk // by table and part; objects come when they are stored
	progress Progress
}

// Progress says how far a backup is.
type Progress struct {
	Table         body.Name // that was read last
	Bytes, Of     int64     // of pages: read, and all, about
	Rows          int64
	Stored        int // objects that were stored
	Reused        int // objects that an earlier manifest has
	StoredBytes   int64
	Parts, OfPart int
}

// read reads every table and gives them with their chunks. Its readers are opened first: between the snapshot's locks and a
// reader's own another session may ask for one that then stands in the reader's way, so that this time is kept short.
func (r *reading) read(ctx context.Context) (_ []body.Table, err error) {
	readers, err := r.open(ctx)
	defer func() {
		for _, reader := range readers {
			err = errors.Join(err, reader.Close(context.WithoutCancel(ctx)))
		}
	}()
	if err != nil {
		return nil, err
	}
	parts, err := r.plan(ctx, readers[0])
	if err != nil {
		return nil, err
	}
	queue := make(chan part, len(parts))
	for _, p := range parts {
		queue <- p
		r.progress.Of += p.bytes
	}
	close(queue)
	r.progress.OfPart = len(parts)
	group, inner := errgroup.WithContext(ctx)
	for _, reader := range readers[:min(len(readers), max(len(parts), 1))] {
		group.Go(func() error { return r.work(inner, reader, queue) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	tables := r.assemble()
	return tables, r.counted(ctx, readers, tables)
}

// open opens a reader for each job. Those that are open are given also with an error.
func (r *reading) open(ctx context.Context) (readers []Reader, err error) {
	for range r.options.Jobs {
		reader, err := r.snapshot.Reader(ctx)
		if err != nil {
			return readers, err
		}
		readers = append(readers, reader)
	}
	return readers, nil
}

// plan cuts every table into parts, the largest first, so that no worker begins a long one when the others are done.
func (r *reading) plan(ctx context.Context, reader Reader) (parts []part, err error) {
	for i := range r.tables {
		ranges, err := planTable(ctx, reader, &r.tables[i], r.before[r.tables[i].Name], int64(r.options.wanted))
		if err != nil {
			return nil, fmt.Errorf("plan %s: %w", r.tables[i].Name, err)
		}
		for at, rng := range ranges {
			parts = append(parts, part{table: i, at: at, stretch: rng, bytes: r.tables[i].Bytes / int64(len(ranges))})
		}
	}
	slices.SortStableFunc(parts, func(a, b part) int { return int(min(max(b.bytes-a.bytes, -1), 1)) })
	return parts, nil
}

// work reads parts until there are none, or no time for one more chunk.
func (r *reading) work(ctx context.Context, reader Reader, queue <-chan part) error {
	press, inner, err := r.press(ctx)
	if err != nil {
		return err
	}
	for p := range queue {
		press.begin(r.tables[p.table].Name, len(queue) == 0)
		if err = r.inTime(); err == nil {
			err = r.readPart(inner, reader, press, p)
		}
		if err != nil {
			err = fmt.Errorf("read %s: %w", r.tables[p.table].Name, err)
			break
		}
	}
	if stored := press.end(); stored != nil {
		return stored // reading was cancelled because storing failed
	}
	return err
}

// inTime says whether there is time for one more chunk.
func (r *reading) inTime() error {
	if r.options.Deadline.IsZero() || !r.options.Now().Add(r.options.Reserve).After(r.options.Deadline) {
		return nil
	}
	return fault.Wrap(fault.Retryable, ErrOutOfTime)
}

// readPart reads one part, gives its chunks to be stored, and asks for the keys at which it was cut.
func (r *reading) readPart(ctx context.Context, reader Reader, press *press, p part) error {
	table := r.tables[p.table]
	cutter := chunk.New(press, int(p.cut))
	rows, err := reader.Copy(ctx, table, p.Range, cutter)
	if err != nil {
		return err
	}
	press.last = true
	if err := cutter.Close(); err != nil {
		return err
	}
	if err := bound(ctx, reader, table, p.Range, press.chunks); err != nil {
		return err
	}
	if held := rowsOf(press.chunks); held != rows {
		return fault.New(fault.Bug, "%d rows were sent, the chunks have %d", rows, held)
	}
	r.done(p, rows, press.chunks)
	return nil
}

// reuse uses the object that an earlier manifest has for the same bytes, if there is one that may be used.
func (r *reading) reuse(ctx context.Context, d *draft, encrypted bool) (bool, error) {
	object, known := r.known[d.plain]
	if !known || object.Encrypted != encrypted {
		return false, nil
	}
	reused, err := r.run.Reuse(ctx, object)
	if err != nil || !reused {
		return false, err
	}
	d.made.Object = object
	r.count(func(p *Progress) { p.Reused++ })
	return true, nil
}

// store stores the object of a chunk.
func (r *reading) store(ctx context.Context, packed packing.Packed, made *body.Chunk) error {
	object, err := r.run.Store(ctx, packed)
	if err != nil {
		return err
	}
	made.Object = object
	r.count(func(p *Progress) { p.Stored, p.StoredBytes = p.Stored+1, p.StoredBytes+object.Size })
	return nil
}

// bound gives the chunks of a part the keys between them. Each is looked for from the one before, so that the server passes
// over every row once.
func bound(ctx context.Context, reader Reader, t Table, left Range, chunks []*body.Chunk) error {
	if len(t.Key) == 0 {
		return nil
	}
	for i, c := range chunks {
		c.From, c.Until = left.From, left.Until
		if i == len(chunks)-1 {
			break
		}
		key, err := reader.KeyAt(ctx, t, left, c.Rows)
		if err != nil {
			return fmt.Errorf("find where it was cut: %w", err)
		}
		c.Until, left.From = key, key
	}
	return nil
}

func rowsOf(chunks []*body.Chunk) (rows int64) {
	for _, c := range chunks {
		rows += c.Rows
	}
	return rows
}

func (r *reading) done(p part, rows int64, chunks []*body.Chunk) {
	r.mu.Lock()
	r.chunks[[2]int{p.table, p.at}] = chunks
	r.mu.Unlock()
	r.count(func(now *Progress) {
		now.Table, now.Rows, now.Bytes, now.Parts = r.tables[p.table].Name, now.Rows+rows, now.Bytes+p.bytes, now.Parts+1
	})
}

func (r *reading) count(change func(*Progress)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.progress)
	if r.options.OnProgress != nil {
		r.options.OnProgress(r.progress)
	}
}

// assemble puts the chunks of each table in order.
func (r *reading) assemble() []body.Table {
	tables := make([]body.Table, len(r.tables))
	for i, t := range r.tables {
		tables[i] = t.Table
		tables[i].Chunks, tables[i].Rows = []body.Chunk{}, 0
		for at := 0; ; at++ {
			chunks, read := r.chunks[[2]int{i, at}]
			if !read {
				break
			}
			for _, c := range chunks {
				tables[i].Chunks = append(tables[i].Chunks, *c)
			}
			tables[i].Rows += rowsOf(chunks)
		}
	}
	return tables
}

// counted holds the rows of the chunks against what the server counts in the same snapshot.
func (r *reading) counted(ctx context.Context, readers []Reader, tables []body.Table) error {
	queue := make(chan int, len(tables))
	for i := range tables {
		queue <- i
	}
	close(queue)
	group, inner := errgroup.WithContext(ctx)
	for _, reader := range readers[:min(len(readers), len(tables))] {
		group.Go(func() error { return r.recount(inner, reader, tables, queue) })
	}
	return group.Wait()
}

func (r *reading) recount(ctx context.Context, reader Reader, tables []body.Table, queue <-chan int) error {
	for i := range queue {
		rows, err := reader.Count(ctx, r.tables[i])
		if err != nil {
			return fmt.Errorf("count %s: %w", tables[i].Name, err)
		}
		if rows != tables[i].Rows {
			return fault.New(fault.Bug, "read %s: its chunks have %d rows, the table %d", tables[i].Name, tables[i].Rows, rows).
				WithHint("nothing was signed; please report this with the table's definition")
		}
	}
	return nil
}

// reserve is how long before the deadline no chunk is begun any more.
const reserve = 90 * time.Second
