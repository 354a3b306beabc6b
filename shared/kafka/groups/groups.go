// Package groups owns how Tidemark reads and moves the offsets that a consumer group committed in Kafka. It fulfils
// switchover.Groups.
//
// It refuses to join a group and to move one that has members: a commit names no member, and brokers take such a commit for
// an empty group only, so nobody can join between a look and the move. It reads and writes no records.
//
// Every question ends within its time or with its context, in an error that names the brokers. Groups may be used by several
// goroutines.
package groups

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/fault"
	"tidemark/shared/kafka/reach"
	"tidemark/shared/position"
	"tidemark/shared/recovery/switchover"
)

// longestNote is what brokers take beside an offset unless they are told otherwise.
const longestNote = 4096

// Groups are the consumer groups of one cluster.
type Groups struct {
	admin *kadm.Client
	reach reach.Options
}

var _ switchover.Groups = (*Groups)(nil)

// Open makes a client; nothing is dialled yet. The caller closes it. Errors: fault.Misconfigured.
func Open(options reach.Options) (*Groups, error) {
	options = options.WithDefaults()
	how, err := options.Client()
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(how...)
	if err != nil {
		return nil, fault.New(fault.Misconfigured, "make a Kafka client: %w", err)
	}
	return &Groups{admin: kadm.NewClient(client), reach: options}, nil
}

// Close ends the connections.
func (g *Groups) Close() { g.admin.Close() }

// Committed is where a group stands in a topic; empty where it stands nowhere, or does not exist.
//
// Errors: fault.Misconfigured when the group may not be seen, fault.Retryable when no broker answers.
func (g *Groups) Committed(ctx context.Context, group, topic string) (position.Cut, error) {
	at := position.Cut{}
	err := g.ask(ctx, "ask where group "+group+" stands", func(ctx context.Context) error {
		found, err := g.admin.FetchOffsets(ctx, group)
		if errors.Is(err, kerr.GroupIDNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		for number, p := range found[topic] {
			which := position.Partition{Topic: topic, Number: number}
			if p.Err != nil {
				return fmt.Errorf("partition %s: %w", which, p.Err)
			}
			if p.At >= 0 {
				at[which] = position.Offset(p.At)
			}
		}
		return nil
	})
	return at, err
}

// Move commits offsets for a group without members, with a note beside each. A group that does not exist is made. Partitions
// that are not named stay where they are. Called again it commits the same.
//
// Errors: switchover.ErrMembers, which is fault.Retryable, with who they are; fault.Misconfigured when the group may not be
// moved, or a partition does not exist; fault.UnknownOutcome when no answer came, and the same call may be made again.
func (g *Groups) Move(ctx context.Context, group string, to position.Cut, note string) error {
	if err := to.Validate(); err != nil || len(note) > longestNote {
		return fault.New(fault.Bug, "move group %s to %s with a note of %d bytes: %w", group, to, len(note), err)
	}
	offsets := kadm.Offsets{}
	for p, offset := range to {
		// No epoch: the target does not know which leader wrote the record before, and a wrong one is a truncation to a poller.
		offsets.Add(kadm.Offset{Topic: p.Topic, Partition: p.Number, At: int64(offset), LeaderEpoch: -1, Metadata: note})
	}
	err := g.ask(ctx, "move group "+group, func(ctx context.Context) error {
		answer, err := g.admin.CommitOffsets(ctx, group, offsets)
		if err != nil {
			return err
		}
		for _, p := range to.Partitions() {
			given, ok := answer.Lookup(p.Topic, p.Number)
			switch {
			case !ok:
				return fault.New(fault.Retryable, "the answer leaves out %s", p)
			case given.Err != nil:
				return fmt.Errorf("partition %s: %w", p, given.Err)
			}
		}
		return nil
	})
	switch code, answered := errors.AsType[*kerr.Error](err); {
	case answered && hasMembers(code):
		return g.occupied(ctx, group, err)
	case err != nil && !answered && fault.Is(err, fault.Retryable):
		return fault.New(fault.UnknownOutcome, "%w", err)
	}
	return err
}

// hasMembers says whether brokers refuse a commit because the group is at work: nobody is named, so nobody is known.
func hasMembers(code *kerr.Error) bool {
	switch code {
	case kerr.UnknownMemberID, kerr.IllegalGeneration, kerr.RebalanceInProgress, kerr.StaleMemberEpoch, kerr.FencedMemberEpoch:
		return true
	}
	return false
}

// occupied says who is in a group.
func (g *Groups) occupied(ctx context.Context, group string, refused error) error {
	who := "who they are is not known"
	described, err := g.admin.DescribeGroups(ctx, group)
	if d, ok := described[group]; err == nil && ok && d.Err == nil && len(d.Members) > 0 {
		first := d.Members[0]
		who = fmt.Sprintf("%d, the first is %s at %s, and the group is %s", len(d.Members), first.ClientID, first.ClientHost, d.State)
	}
	return fault.New(fault.Retryable, "%w (%s): %w", switchover.ErrMembers, who, refused).
		WithHint("a mapping that was just disabled leaves its group within a minute or so; stop whatever else polls in it")
}

// ask bounds one question and gives its error a class, the brokers' names and, for what concerns groups, a hint.
func (g *Groups) ask(ctx context.Context, what string, question func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, g.reach.Timeout)
	defer cancel()
	err := question(limited)
	for isBusy(err) && pause(limited) {
		err = question(limited)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fault.New(fault.Retryable, "%s: %w", what, ctx.Err())
	case errors.Is(err, kerr.GroupAuthorizationFailed):
		err = fault.New(fault.Misconfigured, "%w", err).WithHint("grant the user the operations Describe and Read on the group; with " +
			"IAM: kafka-cluster:DescribeGroup and kafka-cluster:AlterGroup")
	case errors.Is(err, kerr.TopicAuthorizationFailed), errors.Is(err, kerr.UnknownTopicOrPartition): // one that may not be seen
		err = fault.New(fault.Misconfigured, "%w", err).WithHint("check that the topic exists, and grant the user the operations " +
			"Describe and Read on it; with IAM: kafka-cluster:DescribeTopic and kafka-cluster:ReadData")
	}
	return reach.Fault(err, "%s at %s", what, strings.Join(g.reach.Brokers, ", "))
}

// isBusy says whether the broker that looks after groups is being made or moved, as it is when a cluster is new.
func isBusy(err error) bool {
	return errors.Is(err, kerr.CoordinatorNotAvailable) || errors.Is(err, kerr.CoordinatorLoadInProgress) || errors.Is(err, kerr.NotCoordinator)
}

// pause waits a little, or says that the question's time is over.
func pause(ctx context.Context) bool {
	const between = 250 * time.Millisecond
	timer := time.NewTimer(between)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
