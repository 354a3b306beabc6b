package chunk_test

import (
	"bytes"
	"slices"

	"tidemark/shared/archive/packing"
	"tidemark/shared/backup/chunk"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
)

// failer is what *testing.T, *testing.B and *rapid.T have in common.
type failer interface {
	Helper()
	Fatalf(form string, args ...any)
	Fatal(args ...any)
}

func newPacker(t failer) *packing.Packer {
	t.Helper()
	packer, err := packing.NewPacker(packing.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return packer
}

// box is a packer that compresses nothing and takes no more than an object of its limit.
type box struct {
	limit   int
	content []byte
}

func (b *box) Begin() error { b.content = b.content[:0]; return nil }

func (b *box) Fits(n int) bool { return len(b.content)+n <= b.limit }

func (b *box) Write(plain []byte) (int, error) {
	if b.content = append(b.content, plain...); len(b.content) > b.limit {
		return 0, fault.Wrap(fault.Misconfigured, packing.ErrTooLarge)
	}
	return len(plain), nil
}

func (b *box) Finish() (packing.Packed, error) {
	return packing.Packed{
		Stored: b.content, Object: manifest.Object{Plain: manifest.DigestOf(b.content), PlainSize: int64(len(b.content))},
	}, nil
}

// piece is a chunk as it was given.
type piece struct {
	plain []byte
	rows  int64
}

// collect keeps what a cutter gives.
func collect(into *[]piece) func(packing.Packed, int64) error {
	return func(packed packing.Packed, rows int64) error {
		*into = append(*into, piece{slices.Clone(packed.Stored), rows})
		return nil
	}
}

// cut gives the chunks of a stream that comes in parts of these sizes, again and again.
func cut(stream []byte, limit, wanted int, sizes ...int) (pieces []piece, err error) {
	cutter := chunk.New(&box{limit: limit}, wanted, collect(&pieces))
	for i := 0; len(stream) > 0; i++ {
		n := min(max(sizes[i%len(sizes)], 1), len(stream))
		part := bytes.Clone(stream[:n]) // nobody may keep it
		if _, err := cutter.Write(part); err != nil {
			return pieces, err
		}
		clear(part)
		stream = stream[n:]
	}
	return pieces, cutter.Close()
}
