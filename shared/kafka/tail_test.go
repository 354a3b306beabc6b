package kafka_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/localstack/kafkalog"
	"tidemark/shared/fault"
	"tidemark/shared/kafka"
	"tidemark/shared/kafka/reach"
	"tidemark/shared/position"
	"tidemark/shared/record"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/inspection"
)

// fake is a stand-in whose answers a test may put words into. Its topic has three records.
type fake struct {
	*kfake.Cluster

	p position.Partition
}

func newFake(t *testing.T) *fake {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	f := &fake{Cluster: cluster, p: position.Partition{Topic: "orders"}}
	log, err := kafkalog.Open(kgo.SeedBrokers(cluster.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if err := log.CreateTopic(t.Context(), kafkalog.Topic{Name: f.p.Topic, Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Publish(t.Context(), record.Batch{{Partition: f.p, Records: make([]record.Record, 3)}}); err != nil {
		t.Fatal(err)
	}
	return f
}

// publish appends a record.
func (f *fake) publish(t *testing.T) {
	t.Helper()
	log, err := kafkalog.Open(kgo.SeedBrokers(f.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if _, err := log.Publish(t.Context(), record.Batch{{Partition: f.p, Records: make([]record.Record, 1)}}); err != nil {
		t.Fatal(err)
	}
}

// options are with a short time: tests wait for its end.
func (f *fake) options() kafka.Options {
	return kafka.Options{Reach: reach.Options{Brokers: f.ListenAddrs(), Timeout: time.Second}}
}

func (f *fake) tail(t *testing.T) recovery.Tail {
	t.Helper()
	return f.tailWith(t, f.options())
}

func (f *fake) tailWith(t *testing.T, options kafka.Options) recovery.Tail {
	t.Helper()
	log, err := kafka.Open(t.Context(), options)
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	t.Cleanup(log.Close)
	tail, err := log.Open(t.Context(), position.Cut{f.p: 1})
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	t.Cleanup(tail.Close)
	return tail
}

// says has the brokers answer every request for records so, until the returned function is called.
func (f *fake) says(change func(*kmsg.FetchResponse, *kmsg.FetchResponseTopicPartition)) (enough func()) {
	var over atomic.Bool
	f.ControlKey(int16(kmsg.Fetch), func(request kmsg.Request) (kmsg.Response, error, bool) {
		asked, ok := request.(*kmsg.FetchRequest)
		if over.Load() || !ok {
			return nil, nil, false
		}
		f.KeepControl()
		answer := kmsg.NewPtrFetchResponse()
		answer.SetVersion(request.GetVersion())
		topic, p := kmsg.NewFetchResponseTopic(), kmsg.NewFetchResponseTopicPartition()
		topic.Topic, topic.TopicID = asked.Topics[0].Topic, asked.Topics[0].TopicID
		p.HighWatermark, p.LastStableOffset = 3, 3
		topic.Partitions = append(topic.Partitions, p)
		answer.Topics = append(answer.Topics, topic)
		change(answer, &topic.Partitions[0])
		return answer, nil, true
	})
	return func() { over.Store(true) }
}

// TestTailJudges is the table of what brokers answer to a request for records, and of what it means.
func TestTailJudges(t *testing.T) {
	t.Parallel()
	code := func(e *kerr.Error) func(*kmsg.FetchResponse, *kmsg.FetchResponseTopicPartition) {
		return func(_ *kmsg.FetchResponse, p *kmsg.FetchResponseTopicPartition) { p.ErrorCode = e.Code }
	}
	for name, c := range map[string]struct {
		says  func(*kmsg.FetchResponse, *kmsg.FetchResponseTopicPartition)
		class fault.Class
		hint  string
	}{
		"NotItsLeader":       {code(kerr.NotLeaderForPartition), fault.Retryable, ""},
		"AnOlderEpoch":       {code(kerr.FencedLeaderEpoch), fault.Retryable, ""},
		"ANewerEpoch":        {code(kerr.UnknownLeaderEpoch), fault.Retryable, ""},
		"OffsetNotAvailable": {code(kerr.OffsetNotAvailable), fault.Retryable, ""},
		"ADiskError":         {code(kerr.KafkaStorageError), fault.Retryable, ""},
		"OutOfRangeWithinIt": {code(kerr.OffsetOutOfRange), fault.Retryable, ""}, // the log itself says otherwise
		"UnknownTopic":       {code(kerr.UnknownTopicOrPartition), fault.Gap, ""},
		"UnknownID":          {code(kerr.UnknownTopicID), fault.Gap, ""},
		"AnotherID":          {code(kerr.InconsistentTopicID), fault.Gap, ""},
		"NotAuthorized":      {code(kerr.TopicAuthorizationFailed), fault.Misconfigured, "Read"},
		"ACorruptLog":        {code(kerr.CorruptMessage), fault.Corrupt, ""},
		"WhatNobodyListed":   {code(kerr.UnknownServerError), fault.Unclassified, ""},
		"AnErrorOfTheWhole": {func(r *kmsg.FetchResponse, _ *kmsg.FetchResponseTopicPartition) {
			r.ErrorCode = kerr.UnknownTopicID.Code
		}, fault.Gap, ""},
		"AnotherPartition":   {func(_ *kmsg.FetchResponse, p *kmsg.FetchResponseTopicPartition) { p.Partition = 9 }, fault.Retryable, ""},
		"NothingBelowTheEnd": {func(*kmsg.FetchResponse, *kmsg.FetchResponseTopicPartition) {}, fault.Retryable, "a new record"},
		"GarbageBelowTheEnd": {func(_ *kmsg.FetchResponse, p *kmsg.FetchResponseTopicPartition) { p.RecordBatches = make([]byte, 99) }, fault.Retryable, "a new record"},
		"AnotherHistory":     {func(_ *kmsg.FetchResponse, p *kmsg.FetchResponseTopicPartition) { p.DivergingEpoch.EndOffset = 0 }, fault.Gap, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			tail := f.tail(t)
			enough := f.says(c.says)
			batch, moved, err := tail.Next(t.Context())
			if fault.ClassOf(err) != c.class || len(batch)+len(moved) > 0 {
				t.Errorf("got %v, %s, %v of class %s, want class %s", batch, moved, err, fault.ClassOf(err), c.class)
			}
			if err == nil || name != "AnErrorOfTheWhole" && !strings.Contains(err.Error(), "orders/0 at 1") {
				t.Errorf("got %v, want partition and position named", err)
			}
			if hint := fault.HintOf(err); !strings.Contains(hint, c.hint) {
				t.Errorf("got the hint %q, want %q in it", hint, c.hint)
			}
			enough()
			if batch, moved, err := next(t, tail); err != nil || moved[f.p] != 3 || len(batch) != 1 || batch[0].Records[0].Offset != 1 {
				t.Errorf("afterwards: got %v, %s, %v, want the records from 1 on", batch, moved, err)
			}
		})
	}
}

// next calls Next until it tells of records: an answer of before may still be on its way.
func next(t *testing.T, tail recovery.Tail) (record.Batch, position.Cut, error) {
	t.Helper()
	for {
		batch, moved, err := tail.Next(t.Context())
		if err == nil || t.Context().Err() != nil {
			return batch, moved, err
		}
	}
}

// TestTailWaits: an answer without the partition, and one that says that the log ends here, are no reason to stop.
func TestTailWaits(t *testing.T) {
	t.Parallel()
	for name, says := range map[string]func(*kmsg.FetchResponse, *kmsg.FetchResponseTopicPartition){
		"WhileItIsThrottled": func(r *kmsg.FetchResponse, _ *kmsg.FetchResponseTopicPartition) {
			r.Topics, r.ThrottleMillis = nil, 10
		},
		"AtTheEnd": func(_ *kmsg.FetchResponse, p *kmsg.FetchResponseTopicPartition) { p.LastStableOffset = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			tail := f.tail(t)
			enough := f.says(says)
			ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond) // more than the tail's own time
			defer cancel()
			if _, moved, err := tail.Next(ctx); !errors.Is(err, context.DeadlineExceeded) || !fault.Is(err, fault.Retryable) {
				t.Errorf("got %s, %v, want nothing until the context ends", moved, err)
			}
			enough()
			if _, moved, err := tail.Next(t.Context()); err != nil || moved[f.p] != 3 {
				t.Errorf("afterwards: got %s, %v, want the end", moved, err)
			}
		})
	}
}

// TestTailAsksForNoMore: a broker is asked once for each call that brought something, and once ahead. While it holds that
// back it is not asked again, however often the caller gives up and comes back.
func TestTailAsksForNoMore(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	options := f.options()
	options.MaxWait = time.Minute
	tail := f.tailWith(t, options)
	seen := make(chan struct{}, 99)
	f.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		f.KeepControl()
		seen <- struct{}{}
		return nil, nil, false
	})
	if _, _, err := tail.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if _, moved, err := tail.Next(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %s, %v, want nothing", moved, err)
		}
		cancel()
	}
	for range 2 { // requests of one connection come in turn: the second record comes behind all that were sent before
		f.publish(t)
		if _, moved, err := tail.Next(t.Context()); err != nil || len(moved) != 1 {
			t.Fatalf("got %s, %v, want the new record", moved, err)
		}
	}
	if asked := len(seen); asked > 4 {
		t.Errorf("got %d requests, want one for each of three answers and one ahead", asked)
	}
}

// TestSilence: brokers that cannot be reached, or never answer, are named in an error when the time is over.
func TestSilence(t *testing.T) {
	t.Parallel()
	mute, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = mute.Close() })
	for name, address := range map[string]string{"Refused": "127.0.0.1:1", "Mute": mute.Addr().String()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := kafka.Open(ctx, kafka.Options{Reach: reach.Options{Brokers: []string{address}, Timeout: time.Second}})
			if !fault.Is(err, fault.Retryable) || ctx.Err() != nil || !strings.Contains(err.Error(), address) {
				t.Errorf("got %v of class %s, want retryable with %s", err, fault.ClassOf(err), address)
			}
		})
	}
	t.Run("LostByATail", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		tail := f.tail(t)
		address := f.ListenAddrs()[0]
		f.Close()
		if _, _, err := tail.Next(t.Context()); !fault.Is(err, fault.Retryable) || !strings.Contains(err.Error(), address) {
			t.Errorf("got %v of class %s, want retryable with %s", err, fault.ClassOf(err), address)
		}
	})
	t.Run("ByTheCaller", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		log, err := kafka.Open(t.Context(), f.options())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(log.Close)
		tail := f.tail(t)
		over, cancel := context.WithCancel(t.Context())
		cancel()
		which := []position.Partition{f.p}
		_, bounds := log.Bounds(over, which)
		_, topics := log.Topics(over, []string{f.p.Topic})
		_, opened := log.Open(over, position.Cut{f.p: 0})
		_, _, read := tail.Next(over)
		for asked, err := range map[string]error{"bounds": bounds, "topics": topics, "open": opened, "next": read} {
			if !errors.Is(err, context.Canceled) || !fault.Is(err, fault.Retryable) {
				t.Errorf("%s: got %v of class %s, want the context's end", asked, err, fault.ClassOf(err))
			}
		}
	})
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	here := reach.Options{Brokers: []string{"127.0.0.1:1"}}
	for name, options := range map[string]kafka.Options{
		"NoBroker":    {},
		"NoWait":      {Reach: here, MaxWait: -1},
		"ALongWait":   {Reach: here, MaxWait: time.Hour},
		"NoBytes":     {Reach: here, MaxBytes: -1},
		"TooMany":     {Reach: here, MaxBytes: 1 << 30},
		"AnotherHost": {Reach: reach.Options{Brokers: []string{"192.0.2.1:9092"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := kafka.Open(t.Context(), options); !fault.Is(err, fault.Misconfigured) {
				t.Errorf("got %v of class %s, want misconfigured", err, fault.ClassOf(err))
			}
		})
	}
	t.Run("ATailOfNothing", func(t *testing.T) {
		t.Parallel()
		log, err := kafka.Open(t.Context(), newFake(t).options())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(log.Close)
		for _, from := range []position.Cut{nil, {position.Partition{Topic: "orders"}: -1}} {
			if _, err := log.Open(t.Context(), from); !fault.Is(err, fault.Bug) {
				t.Errorf("%s: got %v of class %s, want a bug", from, err, fault.ClassOf(err))
			}
		}
	})
}

// TestTopicsOfTheStandIn: what most tests of other packages ask the stand-in for.
func TestTopicsOfTheStandIn(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	log, err := kafka.Open(t.Context(), f.options())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(log.Close)
	topics, err := log.Topics(t.Context(), []string{f.p.Topic, "none"})
	if err != nil || len(topics) != 1 || !topics[f.p.Topic].Deleted || topics[f.p.Topic].DeleteRetention != 24*time.Hour {
		t.Errorf("got %+v, %v, want the one topic", topics, err)
	}
	bounds, err := log.Bounds(t.Context(), []position.Partition{f.p})
	if want := (inspection.Bounds{Stable: 3, End: 3}); err != nil || bounds[f.p] != want {
		t.Errorf("got %+v, %v, want %+v", bounds[f.p], err, want)
	}
	if none, err := log.Topics(t.Context(), nil); err != nil || len(none) != 0 {
		t.Errorf("got %v, %v for no topic", none, err)
	}
}
