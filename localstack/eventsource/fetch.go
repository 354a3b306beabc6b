package eventsource

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/record"
)

// pollRecords bounds one poll; fetchWait bounds how long a lane waits for its broker's answer to an older fetch.
const (
	pollRecords = largestBatch
	fetchWait   = 500 * time.Millisecond
)

// open finds the partitions and their ends and makes a client that reads them from their positions. Partitions are
// assigned with exact offsets and no reset, so that a position that the log lost is an error and never a jump.
func (s *Source) open(ctx context.Context) (_ *poller, err error) {
	options := append([]kgo.Opt{
		kgo.SeedBrokers(s.options.Brokers...), kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.KeepControlRecords(), kgo.FetchMaxWait(fetchWait),
	}, s.options.Client...)
	if s.options.ReadCommitted {
		options = append(options, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, fault.New(fault.Misconfigured, "make a Kafka client: %w", err)
	}
	defer func() {
		if err != nil {
			client.Close()
		}
	}()
	p := &poller{
		Options: s.options, owner: s, client: client,
		byPartition: map[position.Partition]*lane{}, until: position.Cut{},
	}
	if err := p.discover(ctx); err != nil {
		return nil, err
	}
	assigned := map[string]map[int32]kgo.Offset{}
	for _, l := range p.lanes {
		if assigned[l.partition.Topic] == nil {
			assigned[l.partition.Topic] = map[int32]kgo.Offset{}
		}
		assigned[l.partition.Topic][l.partition.Number] = kgo.NewOffset().At(int64(l.read))
	}
	client.AddConsumePartitions(assigned)
	return p, nil
}

// discover makes the lanes: each partition of the topics, at its position, which the log must hold.
func (p *poller) discover(ctx context.Context) error {
	admin := kadm.NewClient(p.client)
	starts, err := cutOf(admin.ListStartOffsets(ctx, p.Topics...))
	if err != nil {
		return err
	}
	// Of open transactions nothing is delivered, so their end is nothing to wait for.
	listEnds := admin.ListEndOffsets
	if p.ReadCommitted {
		listEnds = admin.ListCommittedOffsets
	}
	ends, err := cutOf(listEnds(ctx, p.Topics...))
	if err != nil {
		return err
	}
	positions := p.owner.Positions()
	for _, partition := range starts.Partitions() {
		next, known := positions[partition]
		if !known {
			next = starts[partition]
		}
		if next.Before(starts[partition]) || ends[partition].Before(next) {
			return fault.New(fault.Gap, "%s: the position is %s and the log is %s", partition, next,
				position.Range{From: starts[partition], Until: ends[partition]})
		}
		l := &lane{partition: partition, read: next}
		p.lanes = append(p.lanes, l)
		p.byPartition[partition] = l
	}
	for partition := range positions {
		if p.byPartition[partition] == nil {
			return fault.New(fault.Misconfigured, "%s has a position and is not a partition of the topics", partition)
		}
	}
	p.until = ends
	p.owner.publish(p.lanes)
	return nil
}

func cutOf(offsets kadm.ListedOffsets, err error) (position.Cut, error) {
	if err == nil {
		err = offsets.Error()
	}
	switch {
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		return nil, fault.New(fault.Misconfigured, "ask for the ends of the log: %w", err)
	case err != nil:
		return nil, fmt.Errorf("ask for the ends of the log: %w", err)
	}
	cut := position.Cut{}
	offsets.Each(func(o kadm.ListedOffset) {
		cut[position.Partition{Topic: o.Topic, Number: o.Partition}] = position.Offset(o.Offset)
	})
	return cut, nil
}

// fill waits for records until wake, for ever when wake is zero, and queues what came.
func (p *poller) fill(ctx context.Context, wake time.Time) error {
	p.balance()
	poll, cancel := ctx, func() {}
	if !wake.IsZero() {
		poll, cancel = context.WithDeadline(ctx, wake)
	}
	defer cancel()
	fetches := p.client.PollRecords(poll, pollRecords)
	if err := ctx.Err(); err != nil {
		return err
	}
	fetches.EachRecord(p.accept)
	for _, failed := range fetches.Errors() {
		if poll.Err() != nil && errors.Is(failed.Err, poll.Err()) {
			continue // nothing came until wake
		}
		return fetchFault(failed)
	}
	return nil
}

// fetchFault gives an error of a partition its class. Errors that pass are retried by the client and not seen here.
func fetchFault(failed kgo.FetchError) error {
	where := position.Partition{Topic: failed.Topic, Number: failed.Partition}
	_, lost := errors.AsType[*kgo.ErrDataLoss](failed.Err)
	switch {
	case lost, errors.Is(failed.Err, kerr.OffsetOutOfRange):
		return fault.New(fault.Gap, "fetch %s: the log does not hold the position: %w", where, failed.Err)
	case errors.Is(failed.Err, kerr.UnknownTopicOrPartition), errors.Is(failed.Err, kerr.UnknownTopicID):
		return fault.New(fault.Gap, "fetch %s: the topic is gone or was made anew: %w", where, failed.Err)
	}
	return fmt.Errorf("fetch %s: %w", where, failed.Err)
}

// accept queues a record. Transaction markers only move the position: no event carries them.
func (p *poller) accept(r *kgo.Record) {
	l := p.byPartition[position.Partition{Topic: r.Topic, Number: r.Partition}]
	l.read = position.Offset(r.Offset).Next()
	if !r.Attrs.IsControl() {
		l.queue = append(l.queue, convert(r))
	}
}

// convert keeps null and empty apart. A record without a key has no key member in an event; one without a value has a
// null value.
func convert(r *kgo.Record) record.Record {
	converted := record.Record{Offset: position.Offset(r.Offset), Key: record.Missing(), Value: data(r.Value)}
	if r.Key != nil {
		converted.Key = record.Present(r.Key)
	}
	if r.Timestamp.UnixMilli() >= 0 { // -1 is Kafka's "no timestamp"
		converted.Time = r.Timestamp
	}
	for _, h := range r.Headers {
		converted.Headers = append(converted.Headers, record.Header{Name: h.Key, Value: data(h.Value)})
	}
	return converted
}

func data(bytes []byte) record.Data {
	if bytes == nil {
		return record.Null()
	}
	return record.Present(bytes)
}

// balance stops fetching partitions that have more waiting than two events take, and goes on when half an event is left.
// A partition that waits for its function must not fill the memory.
func (p *poller) balance() {
	for _, l := range p.lanes {
		only := map[string][]int32{l.partition.Topic: {l.partition.Number}}
		switch {
		case !l.paused && len(l.queue) > 2*p.BatchSize:
			p.client.PauseFetchPartitions(only)
			l.paused = true
		case l.paused && len(l.queue) <= p.BatchSize/2:
			p.client.ResumeFetchPartitions(only)
			l.paused = false
		}
	}
}
