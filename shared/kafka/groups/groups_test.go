package groups_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"tidemark/shared/fault"
	"tidemark/shared/kafka/groups"
	"tidemark/shared/kafka/reach"
	"tidemark/shared/position"
	"tidemark/shared/recovery/switchover"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newFake is a stand-in with the topics orders, of two partitions, and lines. What real brokers do is in the tests of the
// folder above.
func newFake(t *testing.T) *kfake.Cluster {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "orders"), kfake.SeedTopics(1, "lines"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	return cluster
}

func open(t *testing.T, cluster *kfake.Cluster) *groups.Groups {
	t.Helper()
	g, err := groups.Open(reach.Options{Brokers: cluster.ListenAddrs(), Timeout: 2 * time.Second})
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	t.Cleanup(g.Close)
	return g
}

func cut(topic string, offsets ...int64) position.Cut {
	made := position.Cut{}
	for i, offset := range offsets {
		made[position.Partition{Topic: topic, Number: int32(i)}] = position.Offset(offset)
	}
	return made
}

func expect(t *testing.T, g *groups.Groups, group, topic string, want position.Cut) {
	t.Helper()
	got, err := g.Committed(t.Context(), group, topic)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("group %s: %v (-want +got):\n%s", group, err, diff)
	}
}

func TestMove(t *testing.T) {
	t.Parallel()
	cluster := newFake(t)
	g := open(t, cluster)
	expect(t, g, "shop", "orders", position.Cut{})
	for _, to := range []position.Cut{cut("lines", 3), cut("orders", 50, 60), cut("orders", 7, 60), cut("orders", 7, 60)} {
		if err := g.Move(t.Context(), "shop", to, "recovery r1"); err != nil {
			t.Fatal(fault.Line(err))
		}
	}
	expect(t, g, "shop", "orders", cut("orders", 7, 60))
	expect(t, g, "shop", "lines", cut("lines", 3))
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	kept, err := kadm.NewClient(client).FetchOffsets(t.Context(), "shop")
	if err != nil {
		t.Fatal(err)
	}
	if o, _ := kept.Lookup("orders", 0); o.Metadata != "recovery r1" || o.LeaderEpoch != -1 {
		t.Errorf("got note %q and epoch %d, want the note and no epoch", o.Metadata, o.LeaderEpoch)
	}
}

// TestMove_RefusesAGroupWithMembers, and moves it once they are gone.
func TestMove_RefusesAGroupWithMembers(t *testing.T) {
	t.Parallel()
	cluster := newFake(t)
	g := open(t, cluster)
	joined := make(chan struct{})
	member, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.ClientID("poller"), kgo.ConsumerGroup("shop"),
		kgo.ConsumeTopics("orders"), kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) { close(joined) }))
	if err != nil {
		t.Fatal(err)
	}
	defer member.Close()
	<-joined
	err = g.Move(t.Context(), "shop", cut("orders", 7, 60), "")
	if !errors.Is(err, switchover.ErrMembers) || !fault.Is(err, fault.Retryable) || !strings.Contains(err.Error(), "the first is poller at") {
		t.Errorf("got %v of class %s, want its members", err, fault.ClassOf(err))
	}
	expect(t, g, "shop", "orders", position.Cut{})
	member.LeaveGroup()
	if err := g.Move(t.Context(), "shop", cut("orders", 7, 60), ""); err != nil {
		t.Error(fault.Line(err))
	}
	expect(t, g, "shop", "orders", cut("orders", 7, 60))
}

// TestMove_Judges is the table of what brokers answer to a commit, and of what it means.
func TestMove_Judges(t *testing.T) {
	t.Parallel()
	for code, class := range map[*kerr.Error]fault.Class{
		kerr.UnknownMemberID: fault.Retryable, kerr.IllegalGeneration: fault.Retryable, kerr.RebalanceInProgress: fault.Retryable,
		kerr.StaleMemberEpoch: fault.Retryable, kerr.FencedMemberEpoch: fault.Retryable,
		kerr.GroupAuthorizationFailed: fault.Misconfigured, kerr.TopicAuthorizationFailed: fault.Misconfigured,
		kerr.UnknownTopicOrPartition: fault.Misconfigured, kerr.OffsetMetadataTooLarge: fault.Unclassified,
	} {
		t.Run(code.Message, func(t *testing.T) {
			t.Parallel()
			cluster := newFake(t)
			answer(cluster, code)
			err := open(t, cluster).Move(t.Context(), "shop", cut("orders", 7), "")
			if !errors.Is(err, code) || fault.ClassOf(err) != class {
				t.Errorf("got %v of class %s, want %s", err, fault.ClassOf(err), class)
			}
			if denied := code == kerr.GroupAuthorizationFailed || code == kerr.TopicAuthorizationFailed; denied &&
				!strings.Contains(fault.HintOf(err), "kafka-cluster:") {
				t.Errorf("the hint is %q", fault.HintOf(err))
			}
		})
	}
}

// answer has every commit answered with a code.
func answer(cluster *kfake.Cluster, code *kerr.Error) {
	cluster.ControlKey(int16(kmsg.OffsetCommit), func(request kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		asked, ok := request.(*kmsg.OffsetCommitRequest)
		if !ok {
			return nil, nil, false
		}
		given := kmsg.NewPtrOffsetCommitResponse()
		given.SetVersion(request.GetVersion())
		for _, topic := range asked.Topics {
			said := kmsg.NewOffsetCommitResponseTopic()
			said.Topic, said.TopicID = topic.Topic, topic.TopicID
			for _, p := range topic.Partitions {
				one := kmsg.NewOffsetCommitResponseTopicPartition()
				one.Partition, one.ErrorCode = p.Partition, code.Code
				said.Partitions = append(said.Partitions, one)
			}
			given.Topics = append(given.Topics, said)
		}
		return given, nil, true
	})
}

// TestMove_DoesNotKnow when the reply is lost: the commit may be there, and the same call may be made again.
func TestMove_DoesNotKnow(t *testing.T) {
	t.Parallel()
	cluster := newFake(t)
	var lost atomic.Bool
	lost.Store(true)
	cluster.ControlKey(int16(kmsg.OffsetCommit), func(kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		if lost.Load() {
			return nil, errors.New("hang up"), true
		}
		return nil, nil, false
	})
	g := open(t, cluster)
	if err := g.Move(t.Context(), "shop", cut("orders", 7), ""); !fault.Is(err, fault.UnknownOutcome) {
		t.Errorf("got %v of class %s, want an unknown outcome", err, fault.ClassOf(err))
	}
	lost.Store(false)
	if err := g.Move(t.Context(), "shop", cut("orders", 7), ""); err != nil {
		t.Error(fault.Line(err))
	}
}

func TestMove_RefusesWhatCannotBe(t *testing.T) {
	t.Parallel()
	g := open(t, newFake(t))
	for _, err := range []error{
		g.Move(t.Context(), "shop", cut("orders", -1), ""), g.Move(t.Context(), "shop", cut("orders", 1), strings.Repeat("n", 4097)),
	} {
		if !fault.Is(err, fault.Bug) {
			t.Errorf("got %v of class %s", err, fault.ClassOf(err))
		}
	}
	err := g.Move(t.Context(), "shop", cut("strange", 1), "")
	if !fault.Is(err, fault.Misconfigured) || !strings.Contains(err.Error(), "strange/0") {
		t.Errorf("got %v of class %s, want the topic's name", err, fault.ClassOf(err))
	}
}
