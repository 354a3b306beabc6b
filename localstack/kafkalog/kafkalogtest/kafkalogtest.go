// Package kafkalogtest is what a Log must do over any cluster, be it real brokers or their stand-in.
//
// It owns no cluster: callers bring one. Topics are named after the test, so several suites may share a cluster.
package kafkalogtest

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/localstack/kafkalog"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/record"
)

// Exercise runs the suite. reach says where the cluster is and how to reach it.
func Exercise(t *testing.T, reach ...kgo.Opt) {
	t.Helper()
	log, err := kafkalog.Open(reach...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(log.Close)
	b := bench{log: log, reach: reach}
	t.Run("PublishesWhatItIsGiven", b.publishesWhatItIsGiven)
	t.Run("RefusesAnUnknownPartition", b.refusesAnUnknownPartition)
	t.Run("RefusesAMalformedRecord", b.refusesAMalformedRecord)
	t.Run("MakesTopicsOnce", b.makesTopicsOnce)
	t.Run("MakesTopicsAnew", b.makesTopicsAnew)
	t.Run("TakesAConfiguration", b.takesAConfiguration)
	t.Run("Truncates", b.truncates)
}

type bench struct {
	log   *kafkalog.Log
	reach []kgo.Opt
}

// topic makes a topic of the test's own.
func (b bench) topic(t *testing.T, partitions int32) string {
	t.Helper()
	name := strings.ReplaceAll(t.Name(), "/", ".")
	if err := b.log.CreateTopic(t.Context(), kafkalog.Topic{Name: name, Partitions: partitions}); err != nil {
		t.Fatal(err)
	}
	return name
}

func text(value string) record.Record { return record.Record{Value: record.Present([]byte(value))} }

// publish appends texts to partition 0 and returns their range.
func (b bench) publish(t *testing.T, topic string, values ...string) position.Range {
	t.Helper()
	run := record.Run{Partition: position.Partition{Topic: topic}}
	for _, value := range values {
		run.Records = append(run.Records, text(value))
	}
	published, err := b.log.Publish(t.Context(), record.Batch{run})
	if err != nil {
		t.Fatal(err)
	}
	return published[0].Range()
}

// consume reads n records from the partition's start.
func (b bench) consume(t *testing.T, from position.Partition, n int) []*kgo.Record {
	t.Helper()
	client, err := kgo.NewClient(append(b.reach, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{
		from.Topic: {from.Number: kgo.NewOffset().AtStart()},
	}))...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var records []*kgo.Record
	for len(records) < n {
		fetches := client.PollFetches(t.Context())
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		records = append(records, fetches.Records()...)
	}
	return records
}

func (b bench) publishesWhatItIsGiven(t *testing.T) {
	t.Parallel()
	topic := b.topic(t, 3)
	when := time.UnixMilli(1_700_000_000_123)
	batch := record.Batch{
		{Partition: position.Partition{Topic: topic, Number: 2}, Records: []record.Record{
			{Key: record.Present([]byte("k")), Value: record.Present([]byte("v")), Time: when, Headers: []record.Header{
				{Name: "h", Value: record.Present([]byte{0xff, 0})}, {Name: "h", Value: record.Null()},
			}},
			{Key: record.Present(nil), Value: record.Null()},
			{Key: record.Null(), Value: record.Present(nil)},
		}},
		{Partition: position.Partition{Topic: topic, Number: 0}, Records: []record.Record{text("x")}},
	}
	published, err := b.log.Publish(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []position.Range{{From: 0, Until: 3}, {From: 0, Until: 1}} {
		if got := published[i].Range(); got != want {
			t.Errorf("%s: got offsets %s, want %s", published[i].Partition, got, want)
		}
	}
	stored := b.consume(t, position.Partition{Topic: topic, Number: 2}, 3)
	first := stored[0]
	if !first.Timestamp.Equal(when) || string(first.Key) != "k" || string(first.Value) != "v" {
		t.Errorf("got %s %q=%q, want %s k=v", first.Timestamp, first.Key, first.Value, when)
	}
	headers := []kgo.RecordHeader{{Key: "h", Value: []byte{0xff, 0}}, {Key: "h"}}
	if diff := cmp.Diff(headers, first.Headers); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	if k := stored[1].Key; k == nil || len(k) != 0 || stored[1].Value != nil {
		t.Errorf("got %v=%v, want an empty key and a null value", k, stored[1].Value)
	}
	if v := stored[2].Value; v == nil || len(v) != 0 || stored[2].Key != nil {
		t.Errorf("got %v=%v, want a null key and an empty value", stored[2].Key, v)
	}
}

func (b bench) refusesAnUnknownPartition(t *testing.T) {
	t.Parallel()
	unknown := position.Partition{Topic: b.topic(t, 1), Number: 5}
	if _, err := b.log.Publish(t.Context(), record.Batch{{Partition: unknown, Records: []record.Record{text("x")}}}); err == nil {
		t.Error("got no error, want a refusal: the partition does not exist")
	}
}

func (b bench) refusesAMalformedRecord(t *testing.T) {
	t.Parallel()
	malformed := record.Record{Malformed: fault.New(fault.Poison, "unreadable")}
	_, err := b.log.Publish(t.Context(), record.Batch{{
		Partition: position.Partition{Topic: b.topic(t, 1)}, Records: []record.Record{malformed},
	}})
	if !fault.Is(err, fault.Bug) {
		t.Errorf("got %v, want a bug: there is nothing to publish", err)
	}
}

func (b bench) makesTopicsOnce(t *testing.T) {
	t.Parallel()
	name := b.topic(t, 1)
	for _, topic := range []kafkalog.Topic{{Name: name, Partitions: 1}, {Name: name + ".none"}, {Name: "a/b", Partitions: 1}} {
		if err := b.log.CreateTopic(t.Context(), topic); err == nil {
			t.Errorf("%s was made with %d partitions, want a refusal", topic.Name, topic.Partitions)
		}
	}
}

func (b bench) makesTopicsAnew(t *testing.T) {
	t.Parallel()
	name := b.topic(t, 1)
	b.publish(t, name, "first", "second")
	if err := b.log.DeleteTopic(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	if err := b.log.DeleteTopic(t.Context(), name); err == nil {
		t.Error("a topic was deleted twice")
	}
	b.topic(t, 1)
	if got, want := b.publish(t, name, "third"), (position.Range{From: 0, Until: 1}); got != want {
		t.Errorf("got offsets %s in the new topic, want %s", got, want)
	}
	if got := b.consume(t, position.Partition{Topic: name}, 1); string(got[0].Value) != "third" {
		t.Errorf("got %q, want the new topic's record", got[0].Value)
	}
}

func (b bench) takesAConfiguration(t *testing.T) {
	t.Parallel()
	name := strings.ReplaceAll(t.Name(), "/", ".")
	topic := kafkalog.Topic{Name: name, Partitions: 1, Config: map[string]string{"cleanup.policy": "compact"}}
	if err := b.log.CreateTopic(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	client, err := kgo.NewClient(b.reach...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	described, err := kadm.NewClient(client).DescribeTopicConfigs(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	policy := ""
	for _, config := range described[0].Configs {
		if config.Key == "cleanup.policy" {
			policy = config.MaybeValue()
		}
	}
	if policy != "compact" {
		t.Errorf("got cleanup.policy %q, want compact", policy)
	}
}

func (b bench) truncates(t *testing.T) {
	t.Parallel()
	partition := position.Partition{Topic: b.topic(t, 1)}
	b.publish(t, partition.Topic, "0", "1", "2")
	if err := b.log.Truncate(t.Context(), partition, 2); err != nil {
		t.Fatal(err)
	}
	if got := b.consume(t, partition, 1); got[0].Offset != 2 {
		t.Errorf("got offset %d, want 2: what is before is gone", got[0].Offset)
	}
	if err := b.log.Truncate(t.Context(), partition, 9); err == nil {
		t.Error("a log was cut off behind its end")
	}
}
