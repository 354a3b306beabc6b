package chunk_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/shared/archive/packing"
	"tidemark/shared/backup/backuptest"
	"tidemark/shared/backup/chunk"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
)

const noLimit = 1 << 40

// fields draws a row: NULLs, empty values, no field at all, now and then a value larger than the cutter holds back.
func fields(t *rapid.T) [][]byte {
	row := make([][]byte, rapid.IntRange(0, 5).Draw(t, "fields"))
	for i := range row {
		switch kind := rapid.IntRange(0, 1000).Draw(t, "kind"); {
		case kind < 200:
		case kind == 1000:
			row[i] = bytes.Repeat([]byte{0xff}, rapid.IntRange(200<<10, 400<<10).Draw(t, "large"))
		default:
			row[i] = rapid.SliceOfN(rapid.Byte(), 0, 60).Draw(t, "value")
			row[i] = append([]byte{}, row[i]...)
		}
	}
	return row
}

func TestCutterKeepsEveryRowHoweverTheStreamComes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(rapid.Custom(fields), 0, 40).Draw(t, "rows")
		wanted := rapid.SampledFrom([]int{1, 50, 300, 300 << 10, 1 << 20}).Draw(t, "wanted")
		limit := rapid.SampledFrom([]int{2 << 20, 3 << 20, noLimit}).Draw(t, "limit")
		sizes := rapid.SliceOfN(rapid.SampledFrom([]int{1, 2, 3, 18, 19, 20, 100, 65536, 1 << 20}), 1, 6).Draw(t, "sizes")
		pieces, err := cut(backuptest.CopyOf(rows...), limit, wanted, sizes...)
		if err != nil {
			t.Fatal(err)
		}
		checkPieces(t, pieces, rows, wanted, limit)
	})
}

func checkPieces(t failer, pieces []piece, rows [][][]byte, wanted, limit int) {
	t.Helper()
	var got [][][]byte
	for i, p := range pieces {
		in, err := backuptest.ReadCopy(p.plain)
		if err != nil {
			t.Fatalf("chunk %d is no COPY of its own: %v", i, err)
		}
		if int64(len(in)) != p.rows || len(in) == 0 && len(pieces) > 1 {
			t.Fatalf("chunk %d of %d: got %d rows, it was said to have %d", i, len(pieces), len(in), p.rows)
		}
		if len(p.plain) > limit {
			t.Fatalf("chunk %d: got %d bytes, want %d at most", i, len(p.plain), limit)
		}
		sizes := rowSizes(in)
		if without := sum(sizes[:max(len(sizes)-1, 0)]); len(sizes) > 1 && without >= wanted {
			t.Fatalf("chunk %d: got %d bytes before its last row, want it cut at %d", i, without, wanted)
		}
		if i < len(pieces)-1 && sum(sizes) < wanted && len(p.plain)+len(backuptest.AppendRow(nil, rows[len(got)+len(in)]...)) <= limit {
			t.Fatalf("chunk %d: got %d bytes and another row had its place in it, want %d", i, sum(sizes), wanted)
		}
		got = append(got, in...)
	}
	same := func(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }
	if !slices.EqualFunc(rows, got, func(a, b [][]byte) bool { return slices.EqualFunc(a, b, same) }) {
		t.Fatalf("rows (-want +got):\n%s", cmp.Diff(rows, got))
	}
}

func rowSizes(rows [][][]byte) (sizes []int) {
	for _, row := range rows {
		sizes = append(sizes, len(backuptest.AppendRow(nil, row...)))
	}
	return sizes
}

func sum(all []int) (total int) {
	for _, n := range all {
		total += n
	}
	return total
}

func TestCutterTakesAStreamByteByByte(t *testing.T) {
	t.Parallel()
	rows := [][][]byte{{}, {nil}, {[]byte("a"), nil, {}}, {bytes.Repeat([]byte("b"), 3000)}, {{0xff, 0xff}}}
	pieces, err := cut(backuptest.CopyOf(rows...), noLimit, 10, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(pieces) != 3 {
		t.Errorf("got %d chunks, want 3", len(pieces))
	}
	checkPieces(t, pieces, rows, 10, noLimit)
}

func TestCutterGivesAnEmptyTableOneChunk(t *testing.T) {
	t.Parallel()
	pieces, err := cut(backuptest.CopyOf(), noLimit, chunk.Wanted, 5)
	if err != nil || len(pieces) != 1 || pieces[0].rows != 0 || string(pieces[0].plain) != string(backuptest.CopyOf()) {
		t.Errorf("got %+v, %v, want one COPY without rows", pieces, err)
	}
}

// A row that does not compress and does not fit beside others gets a chunk of its own; one that fits nowhere is refused.
func TestCutterWithRowsAsLargeAsAnObject(t *testing.T) {
	t.Parallel()
	large := noise(manifest.MaxObject - 1<<20)
	for _, c := range []struct {
		name string
		rows [][][]byte
		want error
		cuts []int64
	}{
		{"Fits", [][][]byte{{[]byte("a")}, {large}, {[]byte("b")}}, nil, []int64{2, 1}},
		{"BesideNoOther", [][][]byte{{large[:10<<20]}, {large}, {[]byte("b")}}, nil, []int64{1, 1, 1}},
		{"Compresses", [][][]byte{{make([]byte, 100<<20)}, {[]byte("b")}}, nil, []int64{1, 1}},
		{"TooLarge", [][][]byte{{[]byte("a")}, {append(large[:len(large):len(large)], large[:2<<20]...)}}, packing.ErrTooLarge, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			into := newObject(t)
			cutter := chunk.New(into, chunk.Wanted)
			_, err := io.Copy(cutter, bytes.NewReader(backuptest.CopyOf(c.rows...)))
			closed := cutter.Close()
			if c.want != nil {
				if !errors.Is(err, c.want) || !errors.Is(closed, c.want) || !fault.Is(err, fault.Misconfigured) {
					t.Errorf("got %v, then %v, want %v", err, closed, c.want)
				}
				return
			}
			if err := errors.Join(err, closed); err != nil || !slices.Equal(into.cuts, c.cuts) {
				t.Errorf("got chunks of %d rows, %v, want %d", into.cuts, err, c.cuts)
			}
		})
	}
}

func noise(size int) []byte {
	content := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{3}).Read(content) // never fails
	return content
}

// These two are not parallel, so that nobody else allocates meanwhile.
func TestCutterAllocatesNothingForARow(t *testing.T) {
	row := backuptest.AppendRow(nil, []byte("12345678"), nil, bytes.Repeat([]byte("x"), 200))
	cutter := chunk.New(&box{limit: noLimit, content: make([]byte, 0, 8<<20)}, noLimit)
	for _, part := range [][]byte{[]byte(backuptest.CopyHeader), bytes.Repeat(row, 4000)} {
		if _, err := cutter.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	got := testing.AllocsPerRun(10_000, func() {
		if _, err := cutter.Write(row); err != nil {
			t.Fatal(err)
		}
	})
	if got != 0 {
		t.Errorf("got %v allocations for a row, want none", got)
	}
}

func TestCutterTakesMemoryForALongRowInProportion(t *testing.T) {
	var taken [2]uint64
	for i, size := range []int{32 << 20, 64 << 20} {
		stream := backuptest.CopyOf([][]byte{make([]byte, size)})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		cutter := chunk.New(discard{}, chunk.Wanted)
		for part := range slices.Chunk(stream, 64<<10) {
			if _, err := cutter.Write(part); err != nil {
				t.Fatal(err)
			}
		}
		if err := cutter.Close(); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		taken[i] = after.TotalAlloc - before.TotalAlloc
	}
	if taken[1] > 3*taken[0] || taken[1] > 8*64<<20 {
		t.Errorf("got %d MiB for 32 MiB and %d MiB for 64 MiB, want twice as much", taken[0]>>20, taken[1]>>20)
	}
}

// discard is a sink that keeps nothing.
type discard struct{}

func (discard) Begin() error                    { return nil }
func (discard) Write(plain []byte) (int, error) { return len(plain), nil }
func (discard) Fits(int) bool                   { return true }
func (discard) Finish(int64) error              { return nil }
