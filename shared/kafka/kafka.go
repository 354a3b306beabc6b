// Package kafka owns how Tidemark reads a Kafka log: what topics there are, where their partitions begin and end, and the
// committed records from exact offsets on. It fulfils recovery.Log.
//
// It refuses to choose an offset, to join a group, to make a topic by asking for it, and to speak in the clear to another
// machine unless that is called development. It writes nothing.
//
// Invariants. A tail's position moves over what a broker's answer contains and over nothing else: whole batches, with the
// offsets that compaction took from their ends, control batches and records of aborted transactions included. An empty
// answer moves nothing. A position that the log no longer has, a topic made anew and a log with another history are gaps,
// never jumps. Every question ends within its time or with its context, in an error that names the brokers.
//
// A Log may be used by several goroutines; a tail belongs to one.
package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/shared/fault"
	"tidemark/shared/kafka/reach"
	"tidemark/shared/recovery"
)

// Options says where the log is and how it is read.
type Options struct {
	// Reach is how the brokers are reached. Its timeout is also how long a tail bears that a partition cannot be read.
	Reach reach.Options
	// MaxWait is how long a broker holds a request for records back while there are none. 0: 500 ms.
	MaxWait time.Duration
	// MaxBytes is how much of the log, compressed as it is there, one answer of a broker holds; a larger batch comes
	// alone. A tail holds at most two answers of each broker. 0: 4 MiB.
	MaxBytes int32
}

const (
	defaultMaxWait  = 500 * time.Millisecond
	longestMaxWait  = time.Minute
	defaultMaxBytes = 4 << 20
	mostBytes       = 64 << 20 // the client takes 100 MiB, the batch that comes on top included
)

func (o Options) withDefaults() Options {
	o.Reach = o.Reach.WithDefaults()
	o.MaxWait = cmp.Or(o.MaxWait, defaultMaxWait)
	o.MaxBytes = cmp.Or(o.MaxBytes, defaultMaxBytes)
	return o
}

func (o Options) validate() error {
	if o.MaxWait < time.Millisecond || o.MaxWait > longestMaxWait {
		return fault.New(fault.Misconfigured, "a wait of %s: want 1ms to %s", o.MaxWait, longestMaxWait)
	}
	if o.MaxBytes < 1 || o.MaxBytes > mostBytes {
		return fault.New(fault.Misconfigured, "%d bytes an answer: want 1 to %d", o.MaxBytes, mostBytes)
	}
	return nil
}

// Log is a reader of the logs of one cluster.
type Log struct{ session }

var _ recovery.Log = (*Log)(nil)

// Open reaches the cluster, so that wrong addresses and secrets show here. The caller closes the log.
//
// Errors: fault.Misconfigured for options that cannot be and for what the brokers refuse, fault.Retryable when none of
// them answers.
func Open(ctx context.Context, options Options) (*Log, error) {
	options = options.withDefaults()
	if err := options.validate(); err != nil {
		return nil, err
	}
	s, err := newSession(options, options.Reach.Timeout)
	if err != nil {
		return nil, err
	}
	l := &Log{session: s}
	if _, err := l.ClusterID(ctx); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// Close ends the connections. Tails have their own.
func (l *Log) Close() { l.client.Close() }

// ClusterID names the cluster.
func (l *Log) ClusterID(ctx context.Context) (string, error) {
	var id string
	err := l.ask(ctx, "ask for the cluster's id", func(ctx context.Context) error {
		request := kmsg.NewPtrMetadataRequest()
		request.Topics = []kmsg.MetadataRequestTopic{} // none; nil would be all
		answer, err := request.RequestWith(ctx, l.client)
		if err != nil {
			return err
		}
		if answer.ClusterID == nil || *answer.ClusterID == "" {
			return fault.New(fault.Misconfigured, "the cluster has no id")
		}
		id = *answer.ClusterID
		return nil
	})
	return id, err
}

// session is connections to a cluster and how they were made.
type session struct {
	client  *kgo.Client
	options Options
	limit   time.Duration // of one question
}

func newSession(options Options, limit time.Duration) (session, error) {
	how, err := options.Reach.Client()
	if err != nil {
		return session{}, err
	}
	client, err := kgo.NewClient(how...)
	if err != nil {
		return session{}, fault.New(fault.Misconfigured, "make a Kafka client: %w", err)
	}
	return session{client: client, options: options, limit: limit}, nil
}

// errSilent says that the time for an answer is over. The client's own error says no more than that a context ended.
var errSilent = errors.New("no answer in time")

// ask bounds one question and gives its error a class and the brokers' names.
func (s session) ask(ctx context.Context, what string, question func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	err := question(limited)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fault.New(fault.Retryable, "%s: %w", what, ctx.Err())
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("%w: %s: %w", errSilent, s.limit, err)
	}
	return reach.Fault(err, "%s at %s", what, strings.Join(s.options.Reach.Brokers, ", "))
}
