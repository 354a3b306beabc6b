// Package eventsource polls Kafka as a Lambda event source mapping does and hands events to a function.
//
// It owns the service's side of the bargain: events of the service's form, in order within a partition, at least once,
// again after every failure, for ever; and the position of each partition, which moves only over records that the
// function acknowledged. Because the service does not say what it delivers again after a partial reply, both readings are
// here (see Redelivery), and a function is right only when it is right under both.
//
// It refuses to skip: a position that the log no longer holds, a record too large for an event and a log that cannot be
// read end Run with an error. It never resets a position, has no record age, no attempt limit and no destination for
// failures, and joins no consumer group: positions are in memory, in this process.
//
// Invariants: one event is in flight at a time; a record of a partition is delivered only when everything before it was
// delivered before; while records of a partition wait for redelivery nothing behind them is delivered; other partitions
// go on, unless they are in the same event and the function failed the event as a whole.
//
// Run is for one goroutine at a time; Positions may be called at any time.
package eventsource

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/fault"
	"tidemark/shared/kafkaevent"
	"tidemark/shared/position"
)

// Handler is a function that takes an event and answers it. An error means that nothing of the event may be taken for
// done.
type Handler interface {
	Invoke(ctx context.Context, payload []byte) ([]byte, error)
}

// HandlerFunc is an in-process Handler.
type HandlerFunc func(ctx context.Context, payload []byte) ([]byte, error)

// Invoke calls f.
func (f HandlerFunc) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	return f(ctx, payload)
}

// Redelivery says what comes again after a function listed records as failed.
type Redelivery uint8

const (
	// Rewind takes the partition back to the first record listed: that one and everything after it comes again.
	Rewind Redelivery = iota
	// OnlyListed delivers the listed records again, alone; all others of the event are done. The partition waits for them.
	OnlyListed
)

// String is the reading's name.
func (r Redelivery) String() string {
	switch r {
	case Rewind:
		return "rewind"
	case OnlyListed:
		return "only_listed"
	}
	return fmt.Sprintf("redelivery(%d)", uint8(r))
}

// Options is one event source mapping.
type Options struct {
	Brokers []string
	Client  []kgo.Opt // how to reach the brokers beside their addresses: TLS, SASL
	Topics  []string  // all their partitions are polled, as they are when Run begins
	Handler Handler

	// Start is the next offset of partitions that do not start at the log's start.
	Start position.Cut
	// UntilEnd ends Run when the high watermarks that it saw at its beginning are acknowledged.
	UntilEnd bool
	// ReadCommitted leaves out records of aborted and open transactions.
	ReadCommitted bool

	BatchSize int           // records in an event at most, 1 to 10,000; 0: the service's 100
	Window    time.Duration // how long the first record of an event waits for others; 0 delivers at once

	// ReportBatchItemFailures lets the function list what failed. Without it the reply's body is not looked at.
	ReportBatchItemFailures bool
	Redelivery              Redelivery

	Backoff    time.Duration // before the second attempt, doubled for each further one; 0: 100 ms
	MaxBackoff time.Duration // 0: 5 s

	Source kafkaevent.Source // what events say of where they come from; without a Kind: a local MSK cluster
	Events Events
}

const (
	largestBatch  = 10_000
	largestWindow = 300 * time.Second
)

func (o Options) withDefaults() Options {
	o.BatchSize = cmp.Or(o.BatchSize, 100)
	o.Backoff = cmp.Or(o.Backoff, 100*time.Millisecond)
	o.MaxBackoff = max(cmp.Or(o.MaxBackoff, 5*time.Second), o.Backoff)
	if o.Source.Kind == "" {
		o.Source = kafkaevent.Source{
			Kind: kafkaevent.MSK, ARN: "arn:aws:kafka:eu-central-1:000000000000:cluster/local/00000000-0000-0000-0000-000000000000-1",
			BootstrapServers: strings.Join(o.Brokers, ","),
		}
	}
	return o
}

func (o Options) validate() error {
	switch {
	case len(o.Brokers) == 0:
		return fault.New(fault.Misconfigured, "event source: no brokers")
	case len(o.Topics) == 0:
		return fault.New(fault.Misconfigured, "event source: no topics")
	case o.Handler == nil:
		return fault.New(fault.Misconfigured, "event source: no handler")
	case o.BatchSize < 1 || o.BatchSize > largestBatch:
		return fault.New(fault.Misconfigured, "event source: batch size %d, want 1 to %d", o.BatchSize, largestBatch)
	case o.Window < 0 || o.Window > largestWindow:
		return fault.New(fault.Misconfigured, "event source: window %s, want 0 to %s", o.Window, largestWindow)
	case o.Backoff < 0:
		return fault.New(fault.Misconfigured, "event source: backoff %s is below 0", o.Backoff)
	case o.Redelivery > OnlyListed:
		return fault.New(fault.Misconfigured, "event source: unknown %s", o.Redelivery)
	}
	return o.Start.Validate()
}

// Source polls the topics of one mapping and keeps their positions.
type Source struct {
	options Options
	running atomic.Bool

	mu        sync.Mutex
	positions position.Cut

	// delivered is, per partition, the end of what was in any event: what comes below it comes again. Owned by Run.
	delivered position.Cut
}

// New makes a Source. Nothing is polled before Run.
func New(options Options) (*Source, error) {
	options = options.withDefaults()
	if err := options.validate(); err != nil {
		return nil, err
	}
	positions := maps.Clone(options.Start)
	if positions == nil {
		positions = position.Cut{}
	}
	return &Source{options: options, positions: positions, delivered: position.Cut{}}, nil
}

// Run polls and delivers until ctx ends or, with UntilEnd, the end is reached, which alone gives nil. A later Run goes on
// at the positions; what was delivered and not acknowledged comes again.
//
// Errors: the context's; fault.Gap when the log does not hold a position; fault.Misconfigured when there is no such topic
// or partition; fault.Poison when a record is too large for an event; else what the client says of the brokers. Failures
// of the function are none: they are retried and reported to Events.
func (s *Source) Run(ctx context.Context) error {
	if !s.running.CompareAndSwap(false, true) {
		return fault.New(fault.Bug, "event source: Run while it runs")
	}
	defer s.running.Store(false)
	p, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer p.client.Close()
	return p.run(ctx)
}

// Positions is, per partition, the offset of the first record that is not acknowledged. Partitions that no Run has seen
// yet are there only if Options.Start names them.
func (s *Source) Positions() position.Cut {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.positions)
}

func (s *Source) publish(lanes []*lane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range lanes {
		s.positions[l.partition] = l.position()
	}
}
