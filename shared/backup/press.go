package backup

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash"

	"golang.org/x/sync/errgroup"

	"tidemark/shared/archive/packing"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
)

// press packs and stores beside its worker what that one reads: while rows come, what came before them is packed, and what was
// packed before that is stored. To whoever reads it is a chunk.Sink; two goroutines stand behind it.
//
// Plain bytes come in blocks. A chunk that the manifest before may have is held until it is whole, and packed only when no
// manifest has it; of one that grew beyond that, and of all that is new, each block is packed as it comes. So a worker has at
// most mostHeld of plain bytes, and of what is packed one object that is made beside one that is stored.
type press struct {
	reading *reading
	packer  *packing.Packer
	group   *errgroup.Group
	stopped <-chan struct{} // closed when packing or storing has failed
	drafts  chan *draft
	storing chan struct{} // taken while an object is being stored
	stored  chan []byte   // memory of objects that are stored
	free    chan []byte   // blocks that nobody fills or packs
	blocks  int           // that were made

	// Of the part that is read:
	table  body.Name
	hope   int64 // no chunk is larger that the manifest before has of the table
	chunks []*body.Chunk
	last   bool // the rows have ended
	final  bool // no part follows
	open   *draft
	block  []byte
	sum    hash.Hash
}

const (
	blockSize = 256 << 10
	// ahead is how many blocks reading is ahead of packing where nothing is held.
	ahead = 8
	// mostHeld is the most of a chunk that is held until it is whole. A larger one is cut anew in any case: see cutAt.
	mostHeld = 48 << 20
)

// draft is a chunk on its way to be an object.
type draft struct {
	table body.Name
	made  *body.Chunk
	held  [][]byte    // its first blocks
	rest  chan []byte // those that came after it was passed on

	passed bool // others have it
	whole  bool // it was held until it was whole
	lost   bool // its rows ended too early
	final  bool // nothing follows
	size   int64
	plain  manifest.Digest // known with the last block
}

// press starts a press. Its context ends when packing or storing fails.
func (r *reading) press(ctx context.Context) (*press, context.Context, error) {
	packer, err := r.options.NewPacker()
	if err != nil {
		return nil, nil, err
	}
	group, inner := errgroup.WithContext(ctx)
	p := &press{
		reading: r, packer: packer, group: group, stopped: inner.Done(), sum: sha256.New(), drafts: make(chan *draft),
		storing: make(chan struct{}, 1), stored: make(chan []byte, 2), free: make(chan []byte, mostHeld/blockSize+2*ahead),
	}
	group.Go(func() error { return p.pack(inner) })
	return p, inner, nil
}

// begin begins with a part.
func (p *press) begin(table body.Name, final bool) {
	p.table, p.hope, p.chunks, p.last, p.final = table, 0, nil, false, final
	if before := p.reading.before[table]; before != nil {
		for _, c := range before.Chunks {
			p.hope = max(p.hope, min(c.Object.PlainSize, mostHeld))
		}
	}
}

// end waits for all that was read to be stored, also where the rows did not end as they should.
func (p *press) end() error {
	if p.open != nil {
		p.open.lost = true
		close(p.open.rest)
	}
	close(p.drafts)
	err := p.group.Wait()
	p.reclaim()
	return err
}

// reclaim gives the memory of what is stored to what comes next.
func (p *press) reclaim() {
	for range len(p.stored) {
		p.packer.Reclaim(<-p.stored)
	}
}

// Begin begins a chunk.
func (p *press) Begin() error {
	p.open = &draft{table: p.table, made: &body.Chunk{}, rest: make(chan []byte, ahead)}
	p.sum.Reset()
	return p.next()
}

// Fits says whether the chunk is surely an object with n more plain bytes, of which nobody knows yet how they compress.
func (p *press) Fits(n int) bool {
	return p.open == nil || p.packer.Fits(p.open.size+int64(n))
}

// Write takes plain bytes.
func (p *press) Write(plain []byte) (int, error) {
	given := len(plain)
	for len(plain) > 0 {
		if len(p.block) == blockSize {
			if err := p.turn(); err != nil {
				return 0, err
			}
		}
		room := p.block[len(p.block):blockSize]
		n := copy(room, plain)
		p.block, plain = p.block[:len(p.block)+n], plain[n:]
	}
	p.open.size += int64(given)
	return given, nil
}

// turn gives the block to the chunk and goes on with the next.
func (p *press) turn() error {
	if err := p.add(); err != nil {
		return err
	}
	if d := p.open; !d.passed && int64(len(d.held))*blockSize > p.hope {
		if err := p.pass(d); err != nil {
			return err
		}
	}
	return p.next()
}

// add gives the block to the chunk.
func (p *press) add() error {
	p.sum.Write(p.block)
	if !p.open.passed {
		p.open.held = append(p.open.held, p.block)
		return nil
	}
	return send(p, p.open.rest, p.block)
}

// pass lets the chunk be packed.
func (p *press) pass(d *draft) error {
	d.passed = true
	return send(p, p.drafts, d)
}

// next takes a block to fill. A chunk that is held never waits for its own: there are more than may be held.
func (p *press) next() error {
	select {
	case p.block = <-p.free:
		return nil
	default:
	}
	if p.blocks < cap(p.free) {
		p.blocks++
		p.block = make([]byte, 0, blockSize)
		return nil
	}
	select {
	case p.block = <-p.free:
		return nil
	case <-p.stopped:
		return context.Canceled
	}
}

// Finish ends a chunk. A table may have grown a hundredfold since its bounds were made, so that time is asked for here too.
func (p *press) Finish(rows int64) error {
	if err := p.add(); err != nil {
		return err
	}
	d := p.open
	d.made.Rows, d.plain = rows, manifest.SumDigest([sha256.Size]byte(p.sum.Sum(nil)))
	p.chunks = append(p.chunks, d.made)
	if d.final = p.last && p.final; !d.passed {
		d.whole = true
	}
	close(d.rest)
	p.open = nil
	if d.whole {
		if err := p.pass(d); err != nil {
			return err
		}
	}
	if p.last {
		return nil
	}
	return p.reading.inTime()
}

func send[T any](p *press, to chan<- T, what T) error {
	select {
	case to <- what:
		return nil
	case <-p.stopped:
		return context.Canceled
	}
}

// pack packs one chunk after the other, if no manifest before has it.
func (p *press) pack(ctx context.Context) error {
	for d := range p.drafts {
		if err := p.packUnlessKnown(ctx, d); err != nil {
			return fmt.Errorf("read %s: %w", d.table, err)
		}
	}
	return nil
}

func (p *press) packUnlessKnown(ctx context.Context, d *draft) error {
	if d.whole {
		if reused, err := p.reading.reuse(ctx, d, p.packer.Encrypts()); err != nil || reused {
			p.leave(d.held...)
			return err
		}
	}
	packed, err := p.packDraft(ctx, d)
	if err != nil || d.lost {
		return err
	}
	if !d.whole { // its table has no such chunk, but another may
		if reused, err := p.reading.reuse(ctx, d, p.packer.Encrypts()); err != nil || reused {
			p.packer.Reclaim(packed.Stored)
			return err
		}
	}
	return p.store(ctx, packed, d)
}

func (p *press) packDraft(ctx context.Context, d *draft) (packed packing.Packed, err error) {
	p.reclaim()
	if err := p.packer.Begin(); err != nil {
		return packed, err
	}
	for {
		block, err := d.take(ctx)
		if err != nil {
			return packed, err
		}
		if block == nil {
			break
		}
		if err := p.write(block); err != nil {
			return packed, err
		}
	}
	if d.lost {
		return packed, nil
	}
	return p.packer.Finish(d.plain)
}

// take gives the next block, nil after the last.
func (d *draft) take(ctx context.Context) ([]byte, error) {
	if len(d.held) > 0 {
		block := d.held[0]
		d.held = d.held[1:]
		return block, nil
	}
	select {
	case block := <-d.rest:
		return block, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *press) write(block []byte) error {
	_, err := p.packer.Write(block)
	p.leave(block)
	return err
}

// leave lets blocks be filled again.
func (p *press) leave(blocks ...[]byte) {
	for _, block := range blocks {
		p.free <- block[:0] // there is room for all that were made
	}
}

// store stores an object beside what is packed next. While a large one is on its way nothing is packed: two would take more
// memory than a worker may have.
func (p *press) store(ctx context.Context, packed packing.Packed, d *draft) error {
	if err := p.take(ctx); err != nil {
		return err
	}
	if !d.final { // reading is ahead, so that this is later than what it was told
		if err := p.reading.inTime(); err != nil {
			return err
		}
	}
	p.group.Go(func() error {
		defer func() { <-p.storing }()
		if err := p.reading.store(ctx, packed, d.made); err != nil {
			return fmt.Errorf("read %s: %w", d.table, err)
		}
		p.stored <- packed.Stored // there is room for both
		return nil
	})
	if len(packed.Stored) <= manifest.MaxObject/2 {
		return nil
	}
	err := p.take(ctx)
	if err == nil {
		<-p.storing
	}
	return err
}

func (p *press) take(ctx context.Context) error {
	select {
	case p.storing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
