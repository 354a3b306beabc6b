package eventsource_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark/localstack/eventsource"
	"tidemark/localstack/kafkalog"
	"tidemark/localstack/services"
	"tidemark/shared/kafkaevent"
	"tidemark/shared/position"
	"tidemark/shared/record"
)

// model is a function that keeps the rule of the checkpoint: in each partition it applies the record at its next offset,
// skips what is below and meets nothing above. Its answers fail at random, until it has failed often enough.
type model struct {
	t        *rapid.T
	next     position.Cut
	failures int // still to come at most
	partial  bool
	calls    int
}

var errModel = errors.New("the model fails")

func (m *model) invoke(_ context.Context, payload []byte) ([]byte, error) {
	m.calls++
	batch, err := kafkaevent.Decode(payload)
	if err != nil {
		m.t.Fatalf("event: %v", err)
	}
	how := "succeed"
	if m.failures > 0 {
		m.failures--
		how = rapid.SampledFrom([]string{"succeed", "error", "apply some", "lose the reply", "garble", "name another"}).Draw(m.t, "how")
	}
	switch how {
	case "error":
		return nil, errModel
	case "apply some":
		m.apply(batch, true)
		if !m.partial && !kafkaevent.AllApplied(batch, m.next) {
			return nil, errModel
		}
		return kafkaevent.Reply(batch, m.next), nil
	case "lose the reply":
		m.apply(batch, false)
		return nil, errModel
	case "garble":
		if m.partial {
			return []byte(`{"batchItemFailures":`), nil
		}
		return nil, errModel
	case "name another":
		if m.partial {
			return []byte(`{"batchItemFailures":[{"itemIdentifier":{"partition":"elsewhere-0","offset":0}}]}`), nil
		}
		return nil, errModel
	}
	m.apply(batch, false)
	return kafkaevent.Reply(batch, m.next), nil
}

// apply applies each run, or with some only a beginning of it.
func (m *model) apply(batch record.Batch, some bool) {
	for _, run := range batch {
		n := len(run.Records)
		if some {
			n = rapid.IntRange(0, n).Draw(m.t, "applied")
		}
		for i := range run.Records[:n] {
			offset := run.Records[i].Offset
			switch next := m.next[run.Partition]; {
			case next.Before(offset):
				m.t.Fatalf("%s: got %s while %s is next: records were skipped", run.Partition, offset, next)
			case offset == next:
				m.next[run.Partition] = offset.Next()
			}
			if want := fmt.Sprintf("%d.%d", run.Partition.Number, offset); string(run.Records[i].Value.Bytes()) != want {
				m.t.Fatalf("%s@%s: got %q, want %q", run.Partition, offset, run.Records[i].Value.Bytes(), want)
			}
		}
	}
}

func TestSourceLosesAndSkipsNothing(t *testing.T) {
	t.Parallel()
	kafka, err := services.StartKafka(t.Context(), services.KafkaOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(kafka.Stop)
	topics := 0
	rapid.Check(t, func(rt *rapid.T) {
		topics++
		name := fmt.Sprintf("history-%d", topics)
		ends := history(rt, kafka, name)
		m := &model{
			t: rt, next: position.Cut{}, failures: rapid.IntRange(0, 30).Draw(rt, "failures"),
			partial: rapid.Bool().Draw(rt, "partial"),
		}
		src, err := eventsource.New(eventsource.Options{
			Brokers: kafka.Brokers(), Topics: []string{name}, Handler: eventsource.HandlerFunc(m.invoke), UntilEnd: true,
			BatchSize: rapid.IntRange(1, 20).Draw(rt, "batch size"), ReportBatchItemFailures: m.partial,
			Redelivery: rapid.SampledFrom([]eventsource.Redelivery{eventsource.Rewind, eventsource.OnlyListed}).Draw(rt, "reading"),
			Backoff:    100 * time.Microsecond, MaxBackoff: time.Millisecond,
		})
		if err != nil {
			rt.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), runDeadline)
		defer cancel()
		if err := src.Run(ctx); err != nil {
			rt.Fatalf("run: %v after %d invocations, next is %s", err, m.calls, m.next)
		}
		for partition, end := range ends {
			if m.next[partition] != end || src.Positions()[partition] != end {
				rt.Fatalf("%s: got next %s and position %s, want %s", partition, m.next[partition], src.Positions()[partition], end)
			}
		}
	})
}

// history makes a topic of 1 to 3 partitions with 0 to 40 records each and returns their ends.
func history(rt *rapid.T, kafka *services.Kafka, name string) position.Cut {
	counts := rapid.SliceOfN(rapid.IntRange(0, 40), 1, 3).Draw(rt, "records")
	topic := kafkalog.Topic{Name: name, Partitions: int32(len(counts))} //nolint:gosec // at most 3
	if err := kafka.CreateTopic(context.Background(), topic); err != nil {
		rt.Fatal(err)
	}
	ends := position.Cut{}
	var batch record.Batch
	for number, n := range counts {
		run := record.Run{Partition: position.Partition{Topic: name, Number: int32(number)}}
		for i := range n {
			run.Records = append(run.Records, record.Record{Value: record.Present(fmt.Appendf(nil, "%d.%d", number, i))})
		}
		ends[run.Partition] = position.Offset(n)
		batch = append(batch, run)
	}
	if _, err := kafka.Publish(context.Background(), batch); err != nil {
		rt.Fatal(err)
	}
	return ends
}
