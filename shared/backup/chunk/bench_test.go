package chunk_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"tidemark/shared/backup/backuptest"
	"tidemark/shared/backup/chunk"
)

// rowsOfATable are the rows of a table of some 250 bytes each, and where each ends.
func rowsOfATable(size int) (stream []byte, rows [][]byte) {
	stream = []byte(backuptest.CopyHeader)
	random := noise(1 << 20)
	for id := uint64(0); len(stream) < size; id++ {
		began := len(stream)
		at := int(id*16) % (len(random) - 16)
		stream = backuptest.AppendRow(stream, binary.BigEndian.AppendUint64(nil, id), nil, fmt.Appendf(nil, "%x", random[at:at+16]),
			[]byte("in transit to the warehouse"), fmt.Appendf(nil,
				"\x01{\"state\": \"shipped\", \"items\": %d, \"total\": %d.%02d, \"customer\": {\"id\": %d, \"tier\": \"new\"}}",
				random[at]%20, random[at+1], random[at+2]%100, id*7%100_000))
		rows = append(rows, stream[began:])
	}
	return stream, rows
}

func BenchmarkCutter(b *testing.B) {
	const size = 64 << 20
	stream, rows := rowsOfATable(size)
	cutRows := func(b *testing.B, sink chunk.Sink) {
		b.Helper()
		b.SetBytes(int64(len(stream)))
		for b.Loop() {
			cutter := chunk.New(sink, chunk.Wanted)
			write(b, cutter, []byte(backuptest.CopyHeader))
			for _, row := range rows {
				write(b, cutter, row)
			}
			write(b, cutter, []byte(backuptest.CopyTrailer))
			if err := cutter.Close(); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("alone", func(b *testing.B) { cutRows(b, discard{}) })
	b.Run("with packer", func(b *testing.B) { cutRows(b, newObject(b)) })
	b.Run("packer alone", func(b *testing.B) {
		packer := newObject(b).Packer
		b.SetBytes(int64(len(stream)))
		for b.Loop() {
			for part := range slices.Chunk(stream, chunk.Wanted) {
				packed, err := packer.Pack(part)
				if err != nil {
					b.Fatal(err)
				}
				packer.Reclaim(packed.Stored)
			}
		}
	})
}

func write(b *testing.B, cutter *chunk.Cutter, part []byte) {
	b.Helper()
	if _, err := cutter.Write(part); err != nil {
		b.Fatal(err)
	}
}

// A row that comes in many parts must cost as much a byte, however long it is.
func BenchmarkLongRow(b *testing.B) {
	for _, size := range []int{4 << 20, 32 << 20, 256 << 20} {
		stream := backuptest.CopyOf([][]byte{bytes.Repeat([]byte("x"), size)})
		b.Run(fmt.Sprintf("%dMiB", size>>20), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				cutter := chunk.New(discard{}, chunk.Wanted)
				for part := range slices.Chunk(stream, 64<<10) {
					write(b, cutter, part)
				}
				if err := cutter.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
