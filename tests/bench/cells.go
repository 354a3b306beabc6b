package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tidemark/tests/bench/load"
	"tidemark/tests/bench/meter"
	"tidemark/tests/bench/result"
)

// plan says how long and how often to measure.
type plan struct {
	seed    uint64
	rounds  int
	starts  int           // of the real binary
	round   time.Duration // what a round of apply should take
	single  int           // records of the single input of the memory figures
	maximum int           // records of an input
	probes  int           // rounds of the probe, the last of which counts
	short   bool
	only    string // the part that is measured, empty: all
	// backup and recovery are the bytes of the tables that are backed up and recovered, tail the records behind those.
	backup, recovery, tail int
}

// measures says whether a part is measured.
func (p plan) measures(part string) bool { return p.only == "" || p.only == part }

const megabyte = 1_000_000

func newPlan(seed uint64, short bool) plan {
	if short {
		return plan{
			seed: seed, rounds: 3, starts: 3, round: 100 * time.Millisecond, single: 5_000, maximum: 30_000,
			probes: 1, short: true, backup: 64 * megabyte, recovery: 32 * megabyte, tail: 60_000,
		}
	}
	return plan{
		seed: seed, rounds: 5, starts: 21, round: 2 * time.Second, single: 50_000, maximum: 500_000, probes: 2,
		backup: 1000 * megabyte, recovery: 384 * megabyte, tail: 270_000,
	}
}

// cell is one workload in one size of transaction.
type cell struct {
	workload load.Workload
	batch    int
	events   bool
	probe    int // records that show how fast it is
}

func (c cell) String() string {
	from := "records"
	if c.events {
		from = "events"
	}
	return fmt.Sprintf("%s, %d a batch, from %s", c.workload, c.batch, from)
}

// eventBatch is the size of a batch wherever only one is measured.
const eventBatch = 1_000

func cells() []cell {
	var list []cell
	for _, workload := range []load.Workload{load.Inserts, load.Mixed} {
		list = append(list,
			cell{workload: workload, batch: 1, probe: 200},
			cell{workload: workload, batch: 100, probe: 2_000},
			cell{workload: workload, batch: 1_000, probe: 10_000},
			cell{workload: workload, batch: 10_000, probe: 30_000},
		)
	}
	return append(list, cell{workload: load.Inserts, batch: eventBatch, probe: 10_000, events: true})
}

// measure runs a cell: a probe that warms up and says how many records fill a round, then apply and COPY in turns.
func (b *bed) measure(ctx context.Context, p plan, c cell) (_ result.Cell, err error) {
	ours, err := openApplied(b.url, c.events)
	if err != nil {
		return result.Cell{}, err
	}
	defer ours.close(ctx)
	records, err := b.calibrate(ctx, p, c, ours)
	if err != nil {
		return result.Cell{}, fmt.Errorf("probe: %w", err)
	}
	in, err := c.input(p.seed, records)
	if err != nil {
		return result.Cell{}, err
	}
	defer func() { err = errors.Join(err, in.Free()) }()
	var applies, copies []meter.Sample
	for range p.rounds {
		for _, turn := range []struct {
			side side
			to   *[]meter.Sample
		}{{ours, &applies}, {copied{b}, &copies}} {
			taken, err := b.round(ctx, turn.side, in, c.batch)
			if err != nil {
				return result.Cell{}, err
			}
			*turn.to = append(*turn.to, taken)
		}
	}
	return result.Cell{
		Workload: string(c.workload), Events: c.events, Batch: c.batch, Records: records,
		Apply: b.side(applies), Copy: b.side(copies), Ratio: ratios(applies, copies),
	}, nil
}

func (c cell) input(seed uint64, records int) (*load.Input, error) {
	in, err := load.NewInput(c.workload, seed, records)
	if err == nil && c.events {
		err = in.EncodeEvents(c.batch)
	}
	return in, err
}

// calibrate times the probe, which also warms up, and gives whole batches.
func (b *bed) calibrate(ctx context.Context, p plan, c cell, s side) (records int, err error) {
	in, err := c.input(p.seed, c.probe)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, in.Free()) }()
	var taken meter.Sample
	for range p.probes {
		if taken, err = b.round(ctx, s, in, c.batch); err != nil {
			return 0, err
		}
	}
	batches := int(taken.Rate*p.round.Seconds()) / c.batch
	return min(max(batches, minBatches), max(p.maximum/c.batch, minBatches)) * c.batch, nil
}

const minBatches = 3

func (b *bed) side(samples []meter.Sample) result.Side {
	s := result.Side{
		Rate:        spread(samples, func(s meter.Sample) float64 { return s.Rate }),
		ClientCPU:   spread(samples, func(s meter.Sample) float64 { return s.ClientCPU }),
		Allocations: spread(samples, func(s meter.Sample) float64 { return s.Allocations }),
		Bytes:       spread(samples, func(s meter.Sample) float64 { return s.Bytes }),
	}
	if b.postmaster != 0 {
		server := spread(samples, func(s meter.Sample) float64 { return s.ServerCPU })
		s.ServerCPU = &server
	}
	return s
}

func spread(samples []meter.Sample, of func(meter.Sample) float64) result.Spread {
	values := make([]float64, 0, len(samples))
	for _, s := range samples {
		values = append(values, of(s))
	}
	return result.SpreadOf(values)
}

func ratios(a, b []meter.Sample) result.Spread {
	values := make([]float64, 0, len(a))
	for i := range a {
		values = append(values, a[i].Rate/b[i].Rate)
	}
	return result.SpreadOf(values)
}
