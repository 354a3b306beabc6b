package packing_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"

	"tidemark/shared/archive/packing"
	"tidemark/shared/manifest"
)

// rowsLikeCopy are size bytes of a table as COPY writes it in its binary form, some 250 bytes a row: a key, a time, a
// number, a digest that hardly compresses, a text of three words and a document.
func rowsLikeCopy(size int) []byte {
	words := []string{"shipped", "pending", "returned", "in transit", "customer", "warehouse", "north", "invoice", "new"}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a table that is the same in each run, no secret
	content := make([]byte, 0, size+1024)
	field := func(value []byte) {
		content = append(content, 0, 0, 0, byte(len(value))) //nolint:gosec // all are short
		content = append(content, value...)
	}
	for id := uint64(1); len(content) < size; id++ {
		content = append(content, 0, 6)
		field(binary.BigEndian.AppendUint64(nil, id))
		field(binary.BigEndian.AppendUint64(nil, 700_000_000_000_000+id*1000+random.Uint64N(1000)))
		field(binary.BigEndian.AppendUint32(nil, random.Uint32N(100_000)))
		sum := sha256.Sum256(binary.BigEndian.AppendUint64(nil, id))
		field([]byte(hex.EncodeToString(sum[:16])))
		word := func() string { return words[random.IntN(len(words))] }
		field([]byte(word() + " " + word() + " " + word()))
		field(fmt.Appendf(nil,
			"\x01{\"state\": %q, \"items\": %d, \"total\": %d.%02d, \"customer\": {\"id\": %d, \"tier\": %q}}",
			word(), random.IntN(20), random.IntN(5000), random.IntN(100), random.IntN(1_000_000), word()))
	}
	return content[:size]
}

const benchmarked = 32 << 20

func BenchmarkPack(b *testing.B) {
	plain := rowsLikeCopy(benchmarked)
	b.Run("digest", func(b *testing.B) {
		b.SetBytes(benchmarked)
		for b.Loop() {
			runtime.KeepAlive(manifest.DigestOf(plain))
		}
	})
	recipients := newKey(b).recipients
	for _, c := range []struct {
		name    string
		options packing.Options
	}{
		{"level=1", packing.Options{Level: 1}},
		{"level=3", packing.Options{Level: 3}},
		{"level=7", packing.Options{Level: 7}},
		{"level=1,encrypted", packing.Options{Level: 1, Recipients: recipients}},
	} {
		b.Run(c.name, func(b *testing.B) {
			packer := newPacker(b, c.options)
			b.SetBytes(benchmarked)
			for b.Loop() {
				packed, err := packer.Pack(plain)
				if err != nil {
					b.Fatal(err)
				}
				packer.Reclaim(packed.Stored)
				b.ReportMetric(float64(packed.Object.PlainSize)/float64(packed.Object.Size), "times-smaller")
			}
		})
	}
}

func BenchmarkUnpack(b *testing.B) {
	packed := pack(b, packing.Options{}, rowsLikeCopy(benchmarked), "")
	unpacker := newUnpacker(b)
	b.Run("whole", func(b *testing.B) {
		b.SetBytes(benchmarked)
		for b.Loop() {
			if _, err := unpacker.Unpack(packed.Stored, packed.Object, benchmarked); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("stream", func(b *testing.B) {
		b.SetBytes(benchmarked)
		for b.Loop() {
			content, err := unpacker.Open(packed.Stored, packed.Object)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, content); err != nil {
				b.Fatal(err)
			}
		}
	})
}
