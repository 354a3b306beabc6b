package services

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/record"
)

// KafkaOptions says what a new cluster looks like.
type KafkaOptions struct {
	Brokers int              // 0: one
	Topics  map[string]int32 // topics and their numbers of partitions; CreateTopic adds others
}

// Kafka is a stand-in for a Kafka cluster in this process: it speaks the protocol on loopback and keeps the log in memory.
// It is no evidence of what a real broker does under failure.
type Kafka struct {
	cluster  *kfake.Cluster
	producer *kgo.Client
}

// largestRecordBatch is above what one Lambda event can hold, so that too large a record can be published.
const largestRecordBatch = 16 << 20

// StartKafka starts a cluster that lives until Stop. No topic is made by writing to it.
func StartKafka(_ context.Context, options KafkaOptions) (*Kafka, error) {
	cluster, err := kfake.NewCluster(
		kfake.NumBrokers(cmp.Or(options.Brokers, 1)),
		kfake.BrokerConfigs(map[string]string{"message.max.bytes": fmt.Sprint(largestRecordBatch)}),
	)
	if err != nil {
		return nil, fmt.Errorf("start the Kafka stand-in: %w", err)
	}
	producer, err := kgo.NewClient(
		kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchMaxBytes(largestRecordBatch), kgo.ProducerLinger(0),
	)
	if err != nil {
		cluster.Close()
		return nil, fmt.Errorf("start the Kafka stand-in: %w", err)
	}
	k := &Kafka{cluster: cluster, producer: producer}
	for _, topic := range slices.Sorted(maps.Keys(options.Topics)) {
		if err := k.CreateTopic(topic, options.Topics[topic]); err != nil {
			k.Stop()
			return nil, err
		}
	}
	return k, nil
}

// Brokers are the addresses of the brokers.
func (k *Kafka) Brokers() []string { return k.cluster.ListenAddrs() }

// CreateTopic makes a topic of so many partitions.
func (k *Kafka) CreateTopic(topic string, partitions int32) error {
	if err := (position.Partition{Topic: topic, Number: partitions - 1}).Validate(); err != nil {
		return fmt.Errorf("create topic %s with %d partitions: %w", topic, partitions, err)
	}
	if err := k.cluster.CreateTopic(topic, partitions, nil); err != nil {
		return fmt.Errorf("create topic %s: %w", topic, err)
	}
	return nil
}

// Truncate deletes the records of a partition before an offset, as retention does.
func (k *Kafka) Truncate(partition position.Partition, before position.Offset) error {
	if err := k.cluster.DeleteRecords(partition.Topic, partition.Number, int64(before)); err != nil {
		return fmt.Errorf("truncate %s before %s: %w", partition, before, err)
	}
	return nil
}

// Publish appends the runs' records to their own partitions, in order, and returns the batch with the offsets that the
// log gave them. Offsets that come in are not looked at; a record without a time gets the time of now; null and empty
// stay apart. All of it is in the log when err is nil; when it is not, any part of it may be.
func (k *Kafka) Publish(ctx context.Context, batch record.Batch) (record.Batch, error) {
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
	if err := k.producer.ProduceSync(ctx, records...).FirstErr(); err != nil {
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

// Stop ends the cluster; the log is gone.
func (k *Kafka) Stop() {
	k.producer.Close()
	k.cluster.Close()
}
