package kafka

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/recovery/inspection"
)

// The times that stand for a partition's ends, and how much of it a reader may see.
const (
	atEnd   = -1
	atStart = -2

	everything    int8 = 0
	committedOnly int8 = 1
)

// Bounds gives where partitions begin and end, as asked now. The beginning is asked for first and the end last: whatever
// happens in between, Start <= Stable <= End.
func (l *Log) Bounds(
	ctx context.Context, partitions []position.Partition,
) (map[position.Partition]inspection.Bounds, error) {
	starts, err := l.offsets(ctx, partitions, atStart, everything)
	if err != nil {
		return nil, err
	}
	stable, err := l.offsets(ctx, partitions, atEnd, committedOnly)
	if err != nil {
		return nil, err
	}
	ends, err := l.offsets(ctx, partitions, atEnd, everything)
	if err != nil {
		return nil, err
	}
	bounds := make(map[position.Partition]inspection.Bounds, len(partitions))
	for _, p := range partitions {
		bounds[p] = inspection.Bounds{Start: starts[p], Stable: stable[p], End: ends[p]}
	}
	return bounds, nil
}

// OffsetAt is the offset of the first record of that time or later, the end when there is none: the last stable one,
// since nothing can be read behind it.
func (l *Log) OffsetAt(ctx context.Context, p position.Partition, at time.Time) (position.Offset, error) {
	if at.UnixMilli() < 0 {
		at = time.UnixMilli(0) // negative times mean something else to brokers, and no record has one
	}
	// The end first: a record that comes in between may be of that time, and then the end lies before it.
	end, err := l.offsets(ctx, []position.Partition{p}, atEnd, committedOnly)
	if err != nil {
		return 0, err
	}
	found, err := l.offsets(ctx, []position.Partition{p}, firstMillisecond(at), committedOnly)
	if err != nil {
		return 0, err
	}
	if found[p] < 0 {
		return end[p], nil
	}
	return found[p], nil
}

// firstMillisecond is the first time of a record that is not before at: records know milliseconds only.
func firstMillisecond(at time.Time) int64 {
	millis := at.UnixMilli()
	if time.UnixMilli(millis).Before(at) {
		millis++
	}
	return millis
}

// offsets asks the leaders of partitions for an offset of each: at one of the ends, or of a time, then below 0 for none.
func (s session) offsets(ctx context.Context, partitions []position.Partition, at int64, isolation int8) (position.Cut, error) {
	request := kmsg.NewPtrListOffsetsRequest()
	request.IsolationLevel = isolation
	request.TimeoutMillis = int32(s.limit.Milliseconds()) //nolint:gosec // a matter of seconds
	for topic, numbers := range byTopic(partitions) {
		asked := kmsg.NewListOffsetsRequestTopic()
		asked.Topic = topic
		for _, number := range numbers {
			p := kmsg.NewListOffsetsRequestTopicPartition()
			p.Partition, p.Timestamp = number, at
			asked.Partitions = append(asked.Partitions, p)
		}
		request.Topics = append(request.Topics, asked)
	}
	found := make(position.Cut, len(partitions))
	err := s.questionLeaders(ctx, "ask for offsets", request, func(answer kmsg.Response) error {
		given, ok := answer.(*kmsg.ListOffsetsResponse)
		if !ok {
			return errOther
		}
		return collect(found, given)
	})
	if err != nil {
		return nil, err
	}
	for _, p := range partitions {
		if _, ok := found[p]; !ok {
			return nil, fault.New(fault.Retryable, "ask for offsets: the answer leaves out %s", p)
		}
	}
	return found, nil
}

func collect(found position.Cut, given *kmsg.ListOffsetsResponse) error {
	for _, topic := range given.Topics {
		for _, p := range topic.Partitions {
			which := position.Partition{Topic: topic.Topic, Number: p.Partition}
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return fmt.Errorf("partition %s: %w", which, err)
			}
			found[which] = position.Offset(p.Offset)
		}
	}
	return nil
}

// EpochEnd is the offset behind the last record of a leader epoch, as the log has it now. When the log has nothing of
// that epoch, it is the end of the newest one before it.
//
// Errors: fault.Gap when the log has not come to that epoch, which it then had in another life.
func (l *Log) EpochEnd(ctx context.Context, p position.Partition, epoch int32) (position.Offset, error) {
	if epoch < 0 {
		return 0, fault.New(fault.Bug, "ask for the end of epoch %d of %s: there is no such epoch", epoch, p)
	}
	request := kmsg.NewPtrOffsetForLeaderEpochRequest()
	topic, asked := kmsg.NewOffsetForLeaderEpochRequestTopic(), kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
	asked.Partition, asked.LeaderEpoch = p.Number, epoch
	topic.Topic, topic.Partitions = p.Topic, []kmsg.OffsetForLeaderEpochRequestTopicPartition{asked}
	request.Topics = []kmsg.OffsetForLeaderEpochRequestTopic{topic}
	end := position.Offset(-1)
	err := l.questionLeaders(ctx, "ask for the end of an epoch", request, func(answer kmsg.Response) error {
		given, ok := answer.(*kmsg.OffsetForLeaderEpochResponse)
		if !ok || len(given.Topics) != 1 || len(given.Topics[0].Partitions) != 1 {
			return errOther
		}
		got := given.Topics[0].Partitions[0]
		if err := kerr.ErrorForCode(got.ErrorCode); err != nil {
			return fmt.Errorf("partition %s: %w", p, err)
		}
		end = position.Offset(got.EndOffset)
		return nil
	})
	if err == nil && end < 0 {
		err = fault.New(fault.Gap, "partition %s has no leader epoch %d: the log is not the one that had it", p, epoch)
	}
	return end, err
}

var errOther = fault.New(fault.Retryable, "the answer is not to what was asked")

// questionLeaders sends each leader its part of a request. The client finds the leaders, and finds them anew when they changed.
func (s session) questionLeaders(ctx context.Context, what string, request kmsg.Request, take func(kmsg.Response) error) error {
	return s.ask(ctx, what, func(ctx context.Context) error {
		return eachShard(s.client.RequestSharded(ctx, request), take)
	})
}

func eachShard(shards []kgo.ResponseShard, take func(kmsg.Response) error) error {
	for _, shard := range shards {
		if shard.Err != nil {
			return fmt.Errorf("partitions %v: %w", asked(shard.Req), shard.Err)
		}
		if err := take(shard.Resp); err != nil {
			return err
		}
	}
	return nil
}

// asked lists the partitions of a part of a request.
func asked(request kmsg.Request) (partitions []position.Partition) {
	switch r := request.(type) {
	case *kmsg.ListOffsetsRequest:
		for _, topic := range r.Topics {
			for _, p := range topic.Partitions {
				partitions = append(partitions, position.Partition{Topic: topic.Topic, Number: p.Partition})
			}
		}
	case *kmsg.OffsetForLeaderEpochRequest:
		for _, topic := range r.Topics {
			for _, p := range topic.Partitions {
				partitions = append(partitions, position.Partition{Topic: topic.Topic, Number: p.Partition})
			}
		}
	}
	return partitions
}

func byTopic(partitions []position.Partition) map[string][]int32 {
	topics := map[string][]int32{}
	for _, p := range partitions {
		topics[p.Topic] = append(topics[p.Topic], p.Number)
	}
	return topics
}
