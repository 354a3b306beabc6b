package services_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/localstack/services"
	"tidemark/shared/position"
	"tidemark/shared/record"
)

func TestKafkaPublish(t *testing.T) {
	t.Parallel()
	k, err := services.StartKafka(t.Context(), services.KafkaOptions{Topics: map[string]int32{"orders": 3}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Stop)

	when := time.UnixMilli(1_700_000_000_123)
	batch := record.Batch{
		{Partition: position.Partition{Topic: "orders", Number: 2}, Records: []record.Record{
			{Key: record.Present([]byte("k")), Value: record.Present([]byte("v")), Time: when, Headers: []record.Header{
				{Name: "h", Value: record.Present([]byte{0xff, 0})}, {Name: "h", Value: record.Null()},
			}},
			{Key: record.Present(nil), Value: record.Null()},
			{Key: record.Null(), Value: record.Present(nil)},
		}},
		{Partition: position.Partition{Topic: "orders", Number: 0}, Records: []record.Record{{Value: record.Present([]byte("x"))}}},
	}
	published, err := k.Publish(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := published[0].Range(), (position.Range{From: 0, Until: 3}); got != want {
		t.Errorf("got offsets %s in orders/2, want %s", got, want)
	}
	if got, want := published[1].Range(), (position.Range{From: 0, Until: 1}); got != want {
		t.Errorf("got offsets %s in orders/0, want %s", got, want)
	}

	stored := consume(t, k, "orders", 2, 3)
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

func consume(t *testing.T, k *services.Kafka, topic string, partition int32, n int) []*kgo.Record {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(k.Brokers()...), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{
		topic: {partition: kgo.NewOffset().AtStart()},
	}))
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

func TestKafkaPublishRefusesAnUnknownPartition(t *testing.T) {
	t.Parallel()
	k, err := services.StartKafka(t.Context(), services.KafkaOptions{Topics: map[string]int32{"orders": 1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Stop)
	_, err = k.Publish(t.Context(), record.Batch{{
		Partition: position.Partition{Topic: "orders", Number: 5},
		Records:   []record.Record{{Value: record.Present(bytes.Repeat([]byte("x"), 10))}},
	}})
	if err == nil {
		t.Error("got no error, want a refusal: the partition does not exist")
	}
}
