package kafka

import (
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/record"
)

// Convert is a record of the client as Tidemark has it. Null and empty stay apart, in key, value and headers. Bytes are
// shared. A header whose name is no text leaves the record malformed, as it does in an event.
func Convert(r *kgo.Record) record.Record {
	converted := record.Record{Offset: position.Offset(r.Offset), Key: data(r.Key), Value: data(r.Value)}
	if millis := r.Timestamp.UnixMilli(); millis >= 0 { // -1 is Kafka's "no timestamp"
		converted.Time = time.UnixMilli(millis).UTC()
	}
	if len(r.Headers) == 0 {
		return converted
	}
	converted.Headers = make([]record.Header, len(r.Headers))
	for i, h := range r.Headers {
		if !utf8.ValidString(h.Key) {
			where := position.Partition{Topic: r.Topic, Number: r.Partition}
			converted.Headers = nil
			converted.Malformed = fault.New(fault.Poison, "read record %s@%s: headers[%d]: name is not UTF-8", where, converted.Offset, i)
			return converted
		}
		converted.Headers[i] = record.Header{Name: h.Key, Value: data(h.Value)}
	}
	return converted
}

func data(bytes []byte) record.Data {
	if bytes == nil {
		return record.Null()
	}
	return record.Present(bytes)
}
