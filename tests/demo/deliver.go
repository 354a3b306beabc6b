package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/localstack/eventsource"
	"tidemark/localstack/runtimeapi"
)

// pass is what one delivery of the whole log came to.
type pass struct {
	events, delivered int // invocations, and the records in them
	applied, skipped  int // as the function's own log lines say
	killed            int // records of the event whose reply was lost with its process
}

const (
	eventSize     = 12 // small, so that there are many
	invokeTimeout = 20 * time.Second
)

// deliver runs one event source for each topic, as an event source mapping takes one, from the log's start to its end. It
// kills the function's process after it committed invocation kill and before its reply arrives; 0 kills nobody.
func (s *stage) deliver(ctx context.Context, kill int) (pass, error) {
	count := &counter{}
	responses := 0
	var function *runtimeapi.Function
	function, err := runtimeapi.New(runtimeapi.Options{
		Bootstrap: s.bootstrap(), Env: s.environment(), Timeout: invokeTimeout, Output: count,
		OnResponse: func(string, []byte) bool {
			responses++
			if responses != kill {
				return false
			}
			_ = function.Kill() // the invocation is under way, so there is a process; if not, killed stays 0 and the demo fails
			count.kill()
			return true
		},
	})
	if err != nil {
		return pass{}, err
	}
	defer function.Stop()
	group, ctx := errgroup.WithContext(ctx)
	for _, topic := range s.topics {
		group.Go(func() error { return s.poll(ctx, topic, function, count) })
	}
	err = group.Wait()
	function.Stop()
	return count.sum(), err
}

func (s *stage) poll(ctx context.Context, topic string, function *runtimeapi.Function, count *counter) error {
	source, err := eventsource.New(eventsource.Options{
		Brokers: s.kafka.Brokers(), Topics: []string{topic}, Handler: function, UntilEnd: true, BatchSize: eventSize,
		ReportBatchItemFailures: true, Backoff: 20 * time.Millisecond,
		Events: eventsource.Events{OnDelivered: count.deliver},
	})
	if err != nil {
		return err
	}
	return source.Run(ctx)
}

// counter counts deliveries and reads the function's log, which it gets as the function's output.
type counter struct {
	mu       sync.Mutex
	pass     pass
	inFlight int
	rest     []byte // of a line that is not complete
}

func (c *counter) deliver(e eventsource.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pass.events++
	c.pass.delivered += e.Records()
	c.inFlight = e.Records()
}

func (c *counter) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pass.killed = c.inFlight
}

func (c *counter) sum() pass {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pass
}

// Write takes the function's output.
func (c *counter) Write(output []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rest = append(c.rest, output...)
	for {
		line, rest, complete := bytes.Cut(c.rest, []byte{'\n'})
		if !complete {
			return len(output), nil
		}
		c.rest = rest
		var entry struct {
			Level, Msg, Error string
			Applied, Skipped  int
		}
		if err := json.Unmarshal(line, &entry); err != nil || entry.Level == "ERROR" {
			_, _ = os.Stderr.Write(append(line, '\n')) // a person should see it
		}
		c.pass.applied += entry.Applied
		c.pass.skipped += entry.Skipped
	}
}
