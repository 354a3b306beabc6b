package kafkaevent

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/record"
)

// entry is one record while it is read. A doubt says why its position cannot be trusted, a flaw why its content
// cannot; the first of each is kept.
type entry struct {
	*reader

	partition position.Partition // of the list
	record    record.Record
	seen      field
	doubt     string
	flaw      string
}

// field is a set of the members that a record may have. Others are ignored: events of a schema registry carry more.
type field uint8

const (
	fieldTopic field = 1 << iota
	fieldPartition
	fieldOffset
	fieldTimestamp
	fieldKey
	fieldValue
	fieldHeaders

	placing = fieldTopic | fieldPartition | fieldOffset
)

func fieldOf(name string) field {
	switch name {
	case "topic":
		return fieldTopic
	case "partition":
		return fieldPartition
	case "offset":
		return fieldOffset
	case "timestamp":
		return fieldTimestamp
	case "key":
		return fieldKey
	case "value":
		return fieldValue
	case "headers":
		return fieldHeaders
	}
	return 0
}

// read reads one element of a partition's list.
func (e *entry) read() error {
	if e.json.PeekKind() != jsontext.KindBeginObject {
		e.doubtful("it is not an object")
		return e.json.SkipValue()
	}
	if err := e.members(e.member); err != nil {
		return err
	}
	if e.seen&placing != placing {
		e.doubtful("topic, partition or offset is missing")
	}
	if e.doubt == "" && e.flaw != "" {
		e.record.Malformed = fault.New(fault.Poison, "read record %s@%s: %s", e.partition, e.record.Offset, e.flaw)
	}
	return nil
}

func (e *entry) member(name []byte) error {
	which := fieldOf(string(name))
	if which == 0 {
		return e.json.SkipValue()
	}
	if e.seen&which != 0 {
		e.repeated(which, string(name))
		return e.json.SkipValue()
	}
	e.seen |= which
	if which == fieldHeaders {
		return e.readHeaders()
	}
	raw, err := e.json.ReadValue()
	if err != nil {
		return err
	}
	if which&placing != 0 {
		e.place(which, raw)
	} else {
		e.fill(which, raw)
	}
	return nil
}

// repeated refuses a member that is given twice: JSON does not say which of them counts, and the two may differ.
func (e *entry) repeated(which field, name string) {
	switch {
	case which&placing != 0:
		e.doubtful(name + " is given twice")
		return
	case which == fieldTimestamp:
		e.record.Time = time.Time{}
	case which == fieldKey:
		e.record.Key = record.Missing()
	case which == fieldValue:
		e.record.Value = record.Missing()
	case which == fieldHeaders:
		e.record.Headers = nil
	}
	e.flawed(name + " is given twice")
}

// place reads one of the members that say where the record stands.
func (e *entry) place(which field, raw jsontext.Value) {
	if which == fieldTopic {
		if raw.Kind() != jsontext.KindString {
			e.doubtful("topic is not a string")
		} else if string(e.unquote(raw)) != e.partition.Topic {
			e.doubtful("it names another topic than its list")
		}
		return
	}
	digits := []byte(raw)
	if raw.Kind() == jsontext.KindString {
		digits = e.unquote(raw)
	}
	number, ok := wholeNumber(digits, maxOffset)
	switch {
	case which == fieldOffset && ok:
		e.record.Offset = position.Offset(number)
	case which == fieldOffset:
		e.doubtful("offset is not a whole number from 0")
	case !ok || number != int64(e.partition.Number):
		e.doubtful("it names another partition than its list")
	}
}

// fill reads one of the members that say what the record holds.
func (e *entry) fill(which field, raw jsontext.Value) {
	var flaw string
	if which == fieldTimestamp {
		if e.record.Time, flaw = timeOf(raw); flaw != "" {
			e.flawed("timestamp: " + flaw)
		}
		return
	}
	var data record.Data
	data, flaw = e.data(raw)
	name := "value"
	if which == fieldKey {
		name = "key"
		e.record.Key = data
	} else {
		e.record.Value = data
	}
	if flaw != "" {
		e.flawed(name + ": " + flaw)
	}
}

func (e *entry) doubtful(reason string) {
	if e.doubt == "" {
		e.doubt = reason
	}
}

func (e *entry) flawed(reason string) {
	if e.flaw == "" {
		e.flaw = reason
	}
}

// noTimestamp is how the broker marks a record that has no time.
const noTimestamp = -1

func timeOf(raw jsontext.Value) (time.Time, string) {
	if raw.Kind() == jsontext.KindNull {
		return time.Time{}, ""
	}
	millis, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || millis < noTimestamp {
		return time.Time{}, "not whole milliseconds"
	}
	if millis == noTimestamp {
		return time.Time{}, ""
	}
	return time.UnixMilli(millis).UTC(), ""
}
