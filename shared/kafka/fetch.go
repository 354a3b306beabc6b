package kafka

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/shared/fault"
	"tidemark/shared/kafka/reach"
	"tidemark/shared/position"
	"tidemark/shared/record"
	"tidemark/shared/recovery"
)

// answer is what came of asking one broker.
type answer struct {
	broker  int32
	cursors []*cursor // those that were asked for, in the order of the request
	got     *kmsg.FetchResponse
	err     error
}

// askLeaders asks every broker that leads a partition and owes no answer.
func (t *tail) askLeaders() {
	led := map[int32][]*cursor{}
	for _, c := range t.cursors {
		if c.leader != noLeader && !t.asked[c.leader] {
			led[c.leader] = append(led[c.leader], c)
		}
	}
	for broker, cursors := range led {
		t.asked[broker] = true
		request, ordered := t.request(cursors)
		t.running.Go(func() {
			ctx, cancel := t.attempt()
			defer cancel()
			a := answer{broker: broker, cursors: ordered}
			response, err := t.client.Broker(int(broker)).Request(ctx, request)
			if got, ok := response.(*kmsg.FetchResponse); ok {
				a.got = got
			} else {
				a.err = cmp.Or(err, error(errOther))
			}
			select {
			case t.answers <- a:
			case <-t.ended:
			}
		})
	}
}

// request asks for the partitions in the order in which they wait: a broker fills its answer from the front, and gives
// the first that has anything a whole batch, however large. With the leader's epoch and that of the last batch the broker
// compares histories: it refuses a reader that has records which it lost.
func (t *tail) request(cursors []*cursor) (*kmsg.FetchRequest, []*cursor) {
	request := kmsg.NewPtrFetchRequest()
	request.MaxWaitMillis = int32(t.options.MaxWait.Milliseconds()) //nolint:gosec // validated
	request.MinBytes, request.MaxBytes, request.IsolationLevel = 1, t.options.MaxBytes, committedOnly
	places := map[string]int{}
	for _, c := range cursors {
		place, known := places[c.partition.Topic]
		if !known {
			place = len(request.Topics)
			places[c.partition.Topic] = place
			topic := kmsg.NewFetchRequestTopic()
			topic.Topic, topic.TopicID = c.partition.Topic, c.topicID
			request.Topics = append(request.Topics, topic)
		}
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes = c.partition.Number, int64(c.next), t.options.MaxBytes
		p.CurrentLeaderEpoch, p.LastFetchedEpoch = c.term, c.epoch
		request.Topics[place].Partitions = append(request.Topics[place].Partitions, p)
	}
	ordered := slices.Clone(cursors)
	slices.SortStableFunc(ordered, func(a, b *cursor) int {
		return cmp.Compare(places[a.partition.Topic], places[b.partition.Topic])
	})
	return request, ordered
}

// take moves the cursors over what an answer holds.
func (t *tail) take(ctx context.Context, a answer) (record.Batch, position.Cut, error) {
	if a.err == nil {
		a.err = kerr.ErrorForCode(a.got.ErrorCode)
	}
	if a.err != nil {
		return nil, nil, t.fail(ctx, t.refused(a), a.cursors...)
	}
	answers := byPartition(a)
	var batch record.Batch
	var first error
	moved, served, full := position.Cut{}, map[*cursor]bool{}, false
	for _, c := range a.cursors {
		given := answers[c.partition]
		if given == nil {
			if a.got.ThrottleMillis == 0 {
				first = cmp.Or(first, t.fail(ctx, fault.New(fault.Retryable, "read %s at %s: %w", c.partition, c.next, errOther), c))
			}
			continue
		}
		got, err := t.judge(ctx, c, given, full)
		if err != nil {
			first = cmp.Or(first, t.fail(ctx, err, c))
			continue
		}
		c.calm()
		full = full || len(given.RecordBatches) > 0
		if got.next == c.next {
			continue
		}
		c.next, c.epoch = got.next, got.epoch
		moved[c.partition], served[c] = c.next, true
		if len(got.records) > 0 {
			batch = append(batch, record.Run{Partition: c.partition, Records: got.records})
		}
	}
	t.rotate(served)
	slices.SortFunc(batch, func(a, b record.Run) int { return a.Partition.Compare(b.Partition) })
	return batch, moved, first
}

// refused is the error of a whole answer, with the broker's name where the client has one.
func (t *tail) refused(a answer) error {
	return reach.Fault(a.err, "read %d partitions of broker %d of %s", len(a.cursors), a.broker, strings.Join(t.options.Reach.Brokers, ", "))
}

// byPartition finds the parts of an answer. Brokers name topics by id, those before Kafka 3.1 by name.
func byPartition(a answer) map[position.Partition]*kmsg.FetchResponseTopicPartition {
	topics := map[[16]byte]string{}
	for _, c := range a.cursors {
		topics[c.topicID] = c.partition.Topic
	}
	found := map[position.Partition]*kmsg.FetchResponseTopicPartition{}
	for i := range a.got.Topics {
		topic := &a.got.Topics[i]
		name := cmp.Or(topics[topic.TopicID], topic.Topic)
		for j := range topic.Partitions {
			found[position.Partition{Topic: name, Number: topic.Partitions[j].Partition}] = &topic.Partitions[j]
		}
	}
	return found
}

// judge says what an answer means for one partition. full: others before it had something, so nothing may mean no room.
func (t *tail) judge(ctx context.Context, c *cursor, given *kmsg.FetchResponseTopicPartition, full bool) (piece, error) {
	switch err := kerr.ErrorForCode(given.ErrorCode); {
	case errors.Is(err, kerr.OffsetOutOfRange):
		return piece{}, t.outOfRange(ctx, c)
	case errors.Is(err, kerr.UnknownTopicOrPartition), errors.Is(err, kerr.UnknownTopicID), errors.Is(err, kerr.InconsistentTopicID):
		return piece{}, c.gone(err)
	case err != nil:
		return piece{}, reach.Fault(err, "read %s at %s", c.partition, c.next)
	case given.DivergingEpoch.EndOffset >= 0:
		return piece{}, fault.New(fault.Gap, "read %s at %s: the log has another history: its leader epoch %d ends at %d",
			c.partition, c.next, given.DivergingEpoch.Epoch, given.DivergingEpoch.EndOffset)
	}
	got, err := c.read(given, t.decompressor)
	if err == nil && !full && got.next == c.next && c.next.Before(position.Offset(given.LastStableOffset)) {
		err = fault.New(fault.Retryable, "read %s at %s: the log is stable up to %d, and the broker gives nothing of that",
			c.partition, c.next, given.LastStableOffset).
			WithHint("a slow or throttled broker is one reason; if it stays, a new record in the partition shows what lies before it")
	}
	return got, err
}

// outOfRange asks where the log is now: a leader that just took over may not know its own end yet.
func (t *tail) outOfRange(ctx context.Context, c *cursor) error {
	which := []position.Partition{c.partition}
	starts, err := t.offsets(ctx, which, atStart, everything)
	if err != nil {
		return err
	}
	ends, err := t.offsets(ctx, which, atEnd, everything)
	if err != nil {
		return err
	}
	held := position.Range{From: starts[c.partition], Until: ends[c.partition]}
	if held.Contains(c.next) || c.next == held.Until {
		return fault.New(fault.Retryable, "read %s at %s: %w", c.partition, c.next, kerr.OffsetOutOfRange)
	}
	return fault.New(fault.Gap, "read %s at %s: %w: it holds %s", c.partition, c.next, recovery.ErrOutOfRange, held)
}

// rotate lets the partitions that an answer had something of wait behind the others, so that none starves.
func (t *tail) rotate(served map[*cursor]bool) {
	if len(served) == 0 {
		return
	}
	slices.SortStableFunc(t.cursors, func(a, b *cursor) int {
		switch {
		case served[a] == served[b]:
			return 0
		case served[a]:
			return 1
		}
		return -1
	})
}
