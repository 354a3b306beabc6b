// Package recoveries owns how a lost target comes back on the benchmark's server: its base beside a bare COPY of the same
// rows and the building of the same keys, its tail beside live apply of the same records, in turns.
//
// A recovery is what the operator's command runs, put together by package recovering, from an archive in a folder. Only
// the log is not real: it lies in memory, so that what is compared is decoding, applying and the order that replay keeps,
// and no broker. Each round is checked for the rows that it must have made. It judges nothing.
package recoveries

import (
	"context"
	"errors"
	"fmt"

	"tidemark/tests/bench/load"
	"tidemark/tests/bench/meter"
	"tidemark/tests/bench/result"
)

// Options says what is measured, where and how often.
type Options struct {
	URL     string // of a server, with a superuser
	Server  int    // its first process; 0 when processes cannot be looked into
	Size    int    // of the tables, in bytes of COPY's binary form, about
	Records int    // of the tail
	Seed    uint64
	Rounds  int
	Say     func(format string, args ...any)
}

// jobs is with how many connections bases are restored.
func jobs() []int { return []int{1, 2} }

// step is how much larger each of three sizes is than the one before.
const step = 3

// Measure measures everything. The caller says on which machine.
func Measure(ctx context.Context, o Options) (result.Recovery, error) {
	var r result.Recovery
	if err := o.bases(ctx, &r); err != nil {
		return r, fmt.Errorf("base: %w", err)
	}
	return r, o.tails(ctx, &r)
}

// bases measures restores of the largest base beside the bare side, and of all sizes.
func (o Options) bases(ctx context.Context, r *result.Recovery) (err error) {
	var all []*base // the smallest first
	defer func() {
		for _, b := range all {
			err = errors.Join(err, b.remove(ctx))
		}
	}()
	var units []float64
	for _, size := range []int{o.Size / step / step, o.Size / step, o.Size} {
		b, err := o.newBase(ctx, size)
		if err != nil {
			return err
		}
		all, units = append(all, b), append(units, megabytes(b.original.Bytes))
	}
	largest := all[len(all)-1]
	r.Tables, r.MB = largest.original.Describe(), megabytes(largest.original.Bytes)
	o.Say("recovery: %d tables, %.0f MB", len(r.Tables), r.MB)
	rounds, whole := map[int][]restored{}, make([][]float64, len(all))
	for range o.Rounds {
		if err := o.smaller(ctx, all, whole); err != nil {
			return err
		}
		for _, n := range jobs() {
			one, err := o.round(ctx, largest, n)
			if err != nil {
				return fmt.Errorf("%d jobs: %w", n, err)
			}
			rounds[n] = append(rounds[n], one)
		}
	}
	for _, one := range rounds[1] {
		whole[len(all)-1] = append(whole[len(all)-1], one.whole.Seconds)
	}
	r.Sizes = stepsOf(units, whole)
	for _, n := range jobs() {
		c := o.baseCell(n, rounds[n])
		o.Say("base, %d jobs: %.0f MB/s, %.2f of COPY and keys, %.2f with ANALYZE", n, c.Restore.Rate.Median, c.Ratio.Median,
			c.AnalyzedRatio.Median)
		r.Bases = append(r.Bases, c)
	}
	return nil
}

// smaller measures recoveries of all bases but the largest.
func (o Options) smaller(ctx context.Context, all []*base, whole [][]float64) error {
	for i, b := range all[:len(all)-1] {
		one, err := o.restore(ctx, b, 1)
		if err != nil {
			return err
		}
		whole[i] = append(whole[i], one.whole.Seconds)
	}
	return nil
}

// tails measures replays of the longest tail beside live apply, and of all lengths of inserts.
func (o Options) tails(ctx context.Context, r *result.Recovery) error {
	var units []float64
	var whole [][]float64
	for _, n := range []int{o.Records / step / step, o.Records / step} {
		seconds, err := o.length(ctx, n)
		if err != nil {
			return fmt.Errorf("a tail of %d records: %w", n, err)
		}
		units, whole = append(units, float64(n)), append(whole, seconds)
	}
	for _, workload := range []load.Workload{load.Inserts, load.Mixed} {
		c, seconds, err := o.replayed(ctx, workload)
		if err != nil {
			return fmt.Errorf("replay, %s: %w", workload, err)
		}
		o.Say("replay, %s: %.0f records/s, %.2f of apply", workload, c.Replay.Rate.Median, c.Ratio.Median)
		r.Replays = append(r.Replays, c)
		if workload == load.Inserts {
			units, whole = append(units, float64(o.Records)), append(whole, seconds)
		}
	}
	r.Tails = stepsOf(units, whole)
	return nil
}

// restored is what one round of one number of jobs gave.
type restored struct {
	bare    meter.Sample
	analyze float64      // seconds
	whole   meter.Sample // the recovery
	restore float64      // seconds of that
}

func (o Options) round(ctx context.Context, b *base, n int) (restored, error) {
	bare, analyze, err := o.bare(ctx, b, n)
	if err != nil {
		return restored{}, fmt.Errorf("bare COPY: %w", err)
	}
	r, err := o.restore(ctx, b, n)
	r.bare, r.analyze = bare, analyze
	return r, err
}

func (o Options) baseCell(n int, rounds []restored) result.BaseCell {
	mb := megabytes(int64(rounds[0].bare.Seconds*rounds[0].bare.Rate + 0.5))
	bare, restore := make([]meter.Sample, len(rounds)), make([]meter.Sample, len(rounds))
	for i, r := range rounds {
		bare[i], restore[i] = r.bare, r.whole
		restore[i].Seconds, restore[i].Rate = r.restore, mb*mega/r.restore
	}
	return result.BaseCell{
		Jobs: n, Bare: o.bytes(bare), Restore: o.bytes(restore),
		Whole:         spread(rounds, func(r restored) float64 { return r.whole.Seconds }),
		Analyze:       spread(rounds, func(r restored) float64 { return r.analyze }),
		Ratio:         spread(rounds, func(r restored) float64 { return r.bare.Seconds / r.restore }),
		AnalyzedRatio: spread(rounds, func(r restored) float64 { return (r.bare.Seconds + r.analyze) / r.restore }),
	}
}

// bytes is a side whose samples count bytes.
func (o Options) bytes(samples []meter.Sample) result.BackupSide {
	s := result.BackupSide{
		Seconds:   spread(samples, func(s meter.Sample) float64 { return s.Seconds }),
		Rate:      spread(samples, func(s meter.Sample) float64 { return s.Rate / mega }),
		ClientCPU: spread(samples, func(s meter.Sample) float64 { return s.ClientCPU * kilo }),
	}
	if o.Server != 0 {
		server := spread(samples, func(s meter.Sample) float64 { return s.ServerCPU * kilo })
		s.ServerCPU = &server
	}
	return s
}

// records is a side whose samples count records.
func (o Options) records(samples []meter.Sample) result.Side {
	s := result.Side{
		Rate:        spread(samples, func(s meter.Sample) float64 { return s.Rate }),
		ClientCPU:   spread(samples, func(s meter.Sample) float64 { return s.ClientCPU }),
		Allocations: spread(samples, func(s meter.Sample) float64 { return s.Allocations }),
		Bytes:       spread(samples, func(s meter.Sample) float64 { return s.Bytes }),
	}
	if o.Server != 0 {
		server := spread(samples, func(s meter.Sample) float64 { return s.ServerCPU })
		s.ServerCPU = &server
	}
	return s
}

func spread[T any](all []T, of func(T) float64) result.Spread {
	values := make([]float64, 0, len(all))
	for _, one := range all {
		values = append(values, of(one))
	}
	return result.SpreadOf(values)
}

// stepsOf takes seconds by size and round.
func stepsOf(units []float64, seconds [][]float64) []result.Step {
	steps := make([]result.Step, 0, len(units))
	for i, n := range units {
		each := make([]float64, 0, len(seconds[i]))
		for round, s := range seconds[i] {
			each = append(each, s/n/(seconds[0][round]/units[0]))
		}
		steps = append(steps, result.Step{Units: n, Seconds: result.SpreadOf(seconds[i]), PerUnit: result.SpreadOf(each)})
	}
	return steps
}

const (
	kilo = 1e3
	mega = 1e6
)

func megabytes(n int64) float64 { return result.Round(float64(n) / mega) }

// Profile begins a profile of a recovery of the largest base, by one job, as often as told, and of one of the tail.
func Profile(ctx context.Context, o Options, begin func() error, times int) (err error) {
	b, err := o.newBase(ctx, o.Size)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.remove(ctx)) }()
	t, err := o.newTail(ctx, load.Mixed, o.Records)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.remove(ctx)) }()
	if err := begin(); err != nil {
		return err
	}
	for range times {
		if _, err := o.restore(ctx, b, 1); err != nil {
			return err
		}
		if _, _, err := o.replay(ctx, t); err != nil {
			return err
		}
	}
	return nil
}
