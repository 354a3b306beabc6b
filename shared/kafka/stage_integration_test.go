//go:build integration

package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"tidemark/localstack/brokers"
	"tidemark/localstack/kafkalog"
	"tidemark/shared/fault"
	"tidemark/shared/kafka"
	"tidemark/shared/kafka/reach"
	"tidemark/shared/position"
	"tidemark/shared/record"
	"tidemark/shared/recovery"
)

// What the tests of this process share: three brokers, of which one may die.
var (
	cluster   *brokers.Cluster
	publisher *kafkalog.Log
)

// plainPassword is what the users of PLAIN log in with. Nothing is allowed to the stranger, and to the reader what a test
// grants.
const plainPassword = "plain-secret"

func TestMain(m *testing.M) { goleak.VerifyTestMain(runner{m}) }

type runner struct{ *testing.M }

// Run makes what the tests share, runs them and takes it down again.
func (r runner) Run() int {
	code := 1
	err := share()
	if err == nil {
		code = r.M.Run()
	}
	if publisher != nil {
		publisher.Close()
	}
	if cluster != nil {
		err = errors.Join(err, cluster.Stop())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "integration tests:", fault.Line(err))
		return max(code, 1)
	}
	return code
}

func share() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var users strings.Builder
	for _, user := range []string{"tidemark", "stranger", "reader"} {
		fmt.Fprintf(&users, " user_%s=%q", user, plainPassword)
	}
	cluster, err = brokers.Start(ctx, brokers.Options{
		Count: 3, Secure: true, Settings: map[string]string{
			"log.cleaner.backoff.ms":                      "100", // compaction at once
			"sasl.enabled.mechanisms":                     "SCRAM-SHA-256,SCRAM-SHA-512,PLAIN",
			"listener.name.secure.plain.sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required" + users.String() + ";",
			"authorizer.class.name":                       "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
			"super.users":                                 "User:ANONYMOUS;User:tidemark",
		},
	})
	if err != nil {
		return err
	}
	publisher, err = kafkalog.Open(cluster.Client()...)
	return err
}

// deadline is for what happens at once and may take long on a busy machine.
const deadline = 5 * time.Minute

// plainly is how the plain listener is reached.
func plainly() kafka.Options {
	return kafka.Options{Reach: reach.Options{Brokers: cluster.Addresses()}}
}

func open(t *testing.T, options kafka.Options) *kafka.Log {
	t.Helper()
	log, err := kafka.Open(t.Context(), options)
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	t.Cleanup(log.Close)
	return log
}

// stage is a topic of one test.
type stage struct {
	topic string
	log   *kafka.Log
}

func newStage(t *testing.T, partitions int32, config map[string]string) *stage {
	t.Helper()
	s := &stage{topic: strings.ReplaceAll(t.Name(), "/", "."), log: open(t, plainly())}
	s.make(t, partitions, config)
	return s
}

func (s *stage) make(t *testing.T, partitions int32, config map[string]string) {
	t.Helper()
	if err := publisher.CreateTopic(t.Context(), kafkalog.Topic{Name: s.topic, Partitions: partitions, Config: config}); err != nil {
		t.Fatal(err)
	}
}

func (s *stage) partition(number int32) position.Partition {
	return position.Partition{Topic: s.topic, Number: number}
}

func (s *stage) publish(t *testing.T, number int32, records ...record.Record) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	if _, err := publisher.Publish(ctx, record.Batch{{Partition: s.partition(number), Records: records}}); err != nil {
		t.Fatal(err)
	}
}

func texts(values ...string) []record.Record {
	records := make([]record.Record, len(values))
	for i, value := range values {
		records[i] = record.Record{Key: record.Present([]byte("k" + value)), Value: record.Present([]byte(value))}
	}
	return records
}

// tail opens a tail of one partition.
func (s *stage) tail(t *testing.T, log *kafka.Log, from position.Offset) recovery.Tail {
	t.Helper()
	return openTail(t, log, position.Cut{s.partition(0): from})
}

func openTail(t *testing.T, log *kafka.Log, from position.Cut) recovery.Tail {
	t.Helper()
	tail, err := log.Open(t.Context(), from)
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	t.Cleanup(tail.Close)
	return tail
}

// reads is what a reader of one or more partitions has.
type reads struct {
	values map[position.Partition][]string
	at     position.Cut
	steps  []position.Cut
}

// readUntil reads until every position of a cut is reached, and verifies what holds for every step: positions grow, and
// records lie between the old one and the new one, in order.
func readUntil(ctx context.Context, t *testing.T, tail recovery.Tail, from, until position.Cut) (*reads, error) {
	t.Helper()
	got := &reads{values: map[position.Partition][]string{}, at: position.Cut{}}
	for p, offset := range from {
		got.at[p] = offset
	}
	for !reached(got.at, until) {
		batch, moved, err := tail.Next(ctx)
		if err != nil {
			return got, err
		}
		if len(moved) == 0 {
			t.Error("nothing moved, and there is no error")
		}
		for _, run := range batch {
			within := position.Range{From: got.at[run.Partition], Until: moved[run.Partition]}
			for i := range run.Records {
				if !within.Contains(run.Records[i].Offset) {
					t.Errorf("%s: record %s is not within %s", run.Partition, run.Records[i].Offset, within)
				}
				within.From = run.Records[i].Offset.Next()
				got.values[run.Partition] = append(got.values[run.Partition], string(run.Records[i].Value.Bytes()))
			}
		}
		for p, offset := range moved {
			if !got.at[p].Before(offset) {
				t.Errorf("%s: moved from %s to %s", p, got.at[p], offset)
			}
			got.at[p] = offset
		}
		got.steps = append(got.steps, moved)
	}
	return got, nil
}

func reached(at, until position.Cut) bool {
	for p, offset := range until {
		if at[p].Before(offset) {
			return false
		}
	}
	return true
}

// reads reads partition 0 up to the last stable offset, and verifies that the reader stands exactly there.
func (s *stage) reads(t *testing.T, log *kafka.Log, from position.Offset, want ...string) *reads {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	p := s.partition(0)
	bounds, err := log.Bounds(ctx, []position.Partition{p})
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	begin := position.Cut{p: from}
	got, err := readUntil(ctx, t, openTail(t, log, begin), begin, position.Cut{p: bounds[p].Stable})
	if err != nil {
		t.Fatalf("at %s of %+v: %s", got.at, bounds[p], fault.Line(err))
	}
	if diff := cmp.Diff(want, got.values[p]); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if got.at[p] != bounds[p].Stable {
		t.Errorf("the reader stands at %s, want the last stable offset, %s", got.at[p], bounds[p].Stable)
	}
	return got
}

// await polls until something is so.
func await(t *testing.T, what string, is func(ctx context.Context) (bool, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		so, err := is(ctx)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if so {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("never: %s", what)
		}
	}
}

// client is a client of the cluster with options of a test's own.
func client(t *testing.T, options ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append(cluster.Client(), options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func admin(t *testing.T) *kadm.Client {
	t.Helper()
	return kadm.NewClient(client(t))
}
