// Package kafkaevent owns the JSON in which a Lambda event source hands over Kafka records and in which a function
// answers.
//
// Decode turns one invocation event into a record.Batch; Reply says in the service's own form what of that batch is
// not applied; Encode and ParseReply are the service's side of the same two documents, for a local event source and
// for tests.
//
// It refuses three things, each at its own reach, so that nothing is spoiled or lost beyond it:
//
//   - What is no Kafka event, or is broken JSON, is an error without a batch.
//   - A list whose records cannot be placed (an offset is missing or does not ascend, a record names another partition
//     than its list, the list names none) is trusted up to the record before. Decode returns every record that can be
//     placed, and an error of class Corrupt beside them. A reply can only name positions, and those of the rest are
//     what is in doubt; so the answer to such an event must be an error and never a list: the source then delivers the
//     whole event again, and what the batch held is known by its checkpoint. Dropping the batch loses nothing either.
//   - A record that can be placed but not read (base64, a header, a field of another JSON type or given twice) stays
//     in its place with Record.Malformed set, class Poison. What could be read of it stays too; what could not is
//     missing, so ask Malformed before IsTombstone. No message holds a piece of a key, value or header.
//
// Invariants: a batch has at most one run a partition, in lock order; offsets ascend within a run; every record of
// the event is in the batch or Decode returned an error; decoded data shares no memory with the payload.
//
// The functions keep no state and may be called concurrently.
package kafkaevent

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"tidemark/shared/position"
	"tidemark/shared/record"
)

// Decode reads the event of one invocation. The batch is sorted by partition; records keep the event's order.
//
// Errors: fault.Misconfigured without a batch when payload is not a Kafka event; fault.Corrupt without a batch when
// it is one and its JSON breaks off; fault.Corrupt with the batch of all records that can be placed when others
// cannot. In the last case apply the batch, then answer with the error: see the package comment.
func Decode(payload []byte) (record.Batch, error) {
	e := event{reader: newReader(payload), index: make(map[position.Partition]int)}
	if err := e.read(); err != nil {
		return nil, e.broken(err)
	}
	switch {
	case e.isForeign:
		return nil, notKafka("its eventSource is %.60q", e.source)
	case !e.isKafka:
		return nil, notKafka("its eventSource is missing or not a string")
	case !e.hasRecords:
		return nil, notKafka("it has no object of records")
	}
	return e.batch(), e.doubted()
}

// event is one invocation's document while it is read.
type event struct {
	*reader

	source     string // the latest eventSource
	isKafka    bool   // an accepted one was seen
	isForeign  bool   // one that is not accepted was seen
	hasRecords bool

	lists  []list
	index  map[position.Partition]int // place in lists
	doubts []string                   // why records were left out, in the event's order
}

// list gathers one partition's records. An event that names a partition twice fills one list: a JSON library that
// keeps the last of two members would lose the first's records.
type list struct {
	run     record.Run
	doubted bool // a record could not be placed, so neither it nor any behind it is taken
}

func (e *event) read() error {
	if e.json.PeekKind() != jsontext.KindBeginObject {
		return e.json.SkipValue()
	}
	if err := e.members(e.member); err != nil {
		return err
	}
	if _, err := e.json.ReadToken(); !errors.Is(err, io.EOF) {
		return errors.Join(errors.New("more than one JSON value"), err)
	}
	return nil
}

func (e *event) member(name []byte) error {
	switch string(name) {
	case "eventSource":
		return e.readSource()
	case "records":
		if e.json.PeekKind() != jsontext.KindBeginObject {
			return e.json.SkipValue()
		}
		e.hasRecords = true
		return e.members(e.readList)
	}
	return e.json.SkipValue()
}

func (e *event) readSource() error {
	raw, err := e.json.ReadValue()
	if err != nil || raw.Kind() != jsontext.KindString {
		return err
	}
	e.source = string(e.unquote(raw))
	if accepts(e.source) {
		e.isKafka = true
	} else {
		e.isForeign = true
	}
	return nil
}

// readList reads the member of records that is called name, "orders-3": a topic may hold hyphens, so the last one
// counts.
func (e *event) readList(name []byte) error {
	partition, ok := parseName(string(name))
	if !ok {
		e.doubt("a list of records is named %.80q, which is not TOPIC-NUMBER", name)
		return e.json.SkipValue()
	}
	place, found := e.index[partition]
	if !found {
		place = len(e.lists)
		e.index[partition] = place
		e.lists = append(e.lists, list{run: record.Run{Partition: partition}})
	}
	l := &e.lists[place]
	if e.json.PeekKind() != jsontext.KindBeginArray {
		l.doubted = true
		e.doubt("%s: its records are not an array", partition)
		return e.json.SkipValue()
	}
	return e.elements(func(number int) error { return e.readRecord(l, number) })
}

func (e *event) readRecord(l *list, number int) error {
	if l.doubted {
		return e.json.SkipValue()
	}
	next := entry{reader: e.reader, partition: l.run.Partition}
	if err := next.read(); err != nil {
		return err
	}
	if until := l.run.Range().Until; next.doubt == "" && next.record.Offset.Before(until) {
		next.doubt = fmt.Sprintf("offset %s does not ascend: the record before is %s", next.record.Offset, until-1)
	}
	if next.doubt != "" {
		l.doubted = true
		e.doubt("%s: record %d of its list: %s", l.run.Partition, number, next.doubt)
		return nil
	}
	l.run.Records = append(l.run.Records, next.record)
	return nil
}

func (e *event) doubt(format string, args ...any) {
	e.doubts = append(e.doubts, fmt.Sprintf(format, args...))
}

func (e *event) batch() record.Batch {
	batch := make(record.Batch, 0, len(e.lists))
	for _, l := range e.lists {
		if len(l.run.Records) > 0 {
			batch = append(batch, l.run)
		}
	}
	slices.SortFunc(batch, func(a, b record.Run) int { return a.Partition.Compare(b.Partition) })
	return batch
}
