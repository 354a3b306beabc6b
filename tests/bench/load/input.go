package load

import (
	"fmt"
	"syscall"

	"tidemark/shared/kafkaevent"
	"tidemark/shared/position"
	"tidemark/shared/record"
)

// blob is a row of texts outside of Go's heap, so that the collector has no more to keep than in a process that holds
// one batch.
type blob struct {
	memory []byte
	ends   []int
}

func newBlob(capacity, texts int) (*blob, error) {
	const readWrite, own = syscall.PROT_READ | syscall.PROT_WRITE, syscall.MAP_ANON | syscall.MAP_PRIVATE
	memory, err := syscall.Mmap(-1, 0, capacity, readWrite, own)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes of memory: %w", capacity, err)
	}
	return &blob{memory: memory, ends: append(make([]int, 0, texts+1), 0)}, nil
}

// add takes the text that build appends to its argument.
func (b *blob) add(build func(room []byte) []byte) error {
	used := b.ends[len(b.ends)-1]
	until := used + len(build(b.memory[used:used]))
	if until > len(b.memory) {
		return fmt.Errorf("%d bytes of input do not fit", until)
	}
	b.ends = append(b.ends, until)
	return nil
}

// texts are the bytes of texts [from, until).
func (b *blob) texts(from, until int) []byte {
	return b.memory[b.ends[from]:b.ends[until]:b.ends[until]]
}

func (b *blob) free() error { return syscall.Munmap(b.memory) }

// The most bytes that a record takes as it is and in an event.
const (
	MaxRecordBytes = 900
	MaxEventBytes  = 300 + MaxRecordBytes*4/3 // a record in an event
	maxLineBytes   = 200
)

// Input is a stream in memory, beside as many new rows as it has records.
type Input struct {
	partition position.Partition
	records   *blob // keys and values in turn; an empty value is a tombstone
	lines     *blob
	events    *blob // nil unless asked for

	Counts Counts
	Want   Totals // behind the stream
	Copied Totals // behind the lines
}

// Totals tell a table's content as far as a round is checked; that each value is right is the tests' to show.
type Totals struct{ Rows, IDs, Ns int64 }

func (t *Totals) add(row Row) {
	t.Rows++
	t.IDs += row.ID
	t.Ns += int64(row.N)
}

// NewInput builds an input. The caller frees it.
func NewInput(workload Workload, seed uint64, records int) (*Input, error) {
	in := &Input{partition: position.Partition{Topic: Topic}}
	var err error
	if in.records, err = newBlob(records*MaxRecordBytes, 2*records); err != nil {
		return nil, err
	}
	if in.lines, err = newBlob(records*maxLineBytes, records); err != nil {
		return nil, err
	}
	source := New(workload, seed, KeysFor(records))
	for range records {
		var next Record
		if err := in.records.add(func(room []byte) []byte { next = source.Next(room); return next.Key }); err != nil {
			return nil, err
		}
		// The value stands behind the key already, where this builds it.
		if err := in.records.add(func(room []byte) []byte { return append(room, next.Value...) }); err != nil {
			return nil, err
		}
	}
	for row := range source.Rows() {
		in.Want.add(row)
	}
	for row := range NewRows(seed, records) {
		in.Copied.add(row)
		if err := in.lines.add(row.AppendCopy); err != nil {
			return nil, err
		}
	}
	in.Counts = source.Counts()
	return in, nil
}

// EncodeEvents makes an event of each batch.
func (in *Input) EncodeEvents(batch int) (err error) {
	n := in.Size()
	if in.events, err = newBlob(n*MaxEventBytes+(n/batch+1)*MaxEventBytes, n/batch+1); err != nil {
		return err
	}
	var buffer []record.Record
	for from := 0; from < n; from += batch {
		buffer = in.Fill(buffer[:0], from, min(from+batch, n))
		event, err := kafkaevent.Encode(EventSource(), in.Batch(buffer))
		if err != nil {
			return err
		}
		if err := in.events.add(func(room []byte) []byte { return append(room, event...) }); err != nil {
			return err
		}
	}
	return nil
}

// EventSource is where every event says that it comes from.
func EventSource() kafkaevent.Source {
	return kafkaevent.Source{Kind: kafkaevent.SelfManaged, BootstrapServers: "broker:9092"}
}

// Size is the number of records.
func (in *Input) Size() int { return len(in.lines.ends) - 1 }

// Fill appends records [from, until) to records, whose memory may be used again for each batch.
func (in *Input) Fill(records []record.Record, from, until int) []record.Record {
	for i := from; i < until; i++ {
		r := record.Record{Offset: position.Offset(i), Time: RecordTime(), Value: record.Null()}
		r.Key = record.Present(in.records.texts(2*i, 2*i+1))
		if value := in.records.texts(2*i+1, 2*i+2); len(value) > 0 {
			r.Value = record.Present(value)
		}
		records = append(records, r)
	}
	return records
}

// Lines are rows [from, until) as COPY's text.
func (in *Input) Lines(from, until int) []byte { return in.lines.texts(from, until) }

// Event is the event of the batch of that number.
func (in *Input) Event(number int) []byte { return in.events.texts(number, number+1) }

// Batch makes a batch of records.
func (in *Input) Batch(records []record.Record) record.Batch {
	return record.Batch{{Partition: in.partition, Records: records}}
}

// Free gives the memory back; nothing that the input handed out may be used any more.
func (in *Input) Free() error {
	for _, b := range []*blob{in.records, in.lines, in.events} {
		if b == nil {
			continue
		}
		if err := b.free(); err != nil {
			return fmt.Errorf("unmap the input: %w", err)
		}
	}
	return nil
}
