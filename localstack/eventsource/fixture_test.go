package eventsource_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tidemark/localstack/eventsource"
	"tidemark/localstack/services"
	"tidemark/shared/kafkaevent"
	"tidemark/shared/position"
	"tidemark/shared/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const topic = "orders"

func at(number int32) position.Partition { return position.Partition{Topic: topic, Number: number} }

// log starts Kafka with counts[i] records in partition i of the topic.
func log(t *testing.T, counts ...int) *services.Kafka {
	t.Helper()
	kafka, err := services.StartKafka(t.Context(), services.KafkaOptions{
		Topics: map[string]int32{topic: int32(len(counts))}, //nolint:gosec // a handful
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(kafka.Stop)
	for i, n := range counts {
		publish(t, kafka, int32(i), n)
	}
	return kafka
}

func publish(t *testing.T, kafka *services.Kafka, number int32, n int) {
	t.Helper()
	run := record.Run{Partition: at(number)}
	for i := range n {
		run.Records = append(run.Records, record.Record{Value: record.Present(fmt.Appendf(nil, "%d.%d", number, i))})
	}
	if _, err := kafka.Publish(t.Context(), record.Batch{run}); err != nil {
		t.Fatal(err)
	}
}

// source makes a Source of the whole topic that runs until its end and waits little.
func source(t *testing.T, kafka *services.Kafka, handler eventsource.HandlerFunc, change func(*eventsource.Options)) *eventsource.Source {
	t.Helper()
	options := eventsource.Options{
		Brokers: kafka.Brokers(), Topics: []string{topic}, Handler: handler, UntilEnd: true,
		ReportBatchItemFailures: true, Backoff: time.Millisecond, MaxBackoff: 4 * time.Millisecond,
	}
	if change != nil {
		change(&options)
	}
	s, err := eventsource.New(options)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const runDeadline = 60 * time.Second

func run(t *testing.T, s *eventsource.Source) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), runDeadline)
	defer cancel()
	return s.Run(ctx)
}

func mustRun(t *testing.T, s *eventsource.Source) {
	t.Helper()
	if err := run(t, s); err != nil {
		t.Fatal(err)
	}
}

// offsets are what an event delivers, per partition number.
type offsets map[int32][]int64

func offsetsOf(batch record.Batch) offsets {
	o := offsets{}
	for _, run := range batch {
		for _, r := range run.Records {
			o[run.Partition.Number] = append(o[run.Partition.Number], int64(r.Offset))
		}
	}
	return o
}

// script is a function that answers its invocations one after the other and acknowledges everything once it is through. It
// keeps what it was given.
type script struct {
	t       *testing.T
	answers []func(record.Batch) ([]byte, error)

	mu     sync.Mutex
	events []offsets
}

func (s *script) invoke(_ context.Context, payload []byte) ([]byte, error) {
	batch, err := kafkaevent.Decode(payload)
	if err != nil {
		s.t.Errorf("the event cannot be read: %v", err)
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, offsetsOf(batch))
	if len(s.events) <= len(s.answers) {
		return s.answers[len(s.events)-1](batch)
	}
	return nil, nil
}

func (s *script) seen() []offsets {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.events)
}

// list answers with the given offsets of one partition as failed.
func list(number int32, failed ...int64) func(record.Batch) ([]byte, error) {
	return func(record.Batch) ([]byte, error) {
		body := []byte(`{"batchItemFailures":[`)
		for i, offset := range failed {
			if i > 0 {
				body = append(body, ',')
			}
			body = fmt.Appendf(body, `{"itemIdentifier":{"partition":"%s-%d","offset":%d}}`, topic, number, offset)
		}
		return append(body, `]}`...), nil
	}
}

func say(body string) func(record.Batch) ([]byte, error) {
	return func(record.Batch) ([]byte, error) { return []byte(body), nil }
}

func fail(err error) func(record.Batch) ([]byte, error) {
	return func(record.Batch) ([]byte, error) { return nil, err }
}
