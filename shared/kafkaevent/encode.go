package kafkaevent

import (
	"encoding/base64"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/record"
)

// Encode writes the event that the service would send for batch: Decode gives the same batch again, but for header
// values that are missing, which come back as null, and for times, which are cut to milliseconds. Runs without
// records leave no trace, and missing keys and values no member.
//
// Errors are fault.Bug and name what no event can hold: an unknown kind of source, an impossible position, a
// partition with two runs, a record that is Malformed, a time before 1970, a header name that is not UTF-8. Whether
// offsets ascend is not asked, so that tests can build what Decode must refuse.
func Encode(source Source, batch record.Batch) ([]byte, error) {
	if !accepts(source.Kind) {
		return nil, fault.New(fault.Bug, "encode event: unknown kind of source %q", source.Kind)
	}
	w := writer{out: make([]byte, 0, sizeHint(batch))}
	w.raw(`{"eventSource":`).quote(source.Kind)
	if source.ARN != "" {
		w.raw(`,"eventSourceArn":`).quote(source.ARN)
	}
	w.raw(`,"bootstrapServers":`).quote(source.BootstrapServers).raw(`,"records":{`)
	seen := make(map[position.Partition]bool, len(batch))
	for _, run := range batch {
		if len(run.Records) == 0 {
			continue
		}
		if seen[run.Partition] {
			return nil, fault.New(fault.Bug, "encode event: %s has two runs", run.Partition)
		}
		if len(seen) > 0 {
			w.raw(`,`)
		}
		seen[run.Partition] = true
		if err := w.run(run); err != nil {
			return nil, err
		}
	}
	w.raw(`}}`)
	if w.err != nil {
		return nil, fault.New(fault.Bug, "encode event: %w", w.err)
	}
	return w.out, nil
}

// writer appends JSON. The first error is kept.
type writer struct {
	out []byte
	err error
}

func (w *writer) raw(text string) *writer {
	w.out = append(w.out, text...)
	return w
}

func (w *writer) quote(text string) *writer {
	out, err := jsontext.AppendQuote(w.out, text)
	w.out = out
	if w.err == nil {
		w.err = err
	}
	return w
}

func (w *writer) number(n int64) *writer {
	w.out = strconv.AppendInt(w.out, n, 10)
	return w
}

func (w *writer) run(run record.Run) error {
	if err := run.Partition.Validate(); err != nil {
		return fault.New(fault.Bug, "encode event: %w", err)
	}
	w.quote(string(appendName(nil, run.Partition))).raw(`:[`)
	for i := range run.Records {
		if i > 0 {
			w.raw(`,`)
		}
		if err := w.record(run.Partition, &run.Records[i]); err != nil {
			return err
		}
	}
	w.raw(`]`)
	return nil
}

func (w *writer) record(p position.Partition, r *record.Record) error {
	if err := r.Offset.Validate(); err != nil {
		return fault.New(fault.Bug, "encode event: %s: %w", p, err)
	}
	if r.Malformed != nil {
		return fault.New(fault.Bug, "encode event: %s@%s cannot be encoded: %w", p, r.Offset, r.Malformed)
	}
	millis, kind := int64(noTimestamp), "NO_TIMESTAMP_TYPE"
	if !r.Time.IsZero() {
		millis, kind = r.Time.UnixMilli(), "CREATE_TIME"
		if millis < 0 {
			return fault.New(fault.Bug, "encode event: %s@%s has a time before 1970", p, r.Offset)
		}
	}
	w.raw(`{"topic":`).quote(p.Topic).raw(`,"partition":`).number(int64(p.Number))
	w.raw(`,"offset":`).number(int64(r.Offset)).raw(`,"timestamp":`).number(millis).raw(`,"timestampType":`).quote(kind)
	w.data(`,"key":`, r.Key).data(`,"value":`, r.Value)
	w.headers(r.Headers).raw(`}`)
	return nil
}

func (w *writer) data(member string, d record.Data) *writer {
	switch {
	case d.IsMissing():
		return w
	case d.IsNull():
		return w.raw(member).raw(`null`)
	}
	w.raw(member).raw(`"`)
	w.out = base64.StdEncoding.AppendEncode(w.out, d.Bytes())
	return w.raw(`"`)
}

func (w *writer) headers(headers []record.Header) *writer {
	w.raw(`,"headers":[`)
	for i, h := range headers {
		if i > 0 {
			w.raw(`,`)
		}
		w.raw(`{`).quote(h.Name).raw(`:`).signedBytes(h.Value).raw(`}`)
	}
	return w.raw(`]`)
}

// signedBytes writes bytes as the service does, whose language has signed ones only: 200 is -56.
func (w *writer) signedBytes(d record.Data) *writer {
	if d.IsNull() {
		return w.raw(`null`)
	}
	w.raw(`[`)
	for i, b := range d.Bytes() {
		if i > 0 {
			w.raw(`,`)
		}
		w.number(int64(int8(b))) //nolint:gosec // the wrap is the form
	}
	return w.raw(`]`)
}

// sizeHint is about what the event takes: base64 is a third longer, a header byte up to five characters.
func sizeHint(batch record.Batch) int {
	const perRecord = 160
	size := 0
	for _, run := range batch {
		for i := range run.Records {
			r := &run.Records[i]
			size += perRecord + 2*r.Size() + len(run.Partition.Topic)
		}
	}
	return size
}
