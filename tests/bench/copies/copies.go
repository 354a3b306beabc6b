// Package copies owns how the whole of a database is read out: by a bare COPY, by a backup and by pg_dump, in turns.
//
// The databases are package original's, and so are the backups, into a folder on the disk that temporary files are on;
// pg_dump writes to the same disk. Each round is checked for the rows that it must have read. It judges nothing. How much
// memory a backup takes is measured in processes of their own, which its caller starts.
package copies

import (
	"context"
	"errors"
	"fmt"

	"tidemark/tests/bench/meter"
	"tidemark/tests/bench/original"
	"tidemark/tests/bench/result"
)

// Options says what is measured, where and how often.
type Options struct {
	URL    string // of a server, with a superuser
	Server int    // its first process; 0 when processes cannot be looked into
	Size   int    // of the tables, in bytes of COPY's binary form, about
	Small  int    // of the tables that the same memory is asked of
	Seed   uint64
	Rounds int
	// Child does a task in a process of its own and gives its peak memory in MB.
	Child func(ctx context.Context, t Task) (float64, error)
	Say   func(format string, args ...any)
}

// jobs is with how many connections everything is measured.
func jobs() []int { return []int{1, 2} }

// Measure makes the databases and measures everything. The caller says on which machine.
func Measure(ctx context.Context, o Options) (_ result.Backup, err error) {
	r := result.Backup{Level: original.Level}
	d, err := original.Open(ctx, o.URL, o.Seed, o.Size)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, d.Drop(ctx)) }()
	r.MB, r.Tables = megabytes(d.Bytes), d.Describe()
	o.Say("backup: %d tables, %.0f MB", len(r.Tables), r.MB)
	if r.Cells, err = o.cells(ctx, d); err != nil {
		return r, err
	}
	r.Memory, err = o.memory(ctx, d)
	return r, err
}

// round is what one round of one number of jobs gave. dump is nil where there is no pg_dump.
type round struct {
	copied, first, again meter.Sample
	dump                 *meter.Sample
	stored, sent, dumped int64 // bytes: of the first backup, of the second, of the dump
}

func (o Options) cells(ctx context.Context, d *original.Database) ([]result.BackupCell, error) {
	dumper, err := findDump(ctx, d)
	if err != nil {
		return nil, err
	}
	rounds := map[int][]round{}
	for range o.Rounds {
		for _, n := range jobs() {
			measured, err := o.round(ctx, d, dumper, n)
			if err != nil {
				return nil, fmt.Errorf("backup with %d jobs: %w", n, err)
			}
			rounds[n] = append(rounds[n], measured)
		}
	}
	var cells []result.BackupCell
	for _, n := range jobs() {
		c := o.cell(n, rounds[n])
		o.Say("backup, %d jobs: %.0f MB/s, %.2f of COPY; unchanged: %.0f MB/s, %.3f %% sent", n, c.First.Rate.Median,
			c.Ratio.Median, c.Again.Rate.Median, 100*c.Sent.Median)
		cells = append(cells, c)
	}
	return cells, nil
}

// round measures each way once.
func (o Options) round(ctx context.Context, d *original.Database, dumper string, n int) (_ round, err error) {
	var r round
	if r.copied, err = o.timed(d, func() error { return copyAll(ctx, d, n) }); err != nil {
		return r, err
	}
	if dumper != "" {
		if err := o.dump(ctx, d, dumper, n, &r); err != nil {
			return r, err
		}
	}
	store, err := original.NewStore()
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, store.Remove()) }()
	if r.first, err = o.timed(d, func() error { return store.Save(ctx, d.URL, n) }); err != nil {
		return r, err
	}
	if r.stored, err = store.Size(); err != nil {
		return r, err
	}
	if r.again, err = o.timed(d, func() error { return store.Save(ctx, d.URL, n) }); err != nil {
		return r, err
	}
	if r.sent, err = store.Size(); err != nil {
		return r, err
	}
	r.sent -= r.stored
	return r, store.Check(ctx, d)
}

// timed takes the time of reading the whole database out. A sample counts bytes of COPY's binary form, whoever reads.
func (o Options) timed(d *original.Database, read func() error) (meter.Sample, error) {
	begun, err := meter.Begin(o.Server)
	if err != nil {
		return meter.Sample{}, err
	}
	if err := read(); err != nil {
		return meter.Sample{}, err
	}
	return begun.End(int(d.Bytes))
}

func (o Options) cell(n int, rounds []round) result.BackupCell {
	of := func(take func(round) float64) result.Spread {
		values := make([]float64, 0, len(rounds))
		for _, r := range rounds {
			values = append(values, take(r))
		}
		return result.SpreadOf(values)
	}
	side := func(take func(round) meter.Sample) result.BackupSide {
		s := result.BackupSide{
			Seconds:   of(func(r round) float64 { return take(r).Seconds }),
			Rate:      of(func(r round) float64 { return take(r).Rate / mega }),
			ClientCPU: of(func(r round) float64 { return take(r).ClientCPU * kilo }),
		}
		if o.Server != 0 {
			server := of(func(r round) float64 { return take(r).ServerCPU * kilo })
			s.ServerCPU = &server
		}
		return s
	}
	c := result.BackupCell{
		Jobs: n, Copy: side(func(r round) meter.Sample { return r.copied }),
		First:      side(func(r round) meter.Sample { return r.first }),
		Again:      side(func(r round) meter.Sample { return r.again }),
		Ratio:      of(func(r round) float64 { return r.first.Rate / r.copied.Rate }),
		AgainRatio: of(func(r round) float64 { return r.again.Rate / r.copied.Rate }),
		StoredMB:   of(func(r round) float64 { return megabytes(r.stored) }),
		Sent:       of(func(r round) float64 { return float64(r.sent) / float64(r.stored) }),
	}
	if rounds[0].dump != nil {
		c.Dump = &result.Dump{
			BackupSide: side(func(r round) meter.Sample { return *r.dump }),
			Ratio:      of(func(r round) float64 { return r.first.Rate / r.dump.Rate }),
			StoredMB:   of(func(r round) float64 { return megabytes(r.dumped) }),
		}
	}
	return c
}

const (
	kilo = 1e3
	mega = 1e6
)

func megabytes(n int64) float64 { return result.Round(float64(n) / mega) }

// Profile makes the database, begins a profile and backs up as often as told, with one job, each time anew.
func Profile(ctx context.Context, o Options, begin func() error, times int) (err error) {
	d, err := original.Open(ctx, o.URL, o.Seed, o.Size)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Drop(ctx)) }()
	if err := begin(); err != nil {
		return err
	}
	for range times {
		if err := (Task{URL: d.URL, Jobs: 1}).Run(ctx); err != nil {
			return err
		}
	}
	return nil
}
