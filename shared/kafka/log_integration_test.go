//go:build integration

package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/shared/fault"
	"tidemark/shared/kafka"
	"tidemark/shared/kafka/reach"
	"tidemark/shared/position"
	"tidemark/shared/recovery/inspection"
)

// TestLeaderChange kills brokers, so nothing runs beside it.
func TestLeaderChange(t *testing.T) {
	s := newStage(t, 3, nil)
	from := position.Cut{s.partition(0): 0, s.partition(1): 0, s.partition(2): 0}
	tail, until := openTail(t, s.log, from), position.Cut{}
	publish := func(value string) {
		t.Helper()
		for p := range from {
			s.publish(t, p.Number, texts(value)...)
			until[p]++
		}
	}
	publish("before")
	got, err := readUntil(t.Context(), t, tail, from, until)
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	epochs := s.epochs(t)
	for broker := 1; broker <= 3; broker++ {
		if err := cluster.Kill(broker); err != nil {
			t.Fatal(err)
		}
		publish(fmt.Sprint("without ", broker))
		if got, err = readUntil(ctx, t, tail, got.at, until); err != nil {
			t.Fatalf("without broker %d: %s", broker, fault.Line(err))
		}
		if err := cluster.Restart(ctx, broker); err != nil {
			t.Fatal(err)
		}
		if err := cluster.AwaitReplicas(ctx); err != nil {
			t.Fatal(err)
		}
	}
	s.epochsEnd(t, epochs, until)
}

// epochs are the leader epochs of the partitions' records.
func (s *stage) epochs(t *testing.T) map[position.Partition]int32 {
	t.Helper()
	listed, err := admin(t).ListEndOffsets(t.Context(), s.topic)
	if err != nil {
		t.Fatal(err)
	}
	epochs := map[position.Partition]int32{}
	listed.Each(func(o kadm.ListedOffset) { epochs[s.partition(o.Partition)] = o.LeaderEpoch })
	return epochs
}

// epochsEnd: the first epoch ended when its leader died, the last one has not ended, and one to come is no part of the log.
func (s *stage) epochsEnd(t *testing.T, first map[position.Partition]int32, ends position.Cut) {
	t.Helper()
	for p, epoch := range first {
		end, err := s.log.EpochEnd(t.Context(), p, epoch)
		if err != nil || end < 1 || end >= ends[p] {
			t.Errorf("%s: epoch %d ends at %s, %v, want it within %s", p, epoch, end, err, ends)
		}
	}
	for p, epoch := range s.epochs(t) {
		if end, err := s.log.EpochEnd(t.Context(), p, epoch); err != nil || end != ends[p] {
			t.Errorf("%s: epoch %d ends at %s, %v, want %s", p, epoch, end, err, ends[p])
		}
		if end, err := s.log.EpochEnd(t.Context(), p, epoch+7); !fault.Is(err, fault.Gap) {
			t.Errorf("%s: epoch %d ends at %s, %v, want a gap", p, epoch+7, end, err)
		}
	}
}

// TestAnotherHistory has a reader who read records that the log then lost: their leader died alone with them, and a replica
// that had been down took over, as a topic may allow. What it writes at their offsets are other records. Nothing runs
// beside it.
func TestAnotherHistory(t *testing.T) {
	s := &stage{topic: t.Name(), log: open(t, plainly())}
	config := map[string]*string{"unclean.leader.election.enable": new("true"), "min.insync.replicas": new("1")}
	if _, err := admin(t).CreateTopic(t.Context(), 1, 2, config, s.topic); err != nil {
		t.Fatal(err)
	}
	s.publishAnew(t, "both")
	leader, follower := s.replicas(t)
	tail, p := s.tail(t, s.log, 0), s.partition(0)
	if err := cluster.Kill(follower); err != nil {
		t.Fatal(err)
	}
	s.publishAnew(t, "lost", "lost")
	if _, err := readUntil(t.Context(), t, tail, position.Cut{p: 0}, position.Cut{p: 3}); err != nil {
		t.Fatal(fault.Line(err))
	}
	if err := cluster.Kill(leader); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Restart(t.Context(), follower); err != nil {
		t.Fatal(err)
	}
	s.publishAnew(t, "other", "other", "other")
	batch, moved, err := tail.Next(t.Context())
	if !fault.Is(err, fault.Gap) || len(batch)+len(moved) > 0 {
		t.Errorf("got %v, %s, %v of class %s, want a gap", batch, moved, err, fault.ClassOf(err))
	}
	if err := cluster.Restart(t.Context(), leader); err != nil {
		t.Fatal(err)
	}
	if err := cluster.AwaitReplicas(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.reads(t, s.log, 0, "both", "other", "other", "other")
}

// publishAnew is a producer who knows of nothing that was lost.
func (s *stage) publishAnew(t *testing.T, values ...string) {
	t.Helper()
	producer := client(t, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	for _, value := range values {
		if err := producer.ProduceSync(t.Context(), &kgo.Record{Topic: s.topic, Value: []byte(value)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

// replicas waits until both are in step.
func (s *stage) replicas(t *testing.T) (leader, follower int) {
	t.Helper()
	await(t, "both replicas are in step", func(ctx context.Context) (bool, error) {
		seen, err := admin(t).ListTopics(ctx, s.topic)
		if err != nil {
			return false, err
		}
		p := seen[s.topic].Partitions[0]
		leader = int(p.Leader)
		for _, replica := range p.Replicas {
			if replica != p.Leader {
				follower = int(replica)
			}
		}
		return len(p.ISR) == 2 && leader > 0, nil
	})
	return leader, follower
}

func TestLog(t *testing.T) {
	t.Parallel()
	t.Run("NamesItsCluster", namesItsCluster)
	t.Run("DescribesTopics", describesTopics)
	t.Run("FindsOffsetsByTime", findsOffsetsByTime)
	t.Run("RefusesUnknownPartitions", refusesUnknownPartitions)
}

func namesItsCluster(t *testing.T) {
	t.Parallel()
	first, err := open(t, plainly()).ClusterID(t.Context())
	second, again := open(t, plainly()).ClusterID(t.Context())
	if err != nil || again != nil || first == "" || first != second {
		t.Errorf("got %q, %v and %q, %v", first, err, second, again)
	}
}

func describesTopics(t *testing.T) {
	t.Parallel()
	s := newStage(t, 2, map[string]string{
		"cleanup.policy": "compact,delete", "delete.retention.ms": "1234", "min.compaction.lag.ms": "9223372036854775807",
	})
	plain := &stage{topic: s.topic + ".plain"}
	plain.make(t, 1, nil)
	got, err := s.log.Topics(t.Context(), []string{s.topic, plain.topic, s.topic + ".none"})
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	for _, topic := range got {
		if len(topic.ID) != len("00000000-0000-0000-0000-000000000000") || strings.Count(topic.ID, "-") != 4 {
			t.Errorf("got the id %q, want a UUID", topic.ID)
		}
	}
	want := map[string]inspection.Topic{
		s.topic: {
			ID: got[s.topic].ID, Partitions: 2, Compacted: true, Deleted: true,
			DeleteRetention: 1234 * time.Millisecond, MinCompactionLag: 1<<63 - 1,
		},
		plain.topic: {ID: got[plain.topic].ID, Partitions: 1, Deleted: true, DeleteRetention: 24 * time.Hour},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("topics (-want +got):\n%s", diff)
	}
}

func findsOffsetsByTime(t *testing.T) {
	t.Parallel()
	s := newStage(t, 1, nil)
	begin := time.UnixMilli(1_700_000_000_000)
	for i, text := range []string{"a", "b", "c"} {
		one := texts(text)
		one[0].Time = begin.Add(time.Duration(i) * time.Second)
		s.publish(t, 0, one...)
	}
	for at, want := range map[time.Time]position.Offset{
		{}: 0, begin: 0, begin.Add(time.Nanosecond): 1, begin.Add(time.Second): 1, begin.Add(2 * time.Second): 2,
		begin.Add(2*time.Second + time.Nanosecond): 3, begin.Add(time.Hour): 3,
	} {
		if got, err := s.log.OffsetAt(t.Context(), s.partition(0), at); err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", at, got, err, want)
		}
	}
}

func refusesUnknownPartitions(t *testing.T) {
	t.Parallel()
	s := newStage(t, 1, nil)
	for _, p := range []position.Partition{s.partition(1), {Topic: s.topic + ".none"}} {
		_, bounds := s.log.Bounds(t.Context(), []position.Partition{s.partition(0), p})
		_, epoch := s.log.EpochEnd(t.Context(), p, 0)
		_, at := s.log.OffsetAt(t.Context(), p, time.Unix(0, 0))
		_, opened := s.log.Open(t.Context(), position.Cut{p: 0})
		for asked, err := range map[string]error{"bounds": bounds, "epoch": epoch, "time": at, "tail": opened} {
			if !fault.Is(err, fault.Misconfigured) || !strings.Contains(err.Error(), p.String()) {
				t.Errorf("%s of %s: got %v of class %s, want misconfigured", asked, p, err, fault.ClassOf(err))
			}
		}
	}
}

// secure is how the listener with TLS is reached.
func secure(login reach.SASL) kafka.Options {
	access := cluster.Secure()
	return kafka.Options{Reach: reach.Options{
		Brokers: access.Addresses, TLS: &reach.TLS{CAFile: access.CAFile}, SASL: &login, Timeout: 20 * time.Second,
	}}
}

func fixed(password string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return password, nil }
}

func TestLogin(t *testing.T) {
	t.Parallel()
	s := newStage(t, 1, nil)
	s.publish(t, 0, texts("a")...)
	access := cluster.Secure()
	for mechanism, password := range map[reach.Mechanism]string{
		reach.SCRAM256: access.Password, reach.SCRAM512: access.Password, reach.Plain: plainPassword,
	} {
		t.Run(string(mechanism), func(t *testing.T) {
			t.Parallel()
			right := reach.SASL{Mechanism: mechanism, User: access.User, Password: fixed(password)}
			s.reads(t, open(t, secure(right)), 0, "a")
			wrong := right
			wrong.Password = fixed("guess")
			mustBeRefused(t, secure(wrong), "user and password")
		})
	}
	scram := reach.SASL{Mechanism: reach.SCRAM512, User: access.User, Password: fixed(access.Password)}
	t.Run("RefusesAnUnknownAuthority", func(t *testing.T) {
		t.Parallel()
		options := secure(scram)
		options.Reach.TLS = &reach.TLS{}
		mustBeRefused(t, options, "authority")
	})
	t.Run("RefusesAnotherName", func(t *testing.T) {
		t.Parallel()
		options := secure(scram)
		options.Reach.TLS.ServerName = "kafka.example.com"
		mustBeRefused(t, options, "name in the brokers' certificates")
	})
	t.Run("RefusesTLSOnThePlainListener", func(t *testing.T) {
		t.Parallel()
		options := secure(scram)
		options.Reach.Brokers = cluster.Addresses()
		if _, err := kafka.Open(t.Context(), options); err == nil {
			t.Error("got no error")
		}
	})
	t.Run("KeepsTheClassOfALostSecret", func(t *testing.T) {
		t.Parallel()
		lost := fault.New(fault.Retryable, "the secret store is away")
		options := secure(reach.SASL{Mechanism: reach.SCRAM256, User: access.User, Password: func(context.Context) (string, error) {
			return "", lost
		}})
		if _, err := kafka.Open(t.Context(), options); !errors.Is(err, lost) || !fault.Is(err, fault.Retryable) {
			t.Errorf("got %v of class %s, want the store's own", err, fault.ClassOf(err))
		}
	})
}

// mustBeRefused wants a refusal that does not wait for the time to be over.
func mustBeRefused(t *testing.T, options kafka.Options, hint string) {
	t.Helper()
	options.Reach.Timeout = 10 * time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	log, err := kafka.Open(ctx, options)
	if err == nil {
		log.Close()
	}
	if !fault.Is(err, fault.Misconfigured) || !strings.Contains(fault.HintOf(err), hint) {
		t.Errorf("got %v of class %s with the hint %q, want misconfigured and a hint at %s", err, fault.ClassOf(err),
			fault.HintOf(err), hint)
	}
}

// TestGrants: what a user may not see is an error that says what to grant, and never a topic that is not there.
func TestGrants(t *testing.T) {
	t.Parallel()
	s := newStage(t, 1, nil)
	s.publish(t, 0, texts("a")...)
	as := func(user string) *kafka.Log {
		return open(t, secure(reach.SASL{Mechanism: reach.Plain, User: user, Password: fixed(plainPassword)}))
	}
	stranger, reader := as("stranger"), as("reader")
	ask := map[string]func(l *kafka.Log) error{
		"topics":  func(l *kafka.Log) error { _, err := l.Topics(t.Context(), []string{s.topic}); return err },
		"unknown": func(l *kafka.Log) error { _, err := l.Topics(t.Context(), []string{s.topic + ".none"}); return err },
		"bounds": func(l *kafka.Log) error {
			_, err := l.Bounds(t.Context(), []position.Partition{s.partition(0)})
			return err
		},
		"tail": func(l *kafka.Log) error { _, err := l.Open(t.Context(), position.Cut{s.partition(0): 0}); return err },
	}
	for asked, question := range ask {
		err := question(stranger)
		if !fault.Is(err, fault.Misconfigured) || !strings.Contains(fault.HintOf(err), "DescribeConfigs") {
			t.Errorf("%s for a stranger: got %v of class %s, want misconfigured and what to grant", asked, err, fault.ClassOf(err))
		}
	}
	s.grant(t, "reader", kmsg.ACLOperationDescribe)
	await(t, "the grant is known", func(ctx context.Context) (bool, error) {
		_, err := reader.Bounds(ctx, []position.Partition{s.partition(0)})
		return err == nil, nil
	})
	if err := ask["topics"](reader); !fault.Is(err, fault.Misconfigured) {
		t.Errorf("settings without the grant: got %v of class %s, want misconfigured", err, fault.ClassOf(err))
	}
	tail := s.tail(t, reader, 0)
	if _, _, err := tail.Next(t.Context()); !fault.Is(err, fault.Misconfigured) {
		t.Errorf("records without the grant: got %v of class %s, want misconfigured", err, fault.ClassOf(err))
	}
	s.grant(t, "reader", kmsg.ACLOperationRead, kmsg.ACLOperationDescribeConfigs)
	await(t, "the grants are known, and the same tail reads on", func(ctx context.Context) (bool, error) {
		_, moved, err := tail.Next(ctx)
		return err == nil && moved[s.partition(0)] == 1, nil
	})
	await(t, "the settings are shown", func(context.Context) (bool, error) { return ask["topics"](reader) == nil, nil })
}

func (s *stage) grant(t *testing.T, user string, operations ...kmsg.ACLOperation) {
	t.Helper()
	acls := kadm.NewACLs().Topics(s.topic).ResourcePatternType(kadm.ACLPatternLiteral).Operations(operations...).
		Allow("User:" + user).AllowHosts()
	results, err := admin(t).CreateACLs(t.Context(), acls)
	if err != nil {
		t.Fatal(err)
	}
	for _, result := range results {
		if result.Err != nil {
			t.Fatal(result.Err)
		}
	}
}

// BenchmarkTail reads the same log as a plain consumer of the client does, and says how the rates compare.
func BenchmarkTail(b *testing.B) {
	const records, size = 200_000, 200
	topic := "BenchmarkTail"
	producer, err := kgo.NewClient(append(cluster.Client(), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	if err != nil {
		b.Fatal(err)
	}
	defer producer.Close()
	if _, err := kadm.NewClient(producer).CreateTopic(b.Context(), 1, 1, nil, topic); err != nil {
		b.Fatal(err)
	}
	value := []byte(strings.Repeat("v", size))
	for range records {
		producer.Produce(b.Context(), &kgo.Record{Topic: topic, Value: value}, nil)
	}
	if err := producer.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Run("Tail", func(b *testing.B) {
		log, err := kafka.Open(b.Context(), plainly())
		if err != nil {
			b.Fatal(err)
		}
		defer log.Close()
		for b.Loop() {
			p := position.Partition{Topic: topic}
			tail, err := log.Open(b.Context(), position.Cut{p: 0})
			if err != nil {
				b.Fatal(err)
			}
			for at := position.Offset(0); at < records; {
				_, moved, err := tail.Next(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				at = moved[p]
			}
			tail.Close()
		}
		b.ReportMetric(float64(records*b.N)/b.Elapsed().Seconds(), "records/s")
	})
	b.Run("PlainConsumer", func(b *testing.B) {
		for b.Loop() {
			consumer, err := kgo.NewClient(append(cluster.Client(), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{
				topic: {0: kgo.NewOffset().At(0)},
			}), kgo.FetchIsolationLevel(kgo.ReadCommitted()))...)
			if err != nil {
				b.Fatal(err)
			}
			for read := 0; read < records; {
				fetches := consumer.PollFetches(b.Context())
				if err := fetches.Err(); err != nil {
					b.Fatal(err)
				}
				read += fetches.NumRecords()
			}
			consumer.Close()
		}
		b.ReportMetric(float64(records*b.N)/b.Elapsed().Seconds(), "records/s")
	})
}
