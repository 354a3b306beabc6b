package kafkalog

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/record"
)

// Publish appends the runs' records to their own partitions, in order, and returns the batch with the offsets that the
// log gave them. Offsets that come in are not looked at; a record without a time gets the time of now; null and empty
// stay apart. All of it is in the log when err is nil; when it is not, any part of it may be.
func (l *Log) Publish(ctx context.Context, batch record.Batch) (record.Batch, error) {
	var records []*kgo.Record
	for _, run := range batch {
		for i := range run.Records {
			r, err := produced(run.Partition, &run.Records[i])
			if err != nil {
				return nil, err
			}
			records = append(records, r)
		}
	}
	if err := l.client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return nil, fmt.Errorf("publish %d records: %w", len(records), err)
	}
	published := make(record.Batch, len(batch))
	next := 0
	for i, run := range batch {
		published[i] = record.Run{Partition: run.Partition, Records: slices.Clone(run.Records)}
		for j := range published[i].Records {
			published[i].Records[j].Offset = position.Offset(records[next].Offset)
			published[i].Records[j].Time = records[next].Timestamp
			next++
		}
	}
	return published, nil
}

func produced(partition position.Partition, r *record.Record) (*kgo.Record, error) {
	if r.Malformed != nil {
		return nil, fault.New(fault.Bug, "publish to %s: a malformed record has no content: %w", partition, r.Malformed)
	}
	converted := &kgo.Record{
		Topic: partition.Topic, Partition: partition.Number, Key: wire(r.Key), Value: wire(r.Value), Timestamp: r.Time,
	}
	for _, h := range r.Headers {
		converted.Headers = append(converted.Headers, kgo.RecordHeader{Key: h.Name, Value: wire(h.Value)})
	}
	return converted, nil
}

// wire is nil for null and never nil for empty.
func wire(d record.Data) []byte {
	switch {
	case d.IsNull():
		return nil
	case d.Bytes() == nil:
		return []byte{}
	}
	return d.Bytes()
}
