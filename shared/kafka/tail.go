package kafka

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/shared/fault"
	"tidemark/shared/kafka/reach"
	"tidemark/shared/position"
	"tidemark/shared/record"
	"tidemark/shared/recovery"
)

// tail reads partitions from exact offsets on, with requests of its own instead of the client's consumer: that one hands
// out records, and a position that must not stand still at the end of a compacted log, or at markers, is more than the
// offset of the last record. See docs of Next for what moves a position.
type tail struct {
	session

	decompressor kgo.Decompressor
	cursors      []*cursor      // who has waited longest comes first
	asked        map[int32]bool // brokers that owe an answer
	answers      chan answer
	stale        bool        // some cursor has no leader
	rest         *time.Timer // runs until the next look for leaders, nil when that may be now
	held         error       // the next call's, because this one had records to hand over

	attempt func() (context.Context, context.CancelFunc) // lasts as long as a request may, and no longer than the tail
	end     context.CancelFunc
	ended   <-chan struct{}
	running sync.WaitGroup
}

// cursor is a partition and where its reader stands.
type cursor struct {
	partition position.Partition
	topicID   [16]byte
	next      position.Offset
	epoch     int32 // of the leader that wrote the batch before next, where it was read
	leader    int32
	term      int32 // the leader's epoch
	// patience runs from the first failure to read the partition on, nil while it is read.
	patience *time.Timer
}

const (
	noLeader = -1
	restTime = 100 * time.Millisecond
)

// Open reads partitions from these offsets on, committed records alone. The caller closes the tail. Topics are told by
// their ids from now on.
//
// Errors: fault.Misconfigured when a topic or partition does not exist.
func (l *Log) Open(ctx context.Context, from position.Cut) (_ recovery.Tail, err error) {
	if err := from.Validate(); err != nil || from.IsZero() {
		return nil, fault.New(fault.Bug, "open a tail of %d partitions: %w", len(from), err)
	}
	s, err := newSession(l.options, l.options.Reach.Attempt())
	if err != nil {
		return nil, err
	}
	base, end := context.WithCancel(context.WithoutCancel(ctx))
	t := &tail{
		session: s, decompressor: kgo.DefaultDecompressor(), asked: map[int32]bool{}, answers: make(chan answer), stale: true,
		end: end, ended: base.Done(),
		attempt: func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(base, s.limit+s.options.MaxWait)
		},
	}
	defer func() {
		if err != nil {
			t.Close()
		}
	}()
	for _, p := range from.Partitions() {
		t.cursors = append(t.cursors, &cursor{partition: p, next: from[p], epoch: noEpoch, leader: noLeader})
	}
	seen, err := t.metadata(ctx, names(t.cursors))
	if err != nil {
		return nil, err
	}
	for _, c := range t.cursors {
		topic, known := seen[c.partition.Topic]
		if !known || int(c.partition.Number) >= len(topic.Partitions) {
			return nil, fault.New(fault.Misconfigured, "open a tail at %s: the partition does not exist", c.partition)
		}
		c.topicID = topic.TopicID
	}
	return t, nil
}

// Close ends the tail's requests and connections.
func (t *tail) Close() {
	t.end()
	t.running.Wait()
	for _, c := range t.cursors {
		c.calm()
	}
	if t.rest != nil {
		t.rest.Stop()
	}
	t.client.Close()
}

// Next gives the records that came next and how far each partition that moved was read. It asks the brokers for more
// before it returns, so that the caller's work and theirs overlap: an answer of each broker may wait for the next call.
//
// A position moves to the end of the last whole batch of an answer, and by nothing else. That reaches the last stable
// offset, which lies behind a batch, be it a marker or one of which compaction left the head alone. Where brokers say
// that it lies further and have no batch there, which takes a cleaned log that was cut off and not written since, no
// answer proves that nothing was there: throttled brokers, a full answer and slow remote storage look the same. Then the
// tail stands, and says so after the options' timeout.
//
// Errors: ErrOutOfRange when the log no longer has the next offset, and fault.Gap as well when the topic was deleted or
// made anew or its log has another history; fault.Corrupt for batches that do not check; fault.Retryable when the context
// ends, or when a partition could not be read for the options' timeout and one more try. The tail can be read on after each.
func (t *tail) Next(ctx context.Context) (record.Batch, position.Cut, error) {
	for {
		if err := t.held; err != nil {
			t.held = nil
			return nil, nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, nil, fault.New(fault.Retryable, "read on: %w", err)
		}
		if t.stale && t.rest == nil {
			if t.held = t.findLeaders(ctx); t.held != nil {
				continue
			}
		}
		t.askLeaders() //nolint:contextcheck // an answer may be for the next call: requests live as long as the tail
		batch, moved, err := t.await(ctx)
		if len(moved) > 0 {
			t.held = err
			t.askLeaders() //nolint:contextcheck // as above
			return batch, moved, nil
		}
		t.held = err
	}
}

// await waits for one thing to happen.
func (t *tail) await(ctx context.Context) (record.Batch, position.Cut, error) {
	var rested <-chan time.Time
	if t.rest != nil {
		rested = t.rest.C
	}
	select {
	case a := <-t.answers:
		delete(t.asked, a.broker)
		return t.take(ctx, a)
	case <-rested:
		t.rest = nil
	case <-ctx.Done():
	}
	return nil, nil, nil
}

// findLeaders asks for the leaders of the partitions that have none.
func (t *tail) findLeaders(ctx context.Context) error {
	orphans := slices.DeleteFunc(slices.Clone(t.cursors), func(c *cursor) bool { return c.leader != noLeader })
	seen, err := t.metadata(ctx, names(orphans))
	if err != nil {
		return t.fail(ctx, err, orphans...)
	}
	t.stale = false
	var first error
	for _, c := range orphans {
		if err := c.lead(seen); err != nil {
			first = cmp.Or(first, t.fail(ctx, err, c))
		}
	}
	return first
}

// lead takes a partition's leader from what the cluster knows of its topic. A topic of another id is another topic.
func (c *cursor) lead(seen map[string]kmsg.MetadataResponseTopic) error {
	topic, known := seen[c.partition.Topic]
	if known && topic.TopicID != c.topicID {
		return fault.New(fault.Gap, "read %s at %s: the topic was made anew: it is %s and was %s",
			c.partition, c.next, uuid(topic.TopicID), uuid(c.topicID))
	}
	for _, p := range topic.Partitions {
		if p.Partition != c.partition.Number {
			continue
		}
		if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
			return reach.Fault(err, "read %s at %s", c.partition, c.next)
		}
		c.leader, c.term = p.Leader, p.LeaderEpoch
		return nil
	}
	return c.gone(kerr.UnknownTopicOrPartition)
}

// gone says that brokers do not know the partition. One of them may be behind the others, so this is borne for a while.
func (c *cursor) gone(err error) error {
	return fault.New(fault.Gap, "read %s at %s: the topic is gone: %w", c.partition, c.next, err)
}

// fail leaves partitions alone until their leaders were looked for again. It gives the error back when that does not mend
// it, or has not for too long.
func (t *tail) fail(ctx context.Context, err error, cursors ...*cursor) error {
	select {
	case <-ctx.Done():
		return nil // nobody failed, and Next says so
	default:
	}
	passes := fault.Is(err, fault.Retryable) || errors.Is(err, kerr.UnknownTopicOrPartition) || errors.Is(err, kerr.UnknownTopicID)
	t.stale = true
	if t.rest == nil {
		t.rest = time.NewTimer(restTime)
	}
	borne := true
	for _, c := range cursors {
		c.leader = noLeader
		borne = c.bears(t.options.Reach.Timeout) && borne
	}
	if passes && borne {
		return nil
	}
	return err
}

// bears says whether a failure may still pass. It begins to count at the first one, and anew when it has said no.
func (c *cursor) bears(limit time.Duration) bool {
	if c.patience == nil {
		c.patience = time.NewTimer(limit)
		return true
	}
	select {
	case <-c.patience.C:
		c.patience = nil
		return false
	default:
		return true
	}
}

func (c *cursor) calm() {
	if c.patience != nil {
		c.patience.Stop()
		c.patience = nil
	}
}
