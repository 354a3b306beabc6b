package chunk_test

import (
	"bytes"
	"slices"

	"tidemark/shared/archive/packing"
	"tidemark/shared/backup/chunk"
	"tidemark/shared/fault"
)

// failer is what *testing.T, *testing.B and *rapid.T have in common.
type failer interface {
	Helper()
	Fatalf(form string, args ...any)
	Fatal(args ...any)
}

// object is a sink that packs each chunk as an object.
type object struct {
	*packing.Packer

	size int64
	cuts []int64 // rows of each
}

func newObject(t failer) *object {
	t.Helper()
	packer, err := packing.NewPacker(packing.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &object{Packer: packer}
}

func (o *object) Begin() error { o.size = 0; return o.Packer.Begin() }

func (o *object) Fits(n int) bool { return o.Packer.Fits(o.size + int64(n)) }

func (o *object) Write(plain []byte) (int, error) {
	o.size += int64(len(plain))
	return o.Packer.Write(plain)
}

func (o *object) Finish(rows int64) error {
	o.cuts = append(o.cuts, rows)
	packed, err := o.Packer.Finish("")
	o.Reclaim(packed.Stored)
	return err
}

// box is a sink that takes no more than an object of its limit.
type box struct {
	limit   int
	content []byte
	pieces  []piece
}

func (b *box) Begin() error { b.content = b.content[:0]; return nil }

func (b *box) Fits(n int) bool { return len(b.content)+n <= b.limit }

func (b *box) Write(plain []byte) (int, error) {
	if b.content = append(b.content, plain...); len(b.content) > b.limit {
		return 0, fault.Wrap(fault.Misconfigured, packing.ErrTooLarge)
	}
	return len(plain), nil
}

func (b *box) Finish(rows int64) error {
	b.pieces = append(b.pieces, piece{slices.Clone(b.content), rows})
	return nil
}

// piece is a chunk as it was given.
type piece struct {
	plain []byte
	rows  int64
}

// cut gives the chunks of a stream that comes in parts of these sizes, again and again.
func cut(stream []byte, limit, wanted int, sizes ...int) (pieces []piece, err error) {
	into := &box{limit: limit}
	cutter := chunk.New(into, wanted)
	for i := 0; len(stream) > 0; i++ {
		n := min(max(sizes[i%len(sizes)], 1), len(stream))
		part := bytes.Clone(stream[:n]) // nobody may keep it
		if _, err := cutter.Write(part); err != nil {
			return into.pieces, err
		}
		clear(part)
		stream = stream[n:]
	}
	err = cutter.Close()
	return into.pieces, err
}
