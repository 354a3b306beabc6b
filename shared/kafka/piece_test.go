package kafka

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/shared/fault"
	"tidemark/shared/position"
)

// A batch as brokers store it.
type stored struct {
	first       int64
	lastDelta   int32 // of the offset that the batch had last, whatever is left of it
	epoch       int32
	claims      int32   // records that the head says there are
	kept        []int32 // offsets of the records that are left
	transaction int64   // the producer's id, 0 outside of transactions
	marker      []byte  // of the end of a transaction: its key
}

var (
	abort  = []byte{0, 0, 0, 0}
	commit = []byte{0, 0, 0, 1}
)

func (s stored) bytes() []byte {
	b := kmsg.RecordBatch{
		FirstOffset: s.first, PartitionLeaderEpoch: s.epoch, Magic: 2, LastOffsetDelta: s.lastDelta, NumRecords: s.claims,
		ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1,
	}
	if s.transaction != 0 {
		b.ProducerID, b.Attributes = s.transaction, 1<<4
	}
	if s.marker != nil {
		b.Attributes |= 1 << 5
		s.kept = []int32{0}
	}
	for _, delta := range s.kept {
		r := kmsg.Record{OffsetDelta: delta, Key: s.marker, Value: []byte{'v'}}
		body := r.AppendTo(nil)[1:] // without the length, which is 0 and takes a byte
		b.Records = append(binary.AppendVarint(b.Records, int64(len(body))), body...)
	}
	raw := b.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[8:], uint32(len(raw)-12)) //nolint:gosec // short
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
	return raw
}

func whole(first int64, count int32) stored {
	s := stored{first: first, lastDelta: count - 1, epoch: 4, claims: count}
	for delta := range count {
		s.kept = append(s.kept, delta)
	}
	return s
}

func TestRead(t *testing.T) {
	t.Parallel()
	bytesOf := func(batches ...stored) (raw []byte) {
		for _, b := range batches {
			raw = append(raw, b.bytes()...)
		}
		return raw
	}
	in := func(b stored, producer int64) stored { b.transaction = producer; return b }
	ends := func(first, producer int64, marker []byte) stored {
		return stored{first: first, epoch: 4, claims: 1, transaction: producer, marker: marker}
	}
	for name, c := range map[string]struct {
		raw     []byte
		aborted map[int64]int64 // producer and where its transaction begins
		from    position.Offset
		want    []position.Offset
		next    position.Offset
		epoch   int32
	}{
		"NothingFromAnEmptyAnswer": {nil, nil, 5, nil, 5, 3},
		"WholeBatches":             {bytesOf(whole(5, 2), whole(7, 1)), nil, 5, []position.Offset{5, 6, 7}, 8, 4},
		"FromWithinABatch":         {bytesOf(whole(3, 4)), nil, 5, []position.Offset{5, 6}, 7, 4},
		"WhatStandsBeforeABatchThatIsCutOff": {
			append(bytesOf(whole(5, 2)), whole(7, 1).bytes()[:40]...), nil, 5, []position.Offset{5, 6}, 7, 4,
		},
		"NothingOfABatchThatIsCutOff": {whole(5, 2).bytes()[:60], nil, 5, nil, 5, 3},
		"ToTheCompactedEndOfABatch": {
			bytesOf(stored{first: 5, lastDelta: 9, epoch: 6, claims: 1, kept: []int32{1}}), nil, 5, []position.Offset{6}, 15, 6,
		},
		"ToTheEndOfABatchWithoutRecords": {bytesOf(stored{first: 5, lastDelta: 9, epoch: 6}), nil, 5, nil, 15, 6},
		"OverAJumpBetweenBatches":        {bytesOf(whole(9, 1)), nil, 5, []position.Offset{9}, 10, 4},
		"BehindAMarker":                  {bytesOf(in(whole(5, 1), 7), ends(6, 7, commit)), nil, 5, []position.Offset{5}, 7, 4},
		"BehindAMarkerAlone":             {bytesOf(ends(5, 7, commit)), nil, 5, nil, 6, 4},
		"BehindWhatWasAborted": {
			bytesOf(in(whole(5, 1), 7), in(whole(6, 1), 8), ends(7, 7, abort), ends(8, 8, commit), in(whole(9, 1), 7), ends(10, 7, commit)),
			map[int64]int64{7: 5},
			5,
			[]position.Offset{6, 9},
			11, 4,
		},
		"FromWithinWhatWasAborted": {
			bytesOf(in(whole(5, 2), 7), ends(7, 7, abort)), map[int64]int64{7: 2}, 6, nil, 8, 4,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := kmsg.NewFetchResponseTopicPartition()
			answer.RecordBatches = c.raw
			for producer, first := range c.aborted {
				answer.AbortedTransactions = append(answer.AbortedTransactions,
					kmsg.FetchResponseTopicPartitionAbortedTransaction{ProducerID: producer, FirstOffset: first})
			}
			at := &cursor{partition: position.Partition{Topic: "t"}, next: c.from, epoch: 3}
			got, err := at.read(&answer, kgo.DefaultDecompressor())
			if err != nil {
				t.Fatal(err)
			}
			var offsets []position.Offset
			for i := range got.records {
				offsets = append(offsets, got.records[i].Offset)
			}
			if diff := cmp.Diff(c.want, offsets); diff != "" || got.next != c.next || got.epoch != c.epoch {
				t.Errorf("got next %s of epoch %d, want %s of %d; records (-want +got):\n%s", got.next, got.epoch, c.next, c.epoch, diff)
			}
		})
	}
}

// TestReadRefuses: a batch that does not hold what it says is never taken for a shorter one.
func TestReadRefuses(t *testing.T) {
	t.Parallel()
	flipped := whole(5, 3).bytes()
	flipped[len(flipped)-1] ^= 1
	unknown := whole(5, 3).bytes()
	unknown[16] = 9
	fewer := whole(5, 3)
	fewer.claims = 4
	negative := whole(5, 3)
	negative.claims = -1
	none := stored{first: 5, lastDelta: 2, claims: 3}
	for name, raw := range map[string][]byte{
		"AFlippedBit": flipped, "AnUnknownVersion": unknown, "FewerRecordsThanItSays": fewer.bytes(),
		"ANegativeCount": negative.bytes(), "ACountWithoutRecords": none.bytes(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, before := range [][]byte{nil, whole(3, 2).bytes()} {
				answer := kmsg.NewFetchResponseTopicPartition()
				answer.RecordBatches = append(append(before, raw...), whole(8, 1).bytes()...)
				at := &cursor{partition: position.Partition{Topic: "t"}, next: 3}
				if got, err := at.read(&answer, kgo.DefaultDecompressor()); !fault.Is(err, fault.Corrupt) {
					t.Errorf("got %+v, %v of class %s, want corrupt", got, err, fault.ClassOf(err))
				}
			}
		})
	}
}

// FuzzRead feeds bytes that no broker should send: no panic, and a position that only grows.
func FuzzRead(f *testing.F) {
	f.Add(whole(5, 3).bytes(), int64(5))
	f.Add(stored{first: 5, lastDelta: 9}.bytes(), int64(0))
	f.Add(whole(5, 3).bytes()[:70], int64(6))
	f.Fuzz(func(t *testing.T, raw []byte, from int64) {
		answer := kmsg.NewFetchResponseTopicPartition()
		answer.RecordBatches = raw
		at := &cursor{partition: position.Partition{Topic: "t"}, next: position.Offset(max(0, from))}
		got, err := at.read(&answer, kgo.DefaultDecompressor())
		if err == nil && got.next < at.next {
			t.Errorf("moved from %s back to %s", at.next, got.next)
		}
		last := at.next - 1
		for i := range got.records {
			if offset := got.records[i].Offset; offset <= last || offset >= got.next {
				t.Errorf("record %s is behind %s, which was read before, or not before %s", offset, last, got.next)
			} else {
				last = offset
			}
		}
	})
}
