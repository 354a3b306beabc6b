package kafkaevent

import (
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"tidemark/shared/fault"
)

// notKafka refuses a payload that no Kafka event source sends.
func notKafka(reason string, args ...any) error {
	return fault.New(fault.Misconfigured, "decode event: this is not a Kafka event: "+reason, args...).WithHint(
		"the function takes events of a Kafka event source mapping only ( %s, %s or %s): remove its other trigger",
		MSK, SelfManaged, selfManagedSample)
}

// broken gives a class to JSON that cannot be read to its end. One that already said that it is a Kafka event was
// damaged on its way; of any other nothing says that it ever was one. The text of the parser's error may quote the
// payload, so only its place is told.
func (e *event) broken(err error) error {
	var at int64
	if found, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		at = found.ByteOffset
	} else {
		at = e.json.InputOffset()
	}
	if !e.isKafka || e.isForeign {
		return notKafka("its JSON breaks at byte %d", at)
	}
	reason := "breaks"
	if errors.Is(err, io.ErrUnexpectedEOF) {
		reason = "ends early"
	}
	return fault.New(fault.Corrupt, "decode event: its JSON %s at byte %d", reason, at).WithHint(
		"the event was damaged between the event source and the function; nothing was taken, it is delivered again")
}

// doubted tells of records that could not be placed. The first doubt is named, because the rest tends to follow
// from it.
func (e *event) doubted() error {
	if len(e.doubts) == 0 {
		return nil
	}
	hint := "the event contradicts itself about where records stand; records from there on were not taken and are " +
		"delivered again; if it repeats, the event source is at fault: compare with the log at that position"
	if more := len(e.doubts) - 1; more > 0 {
		return fault.New(fault.Corrupt, "decode event: %s; and %d more", e.doubts[0], more).WithHint("%s", hint)
	}
	return fault.New(fault.Corrupt, "decode event: %s", e.doubts[0]).WithHint("%s", hint)
}
