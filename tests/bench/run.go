package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"time"

	"tidemark/tests/bench/coldstart"
	"tidemark/tests/bench/copies"
	"tidemark/tests/bench/load"
	"tidemark/tests/bench/recoveries"
	"tidemark/tests/bench/result"
)

// measureAll measures the parts that the plan names and puts them in the place of r's. It says on progress what it is at.
func measureAll(ctx context.Context, p plan, r *result.Results, progress io.Writer) (err error) {
	say := func(format string, args ...any) {
		_, _ = fmt.Fprintf(progress, format+"\n", args...) // for people only
	}
	say("seed %d; starting a durable PostgreSQL", p.seed)
	b, err := openBed(ctx)
	if err != nil {
		return err
	}
	defer func() { err = b.close(ctx, err) }()
	m := machine(ctx, p)
	if m.PostgreSQL, err = b.version(ctx); err != nil {
		return err
	}
	if p.measures(onlyApply) {
		r.Machine, r.Inputs = m, inputs(p)
		if err := b.measureApply(ctx, p, r, say); err != nil {
			return err
		}
	}
	if p.measures(onlyBackup) {
		measured, err := copies.Measure(ctx, b.copies(p, say))
		if err != nil {
			return fmt.Errorf("backup: %w", err)
		}
		measured.Machine, r.Backup = m, &measured
	}
	if p.measures(onlyRecovery) {
		measured, err := recoveries.Measure(ctx, b.recoveries(p, say))
		if err != nil {
			return fmt.Errorf("recovery: %w", err)
		}
		measured.Machine, r.Recovery = m, &measured
	}
	return nil
}

// measureApply measures apply in all its forms, and its binary.
func (b *bed) measureApply(ctx context.Context, p plan, r *result.Results, say func(string, ...any)) error {
	r.Cells, r.Stages = nil, nil
	for _, c := range cells() {
		measured, err := b.measure(ctx, p, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c, err)
		}
		say("%s: %.0f records/s, %.2f of COPY (%d records)",
			c, measured.Apply.Rate.Median, measured.Ratio.Median, measured.Records)
		r.Cells = append(r.Cells, measured)
	}
	stages, err := b.stages(ctx)
	if err != nil {
		return err
	}
	for _, s := range stages {
		measured, err := measureStage(ctx, p, s)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", s.name, s.workload, err)
		}
		say("%s alone, %s, %d a batch: %.0f ns, %.2f allocations a record", s.name, s.workload, s.batch,
			measured.Nanoseconds.Median, measured.Allocations.Median)
		r.Stages = append(r.Stages, measured)
	}
	say("memory of processes that apply %d and %d records", p.single, 10*p.single)
	if r.Memory, err = b.memory(ctx, p); err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	say("%d cold starts of the apply function", p.starts)
	if err := b.reset(ctx); err != nil {
		return err
	}
	r.Start, err = coldstart.Measure(ctx, coldstart.Options{
		URL: b.url, TargetID: targetID, Flow: flow, Seed: p.seed, Starts: p.starts, Rounds: p.rounds,
	})
	if err != nil {
		return fmt.Errorf("the apply function: %w", err)
	}
	return nil
}

// copies is how backups are measured on the bed's server. Memory is asked of a sixteenth of the tables too.
func (b *bed) copies(p plan, say func(string, ...any)) copies.Options {
	return copies.Options{
		URL: b.url, Server: b.postmaster, Size: p.backup, Small: p.backup / 16, Seed: p.seed, Rounds: p.rounds, Say: say,
		Child: func(ctx context.Context, t copies.Task) (float64, error) { return child(ctx, task{Backup: &t}) },
	}
}

// recoveries is how recoveries are measured on the bed's server.
func (b *bed) recoveries(p plan, say func(string, ...any)) recoveries.Options {
	return recoveries.Options{
		URL: b.url, Server: b.postmaster, Size: p.recovery, Records: p.tail, Seed: p.seed, Rounds: p.rounds, Say: say,
	}
}

func machine(ctx context.Context, p plan) result.Machine {
	m := result.Machine{
		Commit: commit(ctx), Date: time.Now().UTC().Format(time.DateOnly), Go: runtime.Version(), Pgx: "unknown",
		Platform: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.NumCPU(),
		Seed: p.seed, Rounds: p.rounds, Short: p.short,
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dependency := range info.Deps {
			if dependency.Path == "github.com/jackc/pgx/v5" {
				m.Pgx = dependency.Version
			}
		}
	}
	return m
}

// commit is what is measured, as git names it, with a word for changes that are not in it.
func commit(ctx context.Context) string {
	git := exec.CommandContext(ctx,
		"git", "-c", "safe.directory=*", "--no-optional-locks", "describe", "--always", "--dirty")
	name, err := git.Output()
	if err != nil {
		return "unknown" // no repository, or no git
	}
	return strings.TrimSpace(string(name))
}

// inputs describes the workloads.
func inputs(p plan) []result.Input {
	var list []result.Input
	for _, workload := range []load.Workload{load.Inserts, load.Mixed} {
		keys := load.KeysFor(p.maximum)
		source := load.New(workload, p.seed, keys)
		var bytes int
		room := make([]byte, 0, load.MaxRecordBytes)
		for range p.maximum {
			bytes += len(source.Next(room).Value)
		}
		rows, rowBytes := 0, 0
		for row := range source.Rows() {
			rows, rowBytes = rows+1, rowBytes+len(row.AppendJSON(room))
		}
		counts := source.Counts()
		share := func(n int) float64 { return result.Round(float64(n) / float64(p.maximum)) }
		in := result.Input{
			Workload: string(workload), RowBytes: result.Round(float64(rowBytes) / float64(rows)),
			ValueBytes: result.Round(float64(bytes) / float64(counts.Changes())),
			Inserts:    share(counts.Inserts), Updates: share(counts.Updates),
			Deletes: share(counts.Deletes), Tombstones: share(counts.Tombstones),
		}
		if workload == load.Mixed {
			in.KeysARecord = share(keys)
		}
		list = append(list, in)
	}
	return list
}

// profile leaves cpu.pprof and allocations.pprof in dir: of inserts, 10,000 a batch, of backups or of recoveries, for five rounds.
func profile(ctx context.Context, p plan, dir string) (err error) {
	b, err := openBed(ctx)
	if err != nil {
		return err
	}
	defer func() { err = b.close(ctx, err) }()
	runtime.MemProfileRate = 16 << 10
	cpu, err := os.Create(filepath.Join(dir, "cpu.pprof")) //nolint:gosec // whoever runs the command names the folder
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	begin := func() error { return pprof.StartCPUProfile(cpu) }
	silent := func(string, ...any) {}
	switch p.only {
	case onlyBackup:
		err = copies.Profile(ctx, b.copies(p, silent), begin, profiled)
	case onlyRecovery:
		err = recoveries.Profile(ctx, b.recoveries(p, silent), begin, profiled)
	default:
		err = b.profileApply(ctx, p, begin)
	}
	pprof.StopCPUProfile()
	if err = errors.Join(err, cpu.Close()); err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	allocations, err := os.Create(filepath.Join(dir, "allocations.pprof")) //nolint:gosec // as above
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	if err := errors.Join(pprof.Lookup("allocs").WriteTo(allocations, 0), allocations.Close()); err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	return nil
}

// profiled is how many rounds a profile has.
const profiled = 5

func (b *bed) profileApply(ctx context.Context, p plan, begin func() error) error {
	ours, err := openApplied(b.url, false)
	if err != nil {
		return err
	}
	defer ours.close(ctx)
	const batch = 10_000
	in, err := load.NewInput(load.Inserts, p.seed, p.maximum/batch*batch)
	if err != nil {
		return err
	}
	if err := begin(); err != nil {
		return err
	}
	for range profiled {
		if _, err := b.round(ctx, ours, in, batch); err != nil {
			return err
		}
	}
	return nil
}
