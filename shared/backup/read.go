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
	chunks   map[[2]int][]body.Chunk // by table and part
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

// read reads every table and gives them with their chunks.
func (r *reading) read(ctx context.Context) ([]body.Table, error) {
	parts, err := r.plan(ctx)
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
	for range min(r.options.Jobs, max(len(parts), 1)) {
		group.Go(func() error { return r.work(inner, queue) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return r.assemble(), nil
}

// plan cuts every table into parts, the largest first, so that no worker begins a long one when the others are done.
func (r *reading) plan(ctx context.Context) (parts []part, err error) {
	reader, err := r.snapshot.Reader(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, reader.Close(context.WithoutCancel(ctx))) }()
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
func (r *reading) work(ctx context.Context, queue <-chan part) (err error) {
	reader, err := r.snapshot.Reader(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close(context.WithoutCancel(ctx))) }()
	packer, err := r.options.NewPacker()
	if err != nil {
		return err
	}
	for p := range queue {
		err := r.inTime()
		if err == nil {
			err = r.readPart(ctx, reader, packer, p)
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", r.tables[p.table].Name, err)
		}
	}
	return nil
}

// inTime says whether there is time for one more chunk.
func (r *reading) inTime() error {
	if r.options.Deadline.IsZero() || !r.options.Now().Add(r.options.Reserve).After(r.options.Deadline) {
		return nil
	}
	return fault.Wrap(fault.Retryable, ErrOutOfTime)
}

// readPart reads one part, stores its chunks, and asks for the keys at which it was cut.
func (r *reading) readPart(ctx context.Context, reader Reader, packer *packing.Packer, p part) error {
	table := r.tables[p.table]
	storing, inner := newStoring(ctx)
	var chunks []*body.Chunk
	last := false
	cutter := chunk.New(packer, int(p.cut), func(packed packing.Packed, rows int64) error {
		made := &body.Chunk{Rows: rows}
		chunks = append(chunks, made)
		if err := r.keep(inner, storing, packed, made); err != nil || last {
			return err
		}
		return r.inTime() // a table may have grown a hundredfold since its bounds were made
	})
	rows, err := reader.Copy(inner, table, p.Range, cutter)
	if last = true; err == nil {
		err = cutter.Close()
	}
	if stored := storing.Wait(); stored != nil {
		return stored // reading was cancelled because storing failed
	}
	if err != nil {
		return err
	}
	kept, err := bounds(ctx, reader, table, p.Range, chunks)
	if err != nil {
		return err
	}
	if held := rowsOf(kept); held != rows {
		return fault.New(fault.Bug, "%d rows were sent, the chunks have %d", rows, held)
	}
	r.done(p, rows, kept)
	return nil
}

// storing is one object on its way while the next is read.
type storing struct {
	*errgroup.Group
	way chan struct{}
}

// newStoring gives also the context that ends when storing fails.
func newStoring(ctx context.Context) (*storing, context.Context) {
	group, inner := errgroup.WithContext(ctx)
	return &storing{group, make(chan struct{}, 1)}, inner
}

// keep uses the object that an earlier manifest has for the same bytes, or stores these.
func (r *reading) keep(ctx context.Context, storing *storing, packed packing.Packed, made *body.Chunk) error {
	if object, known := r.known[packed.Object.Plain]; known && object.Encrypted == packed.Object.Encrypted {
		reused, err := r.run.Reuse(ctx, object)
		if err != nil {
			return err
		}
		if reused {
			made.Object = object
			r.count(func(p *Progress) { p.Reused++ })
			return nil
		}
	}
	select {
	case storing.way <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	packed.Stored = slices.Clone(packed.Stored) // the packer goes on with the next
	storing.Go(func() error {
		defer func() { <-storing.way }()
		object, err := r.run.Store(ctx, packed)
		if err != nil {
			return err
		}
		made.Object = object
		r.count(func(p *Progress) { p.Stored, p.StoredBytes = p.Stored+1, p.StoredBytes+object.Size })
		return nil
	})
	return ctx.Err()
}

// bounds gives the chunks of a part with the keys between them. Each is looked for from the one before, so that the server
// passes over every row once.
func bounds(ctx context.Context, reader Reader, t Table, left Range, chunks []*body.Chunk) ([]body.Chunk, error) {
	kept := make([]body.Chunk, len(chunks))
	for i, c := range chunks {
		kept[i] = *c
		if len(t.Key) == 0 {
			continue
		}
		if i > 0 {
			key, err := reader.KeyAt(ctx, t, left, kept[i-1].Rows)
			if err != nil {
				return nil, fmt.Errorf("find where it was cut: %w", err)
			}
			kept[i-1].Until, left.From = key, key
		}
		kept[i].From, kept[i].Until = left.From, left.Until
	}
	return kept, nil
}

func rowsOf(chunks []body.Chunk) (rows int64) {
	for _, c := range chunks {
		rows += c.Rows
	}
	return rows
}

func (r *reading) done(p part, rows int64, chunks []body.Chunk) {
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
			tables[i].Chunks, tables[i].Rows = append(tables[i].Chunks, chunks...), tables[i].Rows+rowsOf(chunks)
		}
	}
	return tables
}

// counted holds the rows of the chunks against what the server counts in the same snapshot.
func (r *reading) counted(ctx context.Context, tables []body.Table) error {
	queue := make(chan int, len(tables))
	for i := range tables {
		queue <- i
	}
	close(queue)
	group, inner := errgroup.WithContext(ctx)
	for range min(r.options.Jobs, len(tables)) {
		group.Go(func() error { return r.recount(inner, tables, queue) })
	}
	return group.Wait()
}

func (r *reading) recount(ctx context.Context, tables []body.Table, queue <-chan int) (err error) {
	reader, err := r.snapshot.Reader(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close(context.WithoutCancel(ctx))) }()
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
