package recoveries

import (
	"context"
	"time"

	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/record"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/inspection"
	"tidemark/tests/bench/load"
	"tidemark/tests/bench/meter"
)

// memory is a log in memory: one partition with the first records of an input, or without an input nothing at all. It
// measures from the opening of a reader to its end.
type memory struct {
	input  *load.Input
	end    int
	server int // whose CPU is measured

	begun meter.Reading
	taken meter.Sample
	err   error
}

var _ recovery.Log = (*memory)(nil)

// ClusterID names the cluster.
func (*memory) ClusterID(context.Context) (string, error) { return "bench", nil }

// Topics describes topics.
func (*memory) Topics(_ context.Context, names []string) (map[string]inspection.Topic, error) {
	found := map[string]inspection.Topic{}
	for _, name := range names {
		found[name] = inspection.Topic{ID: "00000000-0000-4000-8000-000000000001", Partitions: 1, Deleted: true}
	}
	return found, nil
}

// Bounds gives where partitions begin and end.
func (m *memory) Bounds(_ context.Context, partitions []position.Partition) (map[position.Partition]inspection.Bounds, error) {
	bounds := map[position.Partition]inspection.Bounds{}
	for _, p := range partitions {
		bounds[p] = inspection.Bounds{Stable: position.Offset(m.end), End: position.Offset(m.end)}
	}
	return bounds, nil
}

// EpochEnd is the end: there is one epoch.
func (m *memory) EpochEnd(context.Context, position.Partition, int32) (position.Offset, error) {
	return position.Offset(m.end), nil
}

// OffsetAt is the end.
func (m *memory) OffsetAt(context.Context, position.Partition, time.Time) (position.Offset, error) {
	return position.Offset(m.end), nil
}

// Open begins to read, and to measure.
func (m *memory) Open(_ context.Context, from position.Cut) (_ recovery.Tail, err error) {
	t := &tail{log: m}
	for p, offset := range from {
		t.partition, t.next, t.from = p, int(offset), int(offset)
	}
	m.begun, err = meter.Begin(m.server)
	return t, err
}

// tail is a reader.
type tail struct {
	log        *memory
	partition  position.Partition
	from, next int
}

// answer is what a broker's answer holds at most, as package kafka asks for it.
const answer = 4 << 20

// Next gives what one answer holds, in memory of its own, as a reader of brokers does.
func (t *tail) Next(context.Context) (record.Batch, position.Cut, error) {
	const most = answer / load.MaxRecordBytes
	until := min(t.next+most, t.log.end)
	if t.next == until {
		return nil, nil, fault.New(fault.Bug, "the reader waits for what does not come")
	}
	records := t.log.input.Fill(make([]record.Record, 0, until-t.next), t.next, until)
	t.next = until
	return record.Batch{{Partition: t.partition, Records: records}}, position.Cut{t.partition: position.Offset(until)}, nil
}

// Close ends the measurement.
func (t *tail) Close() { t.log.taken, t.log.err = t.log.begun.End(t.next - t.from) }
