// Package kafkalog owns what tests, demos and local stages do to a Kafka log: make and delete topics, append records to
// the partitions that they name, and cut a log's beginning off. It does so over the protocol, so brokers and their
// stand-in are served by the same code.
//
// It refuses to choose partitions, to make topics by writing to them, and malformed records. It starts no broker and
// reads no log.
//
// Invariants: a topic that was made can be written and asked about at every broker; one that was deleted is known to none;
// what Publish returned without an error is in the log, with the offsets that it names.
//
// A Log may be used by several goroutines.
package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/shared/position"
)

// Log is a client of one cluster.
type Log struct {
	client *kgo.Client
	admin  *kadm.Client
}

// LargestBatch is above what one Lambda event can hold, so that too large a record can be published; brokers must take
// as much.
const LargestBatch = 16 << 20

// propagation is how long a change of a topic may take to reach every broker, and poll how often that is asked.
const (
	propagation = 30 * time.Second
	poll        = 10 * time.Millisecond
)

// Open makes a client. options say where the brokers are and how to reach them. Nothing is dialled yet.
func Open(options ...kgo.Opt) (*Log, error) {
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(LargestBatch), kgo.ProducerLinger(0),
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.MetadataMinAge(poll), // a topic that was just made is asked about at once
	}, options...)...)
	if err != nil {
		return nil, fmt.Errorf("make a Kafka client: %w", err)
	}
	return &Log{client: client, admin: kadm.NewClient(client)}, nil
}

// Close ends the client. The log stays.
func (l *Log) Close() { l.client.Close() }

// Topic is a topic to be made.
type Topic struct {
	Name       string
	Partitions int32
	Config     map[string]string // over the brokers' own
}

// CreateTopic makes a topic, with as many replicas as the brokers say, and returns when every broker knows the leader of
// each of its partitions.
func (l *Log) CreateTopic(ctx context.Context, topic Topic) error {
	if err := (position.Partition{Topic: topic.Name, Number: topic.Partitions - 1}).Validate(); err != nil {
		return fmt.Errorf("create topic %s with %d partitions: %w", topic.Name, topic.Partitions, err)
	}
	config := make(map[string]*string, len(topic.Config))
	for key, value := range topic.Config {
		config[key] = &value
	}
	if _, err := l.admin.CreateTopic(ctx, topic.Partitions, -1, config, topic.Name); err != nil {
		return fmt.Errorf("create topic %s: %w", topic.Name, err)
	}
	err := l.everywhere(ctx, topic.Name, func(seen kmsg.MetadataResponseTopic) bool {
		led := 0
		for _, p := range seen.Partitions {
			if p.ErrorCode == 0 && p.Leader >= 0 {
				led++
			}
		}
		return seen.ErrorCode == 0 && led == int(topic.Partitions)
	})
	if err != nil {
		return fmt.Errorf("create topic %s: %w", topic.Name, err)
	}
	return nil
}

// DeleteTopic deletes a topic and returns when no broker knows it any more.
func (l *Log) DeleteTopic(ctx context.Context, name string) error {
	if _, err := l.admin.DeleteTopic(ctx, name); err != nil {
		return fmt.Errorf("delete topic %s: %w", name, err)
	}
	err := l.everywhere(ctx, name, func(seen kmsg.MetadataResponseTopic) bool {
		return seen.ErrorCode == kerr.UnknownTopicOrPartition.Code
	})
	if err != nil {
		return fmt.Errorf("delete topic %s: %w", name, err)
	}
	// The client would go on with the topic that it knew.
	l.client.PurgeTopicsFromClient(name)
	return nil
}

// everywhere asks every broker about a topic until each gives the answer.
func (l *Log) everywhere(ctx context.Context, topic string, is func(kmsg.MetadataResponseTopic) bool) error {
	ctx, cancel := context.WithTimeout(ctx, propagation)
	defer cancel()
	brokers, err := l.admin.ListBrokers(ctx)
	if err != nil {
		return err
	}
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for _, id := range brokers.NodeIDs() {
		for {
			seen, err := l.ask(ctx, id, topic)
			if err != nil {
				return fmt.Errorf("ask broker %d: %w", id, err)
			}
			if is(seen) {
				break
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return fmt.Errorf("broker %d has not heard of it: %w", id, ctx.Err())
			}
		}
	}
	return nil
}

// ask asks one broker what it knows of a topic. The client's own cache would answer for all of them.
func (l *Log) ask(ctx context.Context, broker int32, topic string) (kmsg.MetadataResponseTopic, error) {
	request := kmsg.NewPtrMetadataRequest()
	about := kmsg.NewMetadataRequestTopic()
	about.Topic = &topic
	request.Topics = append(request.Topics, about)
	answer, err := l.client.Broker(int(broker)).RetriableRequest(ctx, request)
	if err != nil {
		return kmsg.MetadataResponseTopic{}, err
	}
	response, ok := answer.(*kmsg.MetadataResponse)
	if !ok || len(response.Topics) != 1 {
		return kmsg.MetadataResponseTopic{}, errors.New("the answer is not about the topic")
	}
	return response.Topics[0], nil
}

// Truncate deletes the records of a partition before an offset, as retention does.
func (l *Log) Truncate(ctx context.Context, partition position.Partition, before position.Offset) error {
	offsets := kadm.Offsets{}
	offsets.Add(kadm.Offset{Topic: partition.Topic, Partition: partition.Number, At: int64(before), LeaderEpoch: -1})
	answers, err := l.admin.DeleteRecords(ctx, offsets)
	if err == nil {
		err = answers.Error()
	}
	if err != nil {
		return fmt.Errorf("truncate %s before %s: %w", partition, before, err)
	}
	return nil
}
