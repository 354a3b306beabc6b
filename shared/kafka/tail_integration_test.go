//go:build integration

package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/fault"
	"tidemark/shared/kafka"
	"tidemark/shared/position"
	"tidemark/shared/record"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/inspection"
)

// TestTail is about what moves a position, on real brokers.
func TestTail(t *testing.T) {
	t.Parallel()
	t.Run("EndsBehindTheMarkerOfACommit", func(t *testing.T) { t.Parallel(); endsBehindAMarker(t, kgo.TryCommit) })
	t.Run("EndsBehindTheMarkerOfAnAbort", func(t *testing.T) { t.Parallel(); endsBehindAMarker(t, kgo.TryAbort) })
	t.Run("StandsBeforeAnOpenTransaction", standsBeforeAnOpenTransaction)
	t.Run("EndsBehindTheCompactedTailOfABatch", endsBehindACompactedTail)
	t.Run("SaysWhatTheLogNoLongerHas/BeforeReading", trimmedBeforeReading)
	t.Run("SaysWhatTheLogNoLongerHas/WhileReading", trimmedWhileReading)
	t.Run("SaysWhatTheLogDoesNotHaveYet", beyondTheEnd)
	t.Run("SaysThatTheTopicWasMadeAnew", madeAnew)
	t.Run("SaysThatTheTopicIsGone", gone)
	t.Run("KeepsNullAndEmptyApart", keepsNullAndEmptyApart)
	t.Run("ReadsALargeRecord", readsALargeRecord)
	t.Run("ReadsManyPartitionsWithoutStarvingOne", readsManyPartitions)
	t.Run("TakesUpWhatComesLater", takesUpWhatComesLater)
}

// transaction writes values and ends as told; the marker is in the log when it returns.
func (s *stage) transaction(t *testing.T, end kgo.TransactionEndTry, values ...string) {
	t.Helper()
	producer := client(t, kgo.TransactionalID(s.topic+fmt.Sprint(time.Now().UnixNano())), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	s.begin(t, producer, values...)
	before := s.bounds(t.Context(), t).End
	if err := producer.EndTransaction(t.Context(), end); err != nil {
		t.Fatal(err)
	}
	await(t, "the marker is in the log", func(ctx context.Context) (bool, error) {
		b := s.bounds(ctx, t)
		return b.End == before+1 && b.Stable == b.End, nil
	})
}

func (s *stage) begin(t *testing.T, producer *kgo.Client, values ...string) {
	t.Helper()
	if err := producer.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	for _, value := range values {
		if err := producer.ProduceSync(t.Context(), &kgo.Record{Topic: s.topic, Value: []byte(value)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *stage) bounds(ctx context.Context, t *testing.T) inspection.Bounds {
	t.Helper()
	bounds, err := s.log.Bounds(ctx, []position.Partition{s.partition(0)})
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	return bounds[s.partition(0)]
}

func endsBehindAMarker(t *testing.T, end kgo.TransactionEndTry) {
	t.Helper()
	s := newStage(t, 1, nil)
	s.publish(t, 0, texts("a", "b")...)
	s.transaction(t, kgo.TryAbort, "never", "never")
	s.transaction(t, kgo.TryCommit, "c")
	s.transaction(t, end, "d")
	want := []string{"a", "b", "c"}
	if end == kgo.TryCommit {
		want = append(want, "d")
	}
	for _, few := range []int32{0, 1} { // all in one answer, and a batch an answer
		log := open(t, kafka.Options{Reach: plainly().Reach, MaxBytes: few})
		s.reads(t, log, 0, want...)
		s.reads(t, log, 3, want[2:]...) // from within the transaction that was aborted
	}
}

// standsBeforeAnOpenTransaction: what is behind an open transaction is not read, whosever it is, and comes when it ends.
func standsBeforeAnOpenTransaction(t *testing.T) {
	t.Parallel()
	s := newStage(t, 1, nil)
	s.publish(t, 0, texts("a")...)
	producer := client(t, kgo.TransactionalID(s.topic), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	s.begin(t, producer, "b")
	s.publish(t, 0, texts("c")...)
	if got, want := s.bounds(t.Context(), t), (inspection.Bounds{Start: 0, Stable: 1, End: 3}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	s.reads(t, s.log, 0, "a")
	p, tail := s.partition(0), s.tail(t, s.log, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	batch, moved, err := tail.Next(ctx)
	if !fault.Is(err, fault.Retryable) || !errors.Is(err, context.DeadlineExceeded) || len(batch)+len(moved) > 0 {
		t.Errorf("got %v, %s, %v, want nothing until the time is over", batch, moved, err)
	}
	if err := producer.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	got, err := readUntil(t.Context(), t, tail, position.Cut{p: 1}, position.Cut{p: 4})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b", "c"}, got.values[p]); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// endsBehindACompactedTail has batches of which compaction takes the last records, and one of which it leaves the head
// alone. A reader who asks for one batch at a time stands behind each of them in turn.
func endsBehindACompactedTail(t *testing.T) {
	t.Parallel()
	const segment = time.Minute
	s := newStage(t, 1, map[string]string{
		"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.001", "segment.ms": "60000",
	})
	begin := time.Now().Add(-10 * segment)
	produce := func(producer *kgo.Client, at time.Time, keys ...string) {
		t.Helper()
		var records []*kgo.Record
		for _, key := range keys {
			records = append(records, &kgo.Record{Topic: s.topic, Key: []byte(key), Value: []byte(key + fmt.Sprint(at.Unix()-begin.Unix())), Timestamp: at})
		}
		if err := producer.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	producers := make([]*kgo.Client, 3) // each keeps its last batch, if need be without records
	for i := range producers {
		producers[i] = client(t, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(100*time.Millisecond))
	}
	produce(producers[0], begin, "a", "b", "c")                       // [0,3): b and c go
	produce(producers[1], begin, "d", "e")                            // [3,5): all goes
	produce(producers[2], begin.Add(time.Second), "c", "b", "e", "d") // [5,9)
	produce(producers[2], begin.Add(2*segment), "f")                  // [9,10): a segment of its own
	await(t, "the log is cleaned", func(ctx context.Context) (bool, error) { return s.offsetsOf(ctx) == "0 5 6 7 8 9", nil })

	log := open(t, kafka.Options{Reach: plainly().Reach, MaxBytes: 1})
	got := s.reads(t, log, 0, "a0", "c1", "b1", "e1", "d1", "f120")
	var steps []position.Offset
	for _, step := range got.steps {
		steps = append(steps, step[s.partition(0)])
	}
	if diff := cmp.Diff([]position.Offset{3, 5, 9, 10}, steps); diff != "" {
		t.Errorf("positions, a batch at a time (-want +got):\n%s", diff)
	}
	s.reads(t, open(t, plainly()), 0, "a0", "c1", "b1", "e1", "d1", "f120")
	s.reads(t, log, 2, "c1", "b1", "e1", "d1", "f120")
}

// offsetsOf lists what a plain consumer is given.
func (s *stage) offsetsOf(ctx context.Context) string {
	consumer, err := kgo.NewClient(append(cluster.Client(), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{
		s.topic: {0: kgo.NewOffset().AtStart()},
	}))...)
	if err != nil {
		return err.Error()
	}
	defer consumer.Close()
	var offsets []string
	for len(offsets) == 0 || offsets[len(offsets)-1] != "9" {
		fetches := consumer.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err.Error()
		}
		for _, r := range fetches.Records() {
			offsets = append(offsets, fmt.Sprint(r.Offset))
		}
	}
	return strings.Join(offsets, " ")
}

func (s *stage) truncate(t *testing.T, before position.Offset) {
	t.Helper()
	if err := publisher.Truncate(t.Context(), s.partition(0), before); err != nil {
		t.Fatal(err)
	}
}

// mustBeOutOfRange verifies a gap that names the partition, the position and what the log has.
func mustBeOutOfRange(t *testing.T, err error, names ...string) {
	t.Helper()
	if !fault.Is(err, fault.Gap) || !errors.Is(err, recovery.ErrOutOfRange) {
		t.Fatalf("got %v of class %s, want a gap that says out of range", err, fault.ClassOf(err))
	}
	for _, name := range names {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("got %q, want it to name %s", err, name)
		}
	}
}

func trimmedBeforeReading(t *testing.T) {
	t.Parallel()
	s := newStage(t, 1, nil)
	s.publish(t, 0, texts("a", "b", "c", "d")...)
	s.truncate(t, 3)
	tail := s.tail(t, s.log, 1)
	for range 2 { // and it stays so
		_, moved, err := tail.Next(t.Context())
		mustBeOutOfRange(t, err, s.partition(0).String(), "at 1", "[3,4)")
		if len(moved) > 0 {
			t.Errorf("moved to %s", moved)
		}
	}
	s.reads(t, s.log, 3, "d")
}

func trimmedWhileReading(t *testing.T) {
	t.Parallel()
	s := newStage(t, 1, nil)
	for i := range 20 {
		s.publish(t, 0, texts(fmt.Sprint(i))...) // a batch each
	}
	log := open(t, kafka.Options{Reach: plainly().Reach, MaxBytes: 1})
	tail, p := s.tail(t, log, 0), s.partition(0)
	_, moved, err := tail.Next(t.Context())
	if err != nil || moved[p] != 1 {
		t.Fatalf("got %s, %v, want the first batch", moved, err)
	}
	s.truncate(t, 15)
	at := moved[p]
	for err == nil && at < 20 {
		_, moved, err = tail.Next(t.Context())
		at = max(at, moved[p])
	}
	mustBeOutOfRange(t, err, p.String(), "at "+at.String(), "[15,20)")
	if at >= 15 {
		t.Errorf("the reader stands at %s, want it below the gap", at)
	}
}

func beyondTheEnd(t *testing.T) {
	t.Parallel()
	s := newStage(t, 1, nil)
	s.publish(t, 0, texts("a")...)
	_, _, err := s.tail(t, s.log, 7).Next(t.Context())
	mustBeOutOfRange(t, err, "at 7", "[0,1)")
}

func madeAnew(t *testing.T) {
	t.Parallel()
	for name, records := range map[string][]string{"Shorter": {"x"}, "Longer": {"x", "y", "z", "u"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, 1, nil)
			s.publish(t, 0, texts("a", "b")...)
			before, p := s.id(t), s.partition(0)
			tail := s.tail(t, s.log, 0)
			if _, moved, err := tail.Next(t.Context()); err != nil || moved[p] != 2 {
				t.Fatalf("got %s, %v, want all of it", moved, err)
			}
			if err := publisher.DeleteTopic(t.Context(), s.topic); err != nil {
				t.Fatal(err)
			}
			s.make(t, 1, nil)
			s.publish(t, 0, texts(records...)...)
			batch, moved, err := tail.Next(t.Context())
			if !fault.Is(err, fault.Gap) || !strings.Contains(err.Error(), "made anew") || len(batch)+len(moved) > 0 {
				t.Errorf("got %v, %s, %v of class %s, want a gap that says why", batch, moved, err, fault.ClassOf(err))
			}
			if after := s.id(t); after == before {
				t.Errorf("the id is %s before and after", after)
			}
		})
	}
}

func (s *stage) id(t *testing.T) string {
	t.Helper()
	topics, err := s.log.Topics(t.Context(), []string{s.topic})
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	return topics[s.topic].ID
}

func gone(t *testing.T) {
	t.Parallel()
	s := newStage(t, 1, nil)
	options := plainly()
	options.Reach.Timeout = 2 * time.Second
	tail := s.tail(t, open(t, options), 0)
	if err := publisher.DeleteTopic(t.Context(), s.topic); err != nil {
		t.Fatal(err)
	}
	if _, _, err := tail.Next(t.Context()); !fault.Is(err, fault.Gap) {
		t.Errorf("got %v of class %s, want a gap", err, fault.ClassOf(err))
	}
}

func keepsNullAndEmptyApart(t *testing.T) {
	t.Parallel()
	s := newStage(t, 1, nil)
	when := time.UnixMilli(1_700_000_000_123).UTC()
	want := []record.Record{
		{Time: when, Key: record.Present([]byte("k")), Value: record.Null()},
		{Time: when, Key: record.Null(), Value: record.Present([]byte{})},
		{Time: when, Key: record.Present([]byte{}), Value: record.Present([]byte("v")), Headers: []record.Header{
			{Name: "h", Value: record.Null()}, {Name: "h", Value: record.Present([]byte{})}, {Name: "", Value: record.Present([]byte{0xff, 0})},
		}},
	}
	s.publish(t, 0, want...)
	for i := range want {
		want[i].Offset = position.Offset(i)
	}
	batch, _, err := s.tail(t, s.log, 0).Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	data := cmp.Comparer(func(a, b record.Data) bool {
		return a.IsMissing() == b.IsMissing() && a.IsNull() == b.IsNull() && string(a.Bytes()) == string(b.Bytes())
	})
	if diff := cmp.Diff(record.Batch{{Partition: s.partition(0), Records: want}}, batch, data); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

func readsALargeRecord(t *testing.T) {
	t.Parallel()
	s := newStage(t, 1, nil)
	large := strings.Repeat("x", 5<<20)
	s.publish(t, 0, texts("a", large, "b")...)
	s.reads(t, open(t, kafka.Options{Reach: plainly().Reach, MaxBytes: 1 << 10}), 0, "a", large, "b")
}

// readsManyPartitions has one partition with much and many with little, and answers that hold a batch.
func readsManyPartitions(t *testing.T) {
	t.Parallel()
	const partitions = 100
	s := newStage(t, partitions, nil)
	from, until, want := position.Cut{}, position.Cut{}, map[position.Partition][]string{}
	for number := range int32(partitions) {
		p := s.partition(number)
		for i := range 1 + 19*max(0, 1-number) { // twenty batches in the first one
			value := fmt.Sprint(number, ".", i)
			s.publish(t, number, texts(value)...)
			want[p] = append(want[p], value)
		}
		from[p], until[p] = 0, position.Offset(len(want[p]))
	}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	log := open(t, kafka.Options{Reach: plainly().Reach, MaxBytes: 1})
	got, err := readUntil(ctx, t, openTail(t, log, from), from, until)
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	if diff := cmp.Diff(want, got.values); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	// Those that wait at the same broker all come before the last batch of the large one.
	seen, err := admin(t).ListTopics(ctx, s.topic)
	if err != nil {
		t.Fatal(err)
	}
	done := position.Cut{}
	for _, step := range got.steps {
		maps.Copy(done, step)
		if step[s.partition(0)] == until[s.partition(0)] {
			break
		}
	}
	led := seen[s.topic].Partitions
	for p := range until {
		if led[p.Number].Leader == led[0].Leader && done[p] != until[p] {
			t.Errorf("%s had nothing of its broker's answers while the large partition was read", p)
		}
	}
}

func takesUpWhatComesLater(t *testing.T) {
	t.Parallel()
	s := newStage(t, 1, nil)
	tail, p := s.tail(t, s.log, 0), s.partition(0)
	got := make(chan error, 1)
	go func() {
		_, err := readUntil(t.Context(), t, tail, position.Cut{p: 0}, position.Cut{p: 2})
		got <- err
	}()
	s.publish(t, 0, texts("a")...)
	if _, err := admin(t).UpdatePartitions(t.Context(), 3, s.topic); err != nil { // of no concern to the tail
		t.Fatal(err)
	}
	s.publish(t, 0, texts("b")...)
	if err := <-got; err != nil {
		t.Error(err)
	}
	await(t, "the new partitions are seen", func(ctx context.Context) (bool, error) {
		topics, err := s.log.Topics(ctx, []string{s.topic})
		return topics[s.topic].Partitions == 3, err
	})
	if _, err := s.log.Open(t.Context(), position.Cut{s.partition(2): 0, s.partition(3): 0}); !fault.Is(err, fault.Misconfigured) {
		t.Errorf("got %v, want a refusal: there is no partition 3", err)
	}
}
