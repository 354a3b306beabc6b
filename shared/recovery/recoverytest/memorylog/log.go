// Package memorylog gives tests a log in memory that can lose, hide and hold back what it has, and still knows all that ever
// was in it.
//
// It owns topics, partitions, epochs, marks, aborted records, open transactions, compaction and retention as a reader of
// committed records meets them, and readers that get their pieces in odd portions. It refuses real brokers and real time.
package memorylog

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/record"
	"tidemark/shared/recovery/inspection"
)

// Log is a log in memory. It forgets nothing: what was trimmed or compacted is hidden from readers and stays known to the test.
// Safe for concurrent use.
type Log struct {
	Cluster string
	// Held says of a partition that its reader gets nothing for now. Nil: none is held.
	Held func(position.Partition) bool
	// Most is how many offsets of a partition one answer holds at most.
	Most int
	// Waits lets a reader wait where nothing can come; else that is an error, because the reader should have ended.
	Waits bool

	mu     sync.Mutex
	topics map[string]*topic
	random *rand.Rand
	made   int
}

type topic struct {
	inspection.Topic

	partitions []*partition
}

// partition holds everything that ever was in it, by offset.
type partition struct {
	start, end position.Offset
	open       position.Offset // where the oldest open transaction begins; -1: none is
	epoch      int32
	entries    []entry
}

// entry is what an offset holds.
type entry struct {
	record.Record

	epoch int32
	kind  kind
	gone  bool // compacted away
}

type kind uint8

const (
	data kind = iota
	control
	aborted
)

// New makes an empty log. Readers get their pieces as the seed has it.
func New(seed uint64) *Log {
	random := rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // a test's
	return &Log{Cluster: "cluster-1", Most: 4, topics: map[string]*topic{}, random: random}
}

// Create makes a topic. One of that name before is gone, and this is another.
func (l *Log) Create(name string, partitions int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.made++
	made := &topic{Topic: inspection.Topic{ID: fmt.Sprintf("00000000-0000-0000-0000-%012d", l.made), Deleted: true}}
	l.topics[name] = made
	made.add(partitions)
}

func (t *topic) add(partitions int32) {
	for range partitions {
		t.partitions = append(t.partitions, &partition{open: -1})
		t.Partitions++
	}
}

// Add gives a topic more partitions.
func (l *Log) Add(name string, partitions int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.topics[name].add(partitions)
}

// Drop deletes a topic.
func (l *Log) Drop(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.topics, name)
}

// Shrink takes a topic's last partition away, which no log does: another cluster has fewer.
func (l *Log) Shrink(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.topics[name]
	t.Partitions--
	t.partitions = t.partitions[:t.Partitions]
}

// Configure makes a topic compacted.
func (l *Log) Configure(name string, deleteRetention time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.topics[name].Compacted, l.topics[name].DeleteRetention = true, deleteRetention
}

// Append appends a record.
func (l *Log) Append(p position.Partition, at time.Time, value string) position.Offset {
	return l.append(p, entry{Record: record.Record{Time: at, Value: record.Present([]byte(value))}})
}

// Control appends the mark of a transaction's end.
func (l *Log) Control(p position.Partition) { l.append(p, entry{kind: control}) }

// Aborted appends a record of a transaction that was aborted, and its mark.
func (l *Log) Aborted(p position.Partition, at time.Time, value string) {
	l.append(p, entry{kind: aborted, Record: record.Record{Time: at, Value: record.Present([]byte(value))}})
	l.append(p, entry{kind: control})
}

func (l *Log) append(p position.Partition, e entry) position.Offset {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.of(p)
	e.Offset, e.epoch = of.end, of.epoch
	of.entries, of.end = append(of.entries[:of.end], e), of.end.Next()
	return e.Offset
}

// of is a partition. The caller holds the lock.
func (l *Log) of(p position.Partition) *partition { return l.topics[p.Topic].partitions[p.Number] }

// Begin opens a transaction at the end: what comes from there on is not stable.
func (l *Log) Begin(p position.Partition) { l.with(p, func(of *partition) { of.open = of.end }) }

// Commit ends the open transaction.
func (l *Log) Commit(p position.Partition) {
	l.with(p, func(of *partition) { of.open = -1 })
	l.Control(p)
}

// Trim lets go of what lies below an offset.
func (l *Log) Trim(p position.Partition, start position.Offset) {
	l.with(p, func(of *partition) { of.start = max(of.start, min(start, of.end)) })
}

// Truncate loses what lies from an offset on, as an unclean election does, and begins another epoch.
func (l *Log) Truncate(p position.Partition, end position.Offset) {
	l.with(p, func(of *partition) {
		of.end, of.start, of.epoch = min(of.end, end), min(of.start, end), of.epoch+1
	})
}

// Elect begins another leader's epoch.
func (l *Log) Elect(p position.Partition) { l.with(p, func(of *partition) { of.epoch++ }) }

// Compact takes a record away.
func (l *Log) Compact(p position.Partition, offset position.Offset) {
	l.with(p, func(of *partition) { of.entries[offset].gone = true })
}

func (l *Log) with(p position.Partition, act func(*partition)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	act(l.of(p))
}

// End is the high watermark.
func (l *Log) End(p position.Partition) (end position.Offset) {
	l.with(p, func(of *partition) { end = of.end })
	return end
}

// Start is the first offset that is there.
func (l *Log) Start(p position.Partition) (start position.Offset) {
	l.with(p, func(of *partition) { start = of.start })
	return start
}

// Stable is the last stable offset.
func (l *Log) Stable(p position.Partition) (end position.Offset) {
	l.with(p, func(of *partition) { end = of.stable() })
	return end
}

// Partitions are those of a topic.
func (l *Log) Partitions(name string) []position.Partition {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []position.Partition
	for number := range l.topics[name].Partitions {
		all = append(all, position.Partition{Topic: name, Number: number})
	}
	return all
}

func (p *partition) stable() position.Offset {
	if p.open >= 0 {
		return p.open
	}
	return p.end
}

// Committed are the records of a range as if nothing had been let go since.
func (l *Log) Committed(p position.Partition, r position.Range) []record.Record {
	var records []record.Record
	for _, e := range l.committed(p, r) {
		records = append(records, e.Record)
	}
	return records
}

func (l *Log) committed(p position.Partition, r position.Range) []entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []entry
	for _, e := range l.of(p).entries[min(r.From, l.of(p).end):min(r.Until, l.of(p).end)] {
		if e.kind == data {
			found = append(found, e)
		}
	}
	return found
}

// Hole refuses to pass over records that a reader could have had.
func (l *Log) Hole(p position.Partition, r position.Range) error {
	for _, e := range l.committed(p, r) {
		if !e.gone {
			return fault.New(fault.Gap, "%s: record %s was passed over", p, e.Offset)
		}
	}
	return nil
}

// Describe is one partition in a cut: its topic, the epoch of the record before and the highest time below.
func (l *Log) Describe(p position.Partition, next position.Offset) (id string, epoch *int32, last time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.of(p)
	for _, e := range of.entries[:next] {
		if e.kind == data && e.Time.After(last) {
			last = e.Time
		}
		epoch = new(e.epoch)
	}
	return l.topics[p.Topic].ID, epoch, last
}

// Readable is how many records of a range a reader could have had.
func (l *Log) Readable(p position.Partition, r position.Range) (n int) {
	for _, e := range l.committed(p, r) {
		if !e.gone {
			n++
		}
	}
	return n
}

// Reset takes a partition's epochs back to the first, as in another log.
func (l *Log) Reset(p position.Partition) {
	l.with(p, func(of *partition) {
		of.epoch = 0
		for i := range of.entries {
			of.entries[i].epoch = 0
		}
	})
}
