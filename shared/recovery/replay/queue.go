package replay

import (
	"cmp"

	"tidemark/shared/position"
	"tidemark/shared/record"
)

// queue holds what came of a partition and is not in yet. Its memory is used again.
type queue struct {
	records []record.Record
	done    int // so many of them are in
}

// left are the records that are not in, until the next add.
func (q *queue) left() []record.Record { return q.records[q.done:] }

// add puts records at the end. What is in goes first when it is most of what is kept: so a record is moved once at most for
// each that came, and what records hold is let go.
func (q *queue) add(records []record.Record) {
	if q.done > 0 && 2*q.done >= len(q.records) {
		n := copy(q.records, q.records[q.done:])
		clear(q.records[n:])
		q.records, q.done = q.records[:n], 0
	}
	q.records = append(q.records, records...)
}

// head is a queue that is being merged.
type head struct {
	partition position.Partition
	queue     []record.Record
	taken     int
	more      bool // something is to be read behind the queue
}

func (h *head) run() record.Run {
	return record.Run{Partition: h.partition, Records: h.queue[:h.taken]}
}

// heads is a heap: the partition whose next record has the lowest time comes first.
type heads []*head

// Len is the number of heads.
func (h heads) Len() int { return len(h) }

// Less compares times, and where they are the same partitions.
func (h heads) Less(i, j int) bool {
	a, b := h[i], h[j]
	return cmp.Or(a.queue[a.taken].Time.Compare(b.queue[b.taken].Time), a.partition.Compare(b.partition)) < 0
}

// Swap exchanges two.
func (h heads) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push is heap.Interface's.
func (h *heads) Push(one any) { *h = append(*h, one.(*head)) } //nolint:errcheck,forcetypeassert // the only type that comes

// Pop is heap.Interface's.
func (h *heads) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
