// Package record owns what Tidemark knows of one Kafka record before anybody looks inside it: its position, time, key,
// value and headers, and the batch that an event source hands over.
//
// It keeps null and empty apart, because a tombstone and a zero-length value are different facts, and it keeps a record
// that could not be read (Record.Malformed) in its place instead of spoiling its neighbours. It does no I/O and copies no
// bytes: data is shared with whoever built the record and must not be changed.
package record

import (
	"slices"
	"time"

	"tidemark/shared/position"
)

// Data is a key or a value. The zero value is missing.
type Data struct {
	bytes []byte
	state dataState
}

type dataState uint8

const (
	stateMissing dataState = iota
	stateNull
	statePresent
)

// Missing is a key or value that the event did not carry at all. It means what Null means, and prints differently.
func Missing() Data { return Data{} }

// Null is a key or value that the event carried as null.
func Null() Data { return Data{state: stateNull} }

// Present is a key or value of len(bytes) bytes; nil and empty slices are an empty value, never null.
func Present(bytes []byte) Data { return Data{bytes: bytes, state: statePresent} }

// IsNull says whether there is no key or value: a value that is null is a tombstone.
func (d Data) IsNull() bool { return d.state != statePresent }

// IsMissing says whether the event had no such field at all.
func (d Data) IsMissing() bool { return d.state == stateMissing }

// Bytes is the content; nil when there is none. Ask IsNull first: an empty value has no bytes either.
func (d Data) Bytes() []byte { return d.bytes }

// Header is one of a record's headers. Names may repeat; order is the producer's.
type Header struct {
	Name  string
	Value Data
}

// Record is one record of a partition.
type Record struct {
	Offset  position.Offset
	Time    time.Time // the producer's or the broker's clock, in milliseconds; zero when the log has none
	Key     Data
	Value   Data
	Headers []Header

	// Malformed says why key, value or headers could not be read. Such a record is poison: its offset is known, its
	// content is not.
	Malformed error
}

// IsTombstone says whether the record has no value.
func (r *Record) IsTombstone() bool { return r.Value.IsNull() }

// Header returns the value of the last header of that name, as Kafka's own clients do, and whether there is one.
func (r *Record) Header(name string) (Data, bool) {
	for _, h := range slices.Backward(r.Headers) {
		if h.Name == name {
			return h.Value, true
		}
	}
	return Data{}, false
}

// Size is the number of bytes of key, value and headers.
func (r *Record) Size() int {
	size := len(r.Key.bytes) + len(r.Value.bytes)
	for _, h := range r.Headers {
		size += len(h.Name) + len(h.Value.bytes)
	}
	return size
}

// Run is a run of records of one partition, in offset order. Offsets ascend and may jump.
type Run struct {
	Partition position.Partition
	Records   []Record
}

// Range is the run's span: from its first record to the position after its last. A run without records has none.
func (r Run) Range() position.Range {
	if len(r.Records) == 0 {
		return position.Range{}
	}
	return position.Range{From: r.Records[0].Offset, Until: r.Records[len(r.Records)-1].Offset.Next()}
}

// Batch is what one delivery holds: at most one run a partition, in lock order (position.Partition.Compare).
type Batch []Run
