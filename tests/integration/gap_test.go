//go:build integration

package integration_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/localstack/brokers"
	"tidemark/localstack/eventsource"
	"tidemark/localstack/kafkalog"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/record"
)

// TestGap takes records away from the target in each way that brokers have. Nothing behind a hole may be applied, and
// nobody may call the hole empty.
func TestGap(t *testing.T) {
	t.Parallel()
	t.Run("Retention/BelowThePosition", retentionBelowThePosition)
	t.Run("Retention/WhileTheSourceRuns", retentionWhileTheSourceRuns)
	t.Run("Retention/BelowTheCheckpointOfANewSource", retentionBelowTheCheckpoint)
	t.Run("TopicMadeAnew/ForANewSource", topicMadeAnew)
	t.Run("TopicMadeAnew/WhileTheSourceRuns", topicMadeAnewWhileTheSourceRuns)
	t.Run("Transactions/Committed", func(t *testing.T) { t.Parallel(); transactions(t, kgo.TryCommit) })
	t.Run("Transactions/Aborted", func(t *testing.T) { t.Parallel(); transactions(t, kgo.TryAbort) })
	t.Run("Compaction", compaction)
}

func retentionBelowThePosition(t *testing.T) {
	t.Parallel()
	s := newEntries(t, 1)
	s.publish(t, 0, entries(0, 10)...)
	source := s.source(t, s.topics[0], s.function(t, nil), nil)
	mustRun(t, source)
	s.publish(t, 0, entries(10, 30)...)
	s.truncate(t, 15)
	if err := run(t, source); !fault.Is(err, fault.Gap) {
		t.Errorf("got %v of class %s, want a gap", err, fault.ClassOf(err))
	}
	if got := source.Positions()[s.partition(0)]; got != 10 {
		t.Errorf("the source's position is %s, want 10: nothing is skipped", got)
	}
	s.holds(t, 10)
	s.stands(t, 0, 10)
}

// gate is a function that waits before each invocation.
type gate struct {
	eventsource.Handler

	before func(ctx context.Context) error
}

// Invoke waits and invokes.
func (g gate) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	if err := g.before(ctx); err != nil {
		return nil, err
	}
	return g.Handler.Invoke(ctx, payload)
}

// retentionWhileTheSourceRuns deletes records that a running source has not fetched yet. A fetch brings one batch, and the
// next is asked for when that one is taken, so a source that waits for its function has at most a few of twenty.
func retentionWhileTheSourceRuns(t *testing.T) {
	t.Parallel()
	s := newEntries(t, 1)
	for id := range 20 {
		s.publish(t, 0, entries(id, id+1)...)
	}
	entered, open := newTally(), newTally()
	handler := gate{s.function(t, nil), func(ctx context.Context) error {
		entered.add(1)
		return open.await(ctx, 1)
	}}
	source := s.source(t, s.topics[0], handler, func(o *eventsource.Options) {
		o.BatchSize, o.Client = 1, append(o.Client, kgo.FetchMaxPartitionBytes(1))
	})
	ended := make(chan error, 1)
	go func() { ended <- run(t, source) }()
	entered.reaches(t, "events", 1)
	s.truncate(t, 15)
	open.add(1)
	if err := <-ended; !fault.Is(err, fault.Gap) {
		t.Errorf("got %v of class %s, want a gap", err, fault.ClassOf(err))
	}
	at := source.Positions()[s.partition(0)]
	if at < 1 || at >= 15 {
		t.Errorf("the source's position is %s, want one below 15: nothing is skipped", at)
	}
	s.holds(t, int(at))
	s.stands(t, 0, at)
}

// retentionBelowTheCheckpoint has a source that knows no position: it begins where the log does now, as one made anew
// does, and only the ledger knows better.
func retentionBelowTheCheckpoint(t *testing.T) {
	t.Parallel()
	s := newEntries(t, 1)
	s.publish(t, 0, entries(0, 10)...)
	mustRun(t, s.source(t, s.topics[0], s.function(t, nil), nil))
	s.publish(t, 0, entries(10, 30)...)
	s.truncate(t, 15)
	s.stopsAtGap(t, "[10,15)", nil)
	s.holds(t, 10)
	s.stands(t, 0, 10)
}

// topicMadeAnew has a log that begins again at 0 below a checkpoint: what comes is not old, whatever its offsets say.
func topicMadeAnew(t *testing.T) {
	t.Parallel()
	for name, records := range map[string]int{"ShorterThanTheCheckpoint": 5, "LongerThanTheCheckpoint": 25} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newEntries(t, 1)
			s.publish(t, 0, at(time.Now().Add(-time.Minute), entries(0, 10))...)
			mustRun(t, s.source(t, s.topics[0], s.function(t, nil), nil))
			s.makeAnew(t)
			s.publish(t, 0, entries(100, 100+records)...)
			s.stopsAtGap(t, "record 0 is below the checkpoint 10", nil)
			s.holds(t, 10)
			s.stands(t, 0, 10)
		})
	}
}

func topicMadeAnewWhileTheSourceRuns(t *testing.T) {
	t.Parallel()
	s := newEntries(t, 1)
	s.publish(t, 0, entries(0, 10)...)
	done := newTally()
	source := s.source(t, s.topics[0], s.function(t, nil), func(o *eventsource.Options) {
		o.UntilEnd = false
		o.Events.OnAcknowledged = func(_ eventsource.Event, records int) { done.add(records) }
	})
	ended := make(chan error, 1)
	go func() { ended <- run(t, source) }()
	done.reaches(t, "records", 10)
	s.makeAnew(t)
	s.publish(t, 0, entries(100, 125)...)
	if err := <-ended; !fault.Is(err, fault.Gap) {
		t.Errorf("got %v of class %s, want a gap", err, fault.ClassOf(err))
	}
	s.holds(t, 10)
	s.stands(t, 0, 10)
}

// transactions leave a marker at an offset of its own, and aborted records that nobody may see. A dense log has neither,
// so the hole stops the flow, as docs/configuration.md says.
func transactions(t *testing.T, end kgo.TransactionEndTry) {
	t.Helper()
	s := newEntries(t, 1)
	s.publish(t, 0, entries(0, 2)...)
	client, err := kgo.NewClient(append(cluster.Secure().Client(brokers.SHA256),
		kgo.TransactionalID(s.prefix), kgo.DefaultProduceTopic(s.topics[0]))...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := client.ProduceSync(t.Context(), &kgo.Record{Value: entry(2, "n").Value.Bytes()}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if err := client.EndTransaction(t.Context(), end); err != nil {
		t.Fatal(err)
	}
	s.awaitMarker(t, 3)
	s.publish(t, 0, entries(3, 4)...)
	hole, applied := "[3,4)", 3
	if end == kgo.TryAbort {
		hole, applied = "[2,4)", 2
	}
	s.stopsAtGap(t, hole, func(o *eventsource.Options) { o.ReadCommitted = true })
	s.holds(t, applied)
	s.stands(t, 0, position.Offset(applied))
}

// awaitMarker waits until the transaction's marker is at an offset: brokers write it after they have said that the
// transaction ended.
func (s *stage) awaitMarker(t *testing.T, offset position.Offset) {
	t.Helper()
	client, err := kgo.NewClient(cluster.Client()...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	await(t, "the transaction's marker is in the log", func(ctx context.Context) (bool, error) {
		stable, err := kadm.NewClient(client).ListCommittedOffsets(ctx, s.topics[0])
		if err != nil {
			return false, err
		}
		found, _ := stable.Lookup(s.topics[0], 0)
		return found.Offset == int64(offset.Next()), found.Err
	})
}

// compaction removes the record at 1, which has a successor of its key.
func compaction(t *testing.T) {
	t.Parallel()
	const segment = time.Minute
	s := newStage(t, tables, "", kafkalog.Topic{Name: "kept", Partitions: 1, Config: map[string]string{
		"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.001", "segment.ms": "60000",
	}})
	begin := time.Now().Add(-10 * segment)
	s.publish(t, 0, at(begin, []record.Record{kept(0), kept(1), kept(2), kept(1)})...)
	s.publish(t, 0, at(begin.Add(2*segment), []record.Record{kept(3)})...) // begins a segment: the first may be cleaned
	await(t, "the log is cleaned", func(ctx context.Context) (bool, error) {
		next, err := s.next(ctx, 1)
		return next > 1, err
	})
	s.stopsAtGap(t, "[1,2)", nil)
	s.has(t, "SELECT id FROM shop.kept ORDER BY id", []int{0})
	s.stands(t, 0, 1)
}

// next is the offset of the first record of the first topic from an offset on.
func (s *stage) next(ctx context.Context, from position.Offset) (position.Offset, error) {
	client, err := kgo.NewClient(append(cluster.Client(), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{
		s.topics[0]: {0: kgo.NewOffset().At(int64(from))},
	}))...)
	if err != nil {
		return 0, err
	}
	defer client.Close()
	fetches := client.PollRecords(ctx, 1)
	if err := fetches.Err(); err != nil {
		return 0, err
	}
	return position.Offset(fetches.Records()[0].Offset), nil
}

func at(when time.Time, records []record.Record) []record.Record {
	for i := range records {
		records[i].Time = when
	}
	return records
}

func (s *stage) truncate(t *testing.T, before position.Offset) {
	t.Helper()
	if err := log.Truncate(t.Context(), s.partition(0), before); err != nil {
		t.Fatal(err)
	}
}

func (s *stage) makeAnew(t *testing.T) {
	t.Helper()
	if err := log.DeleteTopic(t.Context(), s.topics[0]); err != nil {
		t.Fatal(err)
	}
	if err := log.CreateTopic(t.Context(), kafkalog.Topic{Name: s.topics[0], Partitions: 1}); err != nil {
		t.Fatal(err)
	}
}

// stopsAtGap delivers the first topic from its start until a delivery fails a second time without progress, and verifies
// that the function says gap, and why.
func (s *stage) stopsAtGap(t *testing.T, why string, change func(*eventsource.Options)) {
	t.Helper()
	f := s.function(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	failures := 0
	source := s.source(t, s.topics[0], f, func(o *eventsource.Options) {
		if change != nil {
			change(o)
		}
		o.Events.OnFailed = func(eventsource.Event, int, error) {
			if failures++; failures == 2 {
				cancel()
			}
		}
	})
	if err := source.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want a source that delivers again until it is told to stop", err)
	}
	f.stoppedAt(t, "gap", why)
}
