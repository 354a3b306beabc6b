package kafka

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/record"
)

// piece is what one answer holds of a partition.
type piece struct {
	records []record.Record // committed ones
	next    position.Offset // behind the last whole batch
	epoch   int32           // of that batch's leader
}

// batch is what a batch's head says. Kafka keeps the last offset of a batch when compaction takes its last records, so
// it is the head that says how far the batch reaches; a batch of which nothing is left but the head reaches as far.
type batch struct {
	last  position.Offset
	epoch int32
	count int // of records
}

// The layout of a batch of version 2. Older ones have no epoch and no count.
const (
	atLength    = 8
	atEpoch     = 12
	atVersion   = 16
	atLastDelta = 23
	atCount     = 57
	headBytes   = 61

	lengthOverhead = 12 // what the length leaves out
	currentVersion = 2
	noEpoch        = -1
)

// batches reads the heads of the whole batches in an answer. Brokers cut the last one off where the answer is full.
func batches(raw []byte) []batch {
	var heads []batch
	for len(raw) > atVersion {
		length := int64(int32(binary.BigEndian.Uint32(raw[atLength:]))) + lengthOverhead //nolint:gosec // signed on the wire
		if length <= atVersion || length > int64(len(raw)) {
			return heads
		}
		head := batch{last: position.Offset(binary.BigEndian.Uint64(raw)), epoch: noEpoch} //nolint:gosec // signed on the wire
		if raw[atVersion] == currentVersion && length >= headBytes {
			head.last += position.Offset(binary.BigEndian.Uint32(raw[atLastDelta:]))
			head.epoch = int32(binary.BigEndian.Uint32(raw[atEpoch:]))      //nolint:gosec // signed on the wire
			head.count = int(int32(binary.BigEndian.Uint32(raw[atCount:]))) //nolint:gosec // signed on the wire
		}
		heads = append(heads, head)
		raw = raw[length:]
	}
	return heads
}

// read takes an answer apart, from a position on. What it does not hold of the partition it does not claim to have read.
//
// Errors: fault.Corrupt for batches that do not check, or hold fewer records than they say: the client would go on
// behind those.
func (c *cursor) read(answer *kmsg.FetchResponseTopicPartition, decompressor kgo.Decompressor) (piece, error) {
	heads := batches(answer.RecordBatches)
	got := piece{next: c.next, epoch: c.epoch}
	if len(heads) == 0 {
		return got, nil
	}
	var decoded []int // per batch
	parsed, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
		Offset: int64(c.next), IsolationLevel: kgo.ReadCommitted(), Topic: c.partition.Topic, Partition: c.partition.Number,
	}, answer, decompressor, func(m kgo.FetchBatchMetrics) { decoded = append(decoded, m.NumRecords) })
	if parsed.Err != nil {
		return piece{}, fault.New(fault.Corrupt, "read %s at %s: %w", c.partition, c.next, parsed.Err)
	}
	for i, n := range decoded {
		if i < len(heads) && heads[i].last >= c.next && n < heads[i].count {
			return piece{}, fault.New(fault.Corrupt, "read %s: the batch that ends at %s holds %d records and %d can be read",
				c.partition, heads[i].last, heads[i].count, n)
		}
	}
	got.next = position.Offset(next)
	for _, head := range heads {
		if head.last.Before(got.next) {
			got.epoch = head.epoch
		}
	}
	got.records = make([]record.Record, len(parsed.Records))
	for i, r := range parsed.Records {
		got.records[i] = Convert(r)
	}
	return got, nil
}
