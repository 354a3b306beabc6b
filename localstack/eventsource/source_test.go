package eventsource_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/localstack/eventsource"
	"tidemark/shared/fault"
	"tidemark/shared/kafkaevent"
	"tidemark/shared/position"
	"tidemark/shared/record"
)

func TestSource(t *testing.T) {
	t.Parallel()

	t.Run("DeliversEverythingOnceInOrder", func(t *testing.T) {
		t.Parallel()
		s := &script{t: t}
		src := source(t, log(t, 5, 3), s.invoke, func(o *eventsource.Options) { o.BatchSize = 4 })
		mustRun(t, src)
		got := offsets{}
		for _, event := range s.seen() {
			records := 0
			for number, delivered := range event {
				got[number] = append(got[number], delivered...)
				records += len(delivered)
			}
			if records > 4 {
				t.Errorf("got an event of %d records, want at most 4", records)
			}
		}
		if diff := cmp.Diff(offsets{0: {0, 1, 2, 3, 4}, 1: {0, 1, 2}}, got); diff != "" {
			t.Errorf("delivered (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(position.Cut{at(0): 5, at(1): 3}, src.Positions()); diff != "" {
			t.Errorf("positions (-want +got):\n%s", diff)
		}
	})

	t.Run("MakesEventsOfTheServicesForm", func(t *testing.T) {
		t.Parallel()
		kafka := log(t, 0, 0)
		want := record.Batch{
			{Partition: at(0), Records: []record.Record{
				{Key: record.Present([]byte("k")), Value: record.Null(), Time: time.UnixMilli(1_700_000_000_001)},
				{Value: record.Present([]byte{}), Time: time.UnixMilli(1_700_000_000_002)},
			}},
			{Partition: at(1), Records: []record.Record{{
				Key: record.Present([]byte{}), Value: record.Present([]byte("v")), Time: time.UnixMilli(1_700_000_000_003),
				Headers: []record.Header{{Name: "h", Value: record.Present([]byte{200, 1})}, {Name: "h", Value: record.Null()}},
			}}},
		}
		want, err := kafka.Publish(t.Context(), want)
		if err != nil {
			t.Fatal(err)
		}
		var payloads [][]byte
		mustRun(t, source(t, kafka, func(_ context.Context, payload []byte) ([]byte, error) {
			payloads = append(payloads, payload)
			return nil, nil
		}, func(o *eventsource.Options) { o.BatchSize, o.Window = 3, runDeadline }))
		if len(payloads) != 1 {
			t.Fatalf("got %d events, want one with both partitions", len(payloads))
		}
		if !bytes.Contains(payloads[0], []byte(`"h":[-56,1]`)) || !bytes.Contains(payloads[0], []byte(`"orders-1"`)) {
			t.Errorf("got %s, want signed header bytes and named partitions", payloads[0])
		}
		got, err := kafkaevent.Decode(payloads[0])
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(record.Data{})); diff != "" {
			t.Errorf("event (-want +got):\n%s", diff)
		}
	})

	t.Run("StartsWhereItIsTold", func(t *testing.T) {
		t.Parallel()
		s := &script{t: t}
		mustRun(t, source(t, log(t, 4), s.invoke, func(o *eventsource.Options) { o.Start = position.Cut{at(0): 2} }))
		if diff := cmp.Diff([]offsets{{0: {2, 3}}}, s.seen()); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})

	t.Run("StartsAtTheLogsStart", func(t *testing.T) {
		t.Parallel()
		kafka, s := log(t, 4), &script{t: t}
		if err := kafka.Truncate(t.Context(), at(0), 3); err != nil {
			t.Fatal(err)
		}
		mustRun(t, source(t, kafka, s.invoke, nil))
		if diff := cmp.Diff([]offsets{{0: {3}}}, s.seen()); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})

	t.Run("WaitsForAFullEvent", func(t *testing.T) {
		t.Parallel()
		kafka := log(t, 0)
		ctx, cancel := context.WithTimeout(t.Context(), runDeadline)
		defer cancel()
		s := &script{t: t}
		src := source(t, kafka, func(ctx context.Context, payload []byte) ([]byte, error) {
			defer cancel()
			return s.invoke(ctx, payload)
		}, func(o *eventsource.Options) { o.UntilEnd, o.Window, o.BatchSize = false, 300*time.Second, 3 })
		ended := make(chan error, 1)
		go func() { ended <- src.Run(ctx) }()
		for range 3 {
			publish(t, kafka, 0, 1)
		}
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]offsets{{0: {0, 1, 2}}}, s.seen()); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})

	t.Run("DeliversWhatCameInTheWindow", func(t *testing.T) {
		t.Parallel()
		s := &script{t: t}
		mustRun(t, source(t, log(t, 2), s.invoke, func(o *eventsource.Options) { o.Window = 50 * time.Millisecond }))
		if diff := cmp.Diff([]offsets{{0: {0, 1}}}, s.seen()); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})

	t.Run("GoesOnAtItsPositions", func(t *testing.T) {
		t.Parallel()
		kafka := log(t, 4)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := &script{t: t}
		s.answers = append(s.answers, say(""), func(record.Batch) ([]byte, error) {
			cancel() // the answer reaches nobody
			return nil, nil
		})
		src := source(t, kafka, s.invoke, func(o *eventsource.Options) { o.BatchSize = 2 })
		if err := src.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want context.Canceled", err)
		}
		if diff := cmp.Diff(position.Cut{at(0): 2}, src.Positions()); diff != "" {
			t.Errorf("positions (-want +got):\n%s", diff)
		}
		mustRun(t, src)
		if diff := cmp.Diff([]offsets{{0: {0, 1}}, {0: {2, 3}}, {0: {2, 3}}}, s.seen()); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})

	t.Run("LeavesOutAbortedTransactions", func(t *testing.T) {
		t.Parallel()
		kafka, s := log(t, 1), &script{t: t}
		transact(t, kafka.Brokers(), kgo.TryCommit)
		transact(t, kafka.Brokers(), kgo.TryAbort)
		src := source(t, kafka, s.invoke, func(o *eventsource.Options) {
			o.ReadCommitted, o.BatchSize, o.Window = true, 2, runDeadline
		})
		mustRun(t, src)
		if diff := cmp.Diff([]offsets{{0: {0, 1}}}, s.seen()); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		// 0 plain, 1 committed, 2 its marker, 3 aborted, 4 its marker
		if diff := cmp.Diff(position.Cut{at(0): 5}, src.Positions()); diff != "" {
			t.Errorf("positions (-want +got):\n%s", diff)
		}
	})

	// While the partition waits, more of it is at hand than is kept; it must be fetched further after that.
	t.Run("FetchesOnAfterABacklog", func(t *testing.T) {
		t.Parallel()
		s := &script{t: t, answers: []func(record.Batch) ([]byte, error){list(0, 0)}}
		src := source(t, log(t, 15_000), s.invoke, func(o *eventsource.Options) { o.BatchSize = 1000 })
		mustRun(t, src)
		if diff := cmp.Diff(position.Cut{at(0): 15_000}, src.Positions()); diff != "" {
			t.Errorf("positions (-want +got):\n%s", diff)
		}
	})

	t.Run("GivesEachPartitionItsTurn", func(t *testing.T) {
		t.Parallel()
		s := &script{t: t}
		mustRun(t, source(t, log(t, 100, 100), s.invoke, func(o *eventsource.Options) { o.BatchSize = 10 }))
		begin := offsets{}
		for _, event := range s.seen()[:4] {
			for number, delivered := range event {
				begin[number] = append(begin[number], delivered...)
			}
		}
		if len(begin) != 2 {
			t.Errorf("got %v in the first four events, want both partitions", begin)
		}
	})
}

func transact(t *testing.T, brokers []string, end kgo.TransactionEndTry) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.TransactionalID("writer"), kgo.DefaultProduceTopic(topic))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := client.ProduceSync(t.Context(), kgo.StringRecord("x")).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if err := client.EndTransaction(t.Context(), end); err != nil {
		t.Fatal(err)
	}
}

func TestSourceKeepsEventsBelowTheLimit(t *testing.T) {
	t.Parallel()
	kafka := log(t, 0, 0)
	large := record.Record{Value: record.Present(make([]byte, 2<<20))}
	if _, err := kafka.Publish(t.Context(), record.Batch{
		{Partition: at(0), Records: []record.Record{large, large, large}},
		{Partition: at(1), Records: []record.Record{large, large}},
	}); err != nil {
		t.Fatal(err)
	}
	s := &script{t: t}
	src := source(t, kafka, func(ctx context.Context, payload []byte) ([]byte, error) {
		if len(payload) > 6<<20 {
			t.Errorf("got an event of %d bytes, want at most 6 MB", len(payload))
		}
		return s.invoke(ctx, payload)
	}, nil)
	mustRun(t, src)
	if diff := cmp.Diff(position.Cut{at(0): 3, at(1): 2}, src.Positions()); diff != "" {
		t.Errorf("positions (-want +got):\n%s", diff)
	}

	if _, err := kafka.Publish(t.Context(), record.Batch{
		{Partition: at(1), Records: []record.Record{{Value: record.Present(make([]byte, 5<<20))}}},
	}); err != nil {
		t.Fatal(err)
	}
	if err := run(t, src); !fault.Is(err, fault.Poison) {
		t.Errorf("got %v, want poison: the record fits no event", err)
	}
	if got := src.Positions()[at(1)]; got != 2 {
		t.Errorf("got position %s, want 2: nothing is skipped", got)
	}
}

func TestSourceRefuses(t *testing.T) {
	t.Parallel()
	never := eventsource.HandlerFunc(func(context.Context, []byte) ([]byte, error) {
		t.Error("an event was delivered")
		return nil, nil
	})
	kafka := log(t, 4, 0)
	if err := kafka.Truncate(t.Context(), at(0), 2); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*eventsource.Options)
		want   fault.Class
	}{
		"APositionBeforeTheLog": {func(o *eventsource.Options) { o.Start = position.Cut{at(0): 1} }, fault.Gap},
		"APositionBehindTheLog": {func(o *eventsource.Options) { o.Start = position.Cut{at(0): 5} }, fault.Gap},
		"AnUnknownPartition":    {func(o *eventsource.Options) { o.Start = position.Cut{at(7): 0} }, fault.Misconfigured},
		"AnUnknownTopic":        {func(o *eventsource.Options) { o.Topics = []string{"missing"} }, fault.Misconfigured},
		"ABatchSizeAboveTheCap": {func(o *eventsource.Options) { o.BatchSize = 10_001 }, fault.Misconfigured},
		"AWindowAboveTheCap":    {func(o *eventsource.Options) { o.Window = 301 * time.Second }, fault.Misconfigured},
		"AnUnknownReading":      {func(o *eventsource.Options) { o.Redelivery = 9 }, fault.Misconfigured},
		"NoTopics":              {func(o *eventsource.Options) { o.Topics = nil }, fault.Misconfigured},
		"NoBrokers":             {func(o *eventsource.Options) { o.Brokers = nil }, fault.Misconfigured},
		"NoHandler":             {func(o *eventsource.Options) { o.Handler = nil }, fault.Misconfigured},
		"ANegativeBackoff":      {func(o *eventsource.Options) { o.Backoff = -1 }, fault.Misconfigured},
		"AnImpossibleClient":    {func(o *eventsource.Options) { o.Client = []kgo.Opt{kgo.MaxBufferedRecords(-1)} }, fault.Misconfigured},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := eventsource.Options{Brokers: kafka.Brokers(), Topics: []string{topic}, Handler: never, UntilEnd: true}
			c.change(&options)
			s, err := eventsource.New(options)
			if err == nil {
				err = run(t, s)
			}
			if !fault.Is(err, c.want) {
				t.Errorf("got %v of class %s, want %s", err, fault.ClassOf(err), c.want)
			}
		})
	}

	t.Run("ASecondRun", func(t *testing.T) {
		t.Parallel()
		var src *eventsource.Source
		src = source(t, log(t, 1), func(ctx context.Context, _ []byte) ([]byte, error) {
			if err := src.Run(ctx); !fault.Is(err, fault.Bug) {
				t.Errorf("got %v, want a bug", err)
			}
			return nil, nil
		}, nil)
		mustRun(t, src)
	})
}
