package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"tidemark/shared/position"
	"tidemark/shared/record"
	"tidemark/tests/bench/copies"
	"tidemark/tests/bench/load"
	"tidemark/tests/bench/meter"
	"tidemark/tests/bench/result"
)

// task is what a child process does: apply a stream that it makes batch by batch, or back a database up, or with 0 records
// nothing at all. The child reads it from its standard input, because an address has a password and a command line is for everybody to see.
type task struct {
	URL     string
	Seed    uint64
	Records int
	Batch   int
	Backup  *copies.Task // instead of records
}

// serveTask is the life of a child. The last it does is to print its peak memory.
func serveTask(ctx context.Context, in io.Reader, out io.Writer) error {
	var t task
	if err := json.NewDecoder(in).Decode(&t); err != nil {
		return fmt.Errorf("read the task: %w", err)
	}
	if err := t.run(ctx); err != nil {
		return err
	}
	peak, err := meter.PeakResident(os.Getpid())
	if err == nil {
		_, err = fmt.Fprintln(out, peak)
	}
	return err
}

func (t task) run(ctx context.Context) error {
	if t.Backup != nil {
		return t.Backup.Run(ctx)
	}
	if t.Records == 0 {
		return nil
	}
	ours, err := openApplied(t.URL, false)
	if err != nil {
		return err
	}
	defer ours.close(ctx)
	source := load.New(load.Inserts, t.Seed, 0)
	partition := position.Partition{Topic: load.Topic}
	room, records := make([]byte, 0, t.Batch*load.MaxRecordBytes), make([]record.Record, 0, t.Batch)
	for from := 0; from < t.Records; from += t.Batch {
		room, records = room[:0], records[:0]
		for i := from; i < min(from+t.Batch, t.Records); i++ {
			next := source.Next(room)
			room = room[:len(room)+len(next.Key)+len(next.Value)]
			records = append(records, record.Record{
				Offset: position.Offset(i), Time: load.RecordTime(),
				Key: record.Present(next.Key), Value: record.Present(next.Value),
			})
		}
		if err := ours.apply(ctx, record.Batch{{Partition: partition, Records: records}}); err != nil {
			return err
		}
	}
	return nil
}

// child runs a task in a process of its own and returns its peak memory in MB.
func child(ctx context.Context, t task) (float64, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("find this program: %w", err)
	}
	input, err := json.Marshal(t)
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, self, "-child") //nolint:gosec // this program
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), os.Stderr
	const patience = 10 * time.Second
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(os.Interrupt) }, patience // it removes its files
	output, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("child: %w", err)
	}
	return strconv.ParseFloat(strings.TrimSpace(string(output)), 64)
}

// memory measures children that do nothing, that apply an input, and that apply ten times as much.
func (b *bed) memory(ctx context.Context, p plan) (result.Memory, error) {
	m := result.Memory{Batch: eventBatch, Records: p.single}
	if !meter.HasProc() {
		return m, nil
	}
	var idle, once, tenfold []float64
	for range p.rounds {
		for _, turn := range []struct {
			records int
			to      *[]float64
		}{{0, &idle}, {p.single, &once}, {10 * p.single, &tenfold}} {
			if err := b.reset(ctx); err != nil {
				return m, err
			}
			peak, err := child(ctx, task{URL: b.url, Seed: p.seed, Records: turn.records, Batch: m.Batch})
			if err != nil {
				return m, err
			}
			*turn.to = append(*turn.to, peak)
		}
	}
	for _, s := range []struct {
		from []float64
		to   **result.Spread
	}{{idle, &m.Idle}, {once, &m.Once}, {tenfold, &m.Tenfold}} {
		spread := result.SpreadOf(s.from)
		*s.to = &spread
	}
	return m, nil
}
