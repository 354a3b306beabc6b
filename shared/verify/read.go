package verify

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/verify/census"
)

// work checks objects until there are none left.
func (c *check) work(ctx context.Context, queue <-chan *object) error {
	var unpacker Unpacker
	if c.options.Level == Hash {
		var err error
		if unpacker, err = c.options.NewUnpacker(); err != nil {
			return err
		}
	}
	buffer := make([]byte, 64<<10)
	for o := range queue {
		if err := ctx.Err(); err != nil {
			return err
		}
		if o.read {
			c.read(ctx, o, unpacker, buffer)
		} else {
			c.find(ctx, o)
		}
		c.mu.Lock()
		c.done++
		done := c.done
		c.mu.Unlock()
		c.options.OnProgress(done, len(c.objects))
	}
	return nil
}

// about is a problem of an object, with the first chunk that needs it.
func (c *check) about(o *object) Problem {
	p := Problem{Key: c.subject.ObjectKey(o.Digest)}
	if len(o.uses) > 0 {
		p.Table, p.Chunk = o.uses[0].table, o.uses[0].chunk
	}
	return p
}

// find asks every place for an object.
func (c *check) find(ctx context.Context, o *object) {
	for _, place := range c.places {
		err := place.given()
		if err == nil {
			err = stat(ctx, place, c.subject.ObjectKey(o.Digest), o.Object)
		}
		if !c.judge(place, c.about(o), err) {
			c.count(func(out *Outcome) { out.Found++ })
		}
	}
}

func stat(ctx context.Context, place *site, key string, o manifest.Object) error {
	info, err := place.Stat(ctx, key)
	switch {
	case err != nil:
		return err
	case info.Size != o.Size:
		return fault.New(fault.Corrupt, "it has %d bytes, want %d", info.Size, o.Size)
	case info.Digest != "" && info.Digest != o.Digest:
		return fault.New(fault.Corrupt, "the store has it with digest %s", info.Digest)
	}
	return nil
}

// read reads an object in every place. It is unpacked once: two that have the same stored digest are the same bytes.
func (c *check) read(ctx context.Context, o *object, unpacker Unpacker, buffer []byte) {
	unpacked := false
	for _, place := range c.places {
		err := place.given()
		var stored []byte
		if err == nil {
			stored, err = get(ctx, place, c.subject.ObjectKey(o.Digest), o.Object)
		}
		if c.judge(place, c.about(o), err) {
			continue
		}
		c.count(func(out *Outcome) {
			out.Found, out.Read, out.Bytes = out.Found+1, out.Read+1, out.Bytes+int64(len(stored))
		})
		if !unpacked {
			unpacked = true
			c.unpack(o, stored, unpacker, buffer)
		}
	}
	if !unpacked {
		c.miss(o)
	}
}

func get(ctx context.Context, place *site, key string, o manifest.Object) ([]byte, error) {
	stored, err := place.Get(ctx, key, o.Size)
	switch sum := sha256.Sum256(stored); {
	case err != nil:
		return nil, err
	case int64(len(stored)) != o.Size:
		return nil, fault.New(fault.Corrupt, "it has %d bytes, want %d", len(stored), o.Size)
	case manifest.SumDigest(sum) != o.Digest:
		return nil, fault.New(fault.Corrupt, "its bytes have digest %s", manifest.SumDigest(sum))
	}
	return stored, nil
}

// unpack checks what an object holds: its plain bytes, and the rows of every chunk that it stands in.
func (c *check) unpack(o *object, stored []byte, unpacker Unpacker, buffer []byte) {
	tallies, err := plain(o, stored, unpacker, buffer)
	if err != nil {
		c.miss(o)
		p := c.about(o)
		if fault.Is(err, fault.Corrupt) {
			p.What = err.Error()
			c.problem(p)
		} else {
			c.unread(fmt.Errorf("unpack %s: %w", p.Key, err))
		}
		return
	}
	for _, u := range o.uses {
		digest, err := tallies[shapeOf(u.columns)].Digest()
		switch {
		case err != nil:
			c.problem(Problem{Key: c.subject.ObjectKey(o.Digest), Table: u.table, Chunk: u.chunk, What: err.Error()})
		case digest.Rows != u.rows:
			c.problem(Problem{
				Key: c.subject.ObjectKey(o.Digest), Table: u.table, Chunk: u.chunk, What: fmt.Sprintf("it has %d rows, want %d", digest.Rows, u.rows),
			})
		default:
			c.count(func(out *Outcome) {
				out.Rows += digest.Rows
				c.digests[u.table-1] = c.digests[u.table-1].Plus(digest)
			})
			continue
		}
		c.miss(&object{uses: []use{u}})
	}
}

// shape is what a tally knows of columns: how many, and which are of types that a user defined.
type shape string

func shapeOf(columns []body.Column) shape {
	form := make([]byte, len(columns))
	for i, column := range columns {
		if census.HasNumbers(column.OID) {
			form[i] = 1
		}
	}
	return shape(form)
}

// plain unpacks an object, checks its plain bytes and counts its rows: once for each shape of columns that it stands for.
func plain(o *object, stored []byte, unpacker Unpacker, buffer []byte) (map[shape]*census.Tally, error) {
	content, err := unpacker.Open(stored, o.Object)
	if err != nil {
		return nil, err
	}
	tallies, sum := map[shape]*census.Tally{}, sha256.New()
	for _, u := range o.uses {
		if of := shapeOf(u.columns); tallies[of] == nil {
			tallies[of] = census.NewTally(u.columns)
		}
	}
	size := int64(0)
	for {
		n, err := content.Read(buffer)
		size += int64(n)
		_, _ = sum.Write(buffer[:n])
		for _, t := range tallies {
			_, _ = t.Write(buffer[:n]) // its Digest says so again
		}
		switch {
		case errors.Is(err, io.EOF):
			if got := manifest.SumDigest([sha256.Size]byte(sum.Sum(nil))); size != o.PlainSize || got != o.Plain {
				return nil, fault.New(fault.Corrupt, "it holds %d plain bytes of digest %s, want %d of %s", size, got, o.PlainSize, o.Plain)
			}
			return tallies, nil
		case err != nil:
			return nil, err
		}
	}
}
