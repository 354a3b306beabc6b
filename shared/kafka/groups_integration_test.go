//go:build integration

package kafka_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/fault"
	"tidemark/shared/kafka/groups"
	"tidemark/shared/kafka/reach"
	"tidemark/shared/position"
	"tidemark/shared/recovery/switchover"
)

func openGroups(t *testing.T, options reach.Options) *groups.Groups {
	t.Helper()
	g, err := groups.Open(options)
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	t.Cleanup(g.Close)
	return g
}

// TestGroups moves a group as a switch does: not while a poller is in it, and so that the next one begins there.
func TestGroups(t *testing.T) {
	t.Parallel()
	s := newStage(t, 2, nil)
	group, g := t.Name()+" it's odd", openGroups(t, plainly().Reach)
	s.publish(t, 0, texts("a", "b", "c", "d")...)
	s.publish(t, 1, texts("x", "y")...)
	expect := func(want position.Cut) {
		t.Helper()
		got, err := g.Committed(t.Context(), group, s.topic)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	expect(position.Cut{})
	poller := s.poller(t, group)
	if got := poll(t, poller, 6); !strings.HasPrefix(strings.Join(got, ""), "a") && !strings.HasPrefix(strings.Join(got, ""), "x") {
		t.Errorf("a new group begins with %q, want the start of a partition", got)
	}
	if err := poller.CommitUncommittedOffsets(t.Context()); err != nil {
		t.Fatal(err)
	}
	lost := position.Cut{s.partition(0): 4, s.partition(1): 2}
	expect(lost)
	to := position.Cut{s.partition(0): 2, s.partition(1): 0}
	err := g.Move(t.Context(), group, to, "recovery r1")
	if !errors.Is(err, switchover.ErrMembers) || !fault.Is(err, fault.Retryable) {
		t.Errorf("got %v of class %s, want its members", err, fault.ClassOf(err))
	}
	expect(lost)
	poller.Close()
	await(t, "the group can be moved", func(ctx context.Context) (bool, error) {
		err := g.Move(ctx, group, to, "recovery r1")
		if errors.Is(err, switchover.ErrMembers) {
			return false, nil
		}
		return err == nil, err
	})
	expect(to)
	got := map[string]bool{}
	for _, value := range poll(t, s.poller(t, group), 4) {
		got[value] = true
	}
	if diff := cmp.Diff(map[string]bool{"c": true, "d": true, "x": true, "y": true}, got); diff != "" {
		t.Errorf("the next poller (-want +got):\n%s", diff)
	}
}

// poller is a member of a group, as a mapping's are.
func (s *stage) poller(t *testing.T, group string) *kgo.Client {
	t.Helper()
	return client(t, kgo.ConsumerGroup(group), kgo.ConsumeTopics(s.topic), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
}

func poll(t *testing.T, poller *kgo.Client, records int) (values []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	for len(values) < records {
		fetches := poller.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) { values = append(values, string(r.Value)) })
	}
	return values
}

// TestGroups_OfWhoMayNot names what to grant.
func TestGroups_OfWhoMayNot(t *testing.T) {
	t.Parallel()
	s := newStage(t, 1, nil)
	g := openGroups(t, secure(reach.SASL{Mechanism: reach.Plain, User: "stranger", Password: fixed(plainPassword)}).Reach)
	_, asked := g.Committed(t.Context(), t.Name(), s.topic)
	moved := g.Move(t.Context(), t.Name(), position.Cut{s.partition(0): 0}, "")
	for _, err := range []error{asked, moved} {
		if !fault.Is(err, fault.Misconfigured) || fault.HintOf(err) == "" {
			t.Errorf("got %v of class %s and hint %q", err, fault.ClassOf(err), fault.HintOf(err))
		}
	}
	all := openGroups(t, plainly().Reach)
	await(t, "the group's coordinator answers", func(ctx context.Context) (bool, error) {
		found, err := all.Committed(ctx, t.Name(), s.topic)
		switch {
		case fault.Is(err, fault.Retryable):
			return false, nil
		case len(found) > 0:
			t.Errorf("the group stands at %s, want nowhere", found)
		}
		return err == nil, err
	})
}
