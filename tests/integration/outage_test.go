//go:build integration

package integration_test

import (
	"context"
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/localstack/eventsource"
	"tidemark/shared/position"
)

// TestOutage kills the leader of a partition in the middle of a run and brings it back, then does the same to the leader
// that took over. What was confirmed is delivered, once each, and the source's run never ends.
//
// It is alone with the brokers: tests that run in parallel begin after it.
func TestOutage(t *testing.T) {
	const partitions, each = 3, 20
	s := newEntries(t, partitions)
	written := 0
	publish := func() {
		for number := range int32(partitions) {
			s.publish(t, number, entries(written, written+each)...)
			written += each
		}
	}
	publish()
	delivered, done := newTally(), newTally()
	f := s.function(t, nil)
	source := s.source(t, s.topics[0], f, func(o *eventsource.Options) {
		o.UntilEnd, o.BatchSize = false, 5
		o.Events.OnDelivered = func(eventsource.Event) { delivered.add(1) }
		o.Events.OnAcknowledged = func(_ eventsource.Event, records int) { done.add(records) }
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- source.Run(ctx) }()
	delivered.reaches(t, "events", 2)

	for range 2 {
		leader := s.leader(t)
		if err := cluster.Kill(leader); err != nil {
			t.Fatal(err)
		}
		publish() // two of three replicas confirm
		done.reaches(t, "records while a broker is down", written)
		if err := cluster.Restart(t.Context(), leader); err != nil {
			t.Fatal(err)
		}
		publish()
		done.reaches(t, "records after its restart", written)
		if err := cluster.AwaitReplicas(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the source ended with %v, want none of it to end it", err)
	}
	if applied, _ := f.counts(); applied != written {
		t.Errorf("applied %d records, want each of %d once", applied, written)
	}
	s.holds(t, written)
	for number := range int32(partitions) {
		s.stands(t, number, position.Offset(written/partitions))
	}
}

// leader is the broker that leads partition 0 of the first topic.
func (s *stage) leader(t *testing.T) int {
	t.Helper()
	client, err := kgo.NewClient(cluster.Client()...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	topics, err := kadm.NewClient(client).ListTopics(t.Context(), s.topics[0])
	if err != nil {
		t.Fatal(err)
	}
	return int(topics[s.topics[0]].Partitions[0].Leader)
}
