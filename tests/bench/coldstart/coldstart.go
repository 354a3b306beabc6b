// Package coldstart owns how the real apply binary is measured: how large it is, how fast it starts and how much memory
// it takes, under the runtime API that stands in for Lambda.
//
// It builds the binary as the Makefile does and applies to a database that its caller made ready. Linux tells the
// memory of a process; elsewhere that figure is absent.
package coldstart

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"tidemark/localstack/runtimeapi"
	"tidemark/shared/kafkaevent"
	"tidemark/shared/position"
	"tidemark/shared/record"
	"tidemark/tests/bench/load"
	"tidemark/tests/bench/meter"
	"tidemark/tests/bench/result"
)

// function is the real apply binary, built as make build does, with what it needs to run.
type function struct {
	Options

	dir    string
	source *load.Source
	next   position.Offset
}

func (f *function) bootstrap() string { return filepath.Join(f.dir, "apply", "bootstrap") }

func build(ctx context.Context, o Options) (_ *function, err error) {
	f := &function{Options: o, source: load.New(load.Inserts, o.Seed, 0)}
	if f.dir, err = os.MkdirTemp("", "tidemark-bench-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.remove())
		}
	}()
	arguments := []string{
		"build", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w -X main.version=bench", "-tags", "lambda.norpc",
		"-o", f.bootstrap(), "tidemark/functions/apply",
	}
	compile := exec.CommandContext(ctx, "go", arguments...) //nolint:gosec // fixed words
	compile.Env = append(compile.Environ(), "CGO_ENABLED=0")
	compile.Stderr = os.Stderr
	if err := compile.Run(); err != nil {
		return nil, fmt.Errorf("build the apply function: %w", err)
	}
	text := "flow: " + f.Flow + "\nformat: debezium\nlog: dense\ntopics: [" + load.Topic + "]\n"
	if err := os.WriteFile(f.flowFile(), []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("write the flow file: %w", err)
	}
	return f, nil
}

func (f *function) flowFile() string { return filepath.Join(f.dir, "flow.yaml") }

func (f *function) remove() error { return os.RemoveAll(f.dir) }

// invokeTimeout is the function's time limit; nothing here comes near it.
const invokeTimeout = 30 * time.Second

func (f *function) open(output *bytes.Buffer) (*runtimeapi.Function, error) {
	return runtimeapi.New(runtimeapi.Options{
		Bootstrap: f.bootstrap(), Timeout: invokeTimeout, Output: output,
		Env: map[string]string{
			"TIDEMARK_TARGET_ID": f.TargetID.String(), "TIDEMARK_DATABASE_URL": f.URL,
			"TIDEMARK_FLOW_FILE": f.flowFile(), "TIDEMARK_PARTIAL_REPLIES": "true",
		},
	})
}

// event is the next records of the stream, as many as asked for or as fit into so many bytes.
func (f *function) event(records, maxBytes int) ([]byte, int, error) {
	run := record.Run{Partition: position.Partition{Topic: load.Topic}}
	for size := 0; len(run.Records) < records && size+load.MaxEventBytes < maxBytes; f.next++ {
		next := f.source.Next(nil)
		run.Records = append(run.Records, record.Record{
			Offset: f.next, Time: load.RecordTime(), Key: record.Present(next.Key), Value: record.Present(next.Value),
		})
		size += eventOverhead + (len(next.Key)+len(next.Value))*4/3
	}
	event, err := kafkaevent.Encode(load.EventSource(), record.Batch{run})
	return event, len(run.Records), err
}

const (
	eventOverhead  = 150 // about what a record takes beside its key and value
	fewRecords     = 10
	largestEvent   = 6_000_000
	largeEvents    = 3 // in a row, to one process
	manyRecords    = 1 << 20
	handOffWatched = 200 * time.Microsecond
)

// Options say what is measured. The database is empty, and has a live ledger and the table.
type Options struct {
	URL      string
	TargetID position.TargetID
	Flow     string
	Seed     uint64
	Starts   int // cold starts
	Rounds   int // processes that take large events
}

// Measure builds the binary and measures it.
func Measure(ctx context.Context, o Options) (_ result.Start, err error) {
	f, err := build(ctx, o)
	if err != nil {
		return result.Start{}, err
	}
	defer func() { err = errors.Join(err, f.remove()) }()
	info, err := os.Stat(f.bootstrap())
	if err != nil {
		return result.Start{}, err
	}
	s := result.Start{BinaryMB: result.Round(float64(info.Size()) / 1e6), Starts: o.Starts}
	var handler, reply []float64
	for range o.Starts {
		h, r, err := f.coldStart(ctx)
		if err != nil {
			return s, err
		}
		handler, reply = append(handler, h), append(reply, r)
	}
	s.Handler, s.Reply = result.SpreadOf(handler), result.SpreadOf(reply)
	var peaks []float64
	for range o.Rounds {
		peak, err := f.large(ctx, &s)
		if err != nil {
			return s, err
		}
		peaks = append(peaks, peak)
	}
	if meter.HasProc() {
		resident := result.SpreadOf(peaks)
		s.Resident = &resident
	}
	return s, nil
}

// coldStart starts a process with a small event and gives the milliseconds until the event was handed to it and until
// it replied.
func (f *function) coldStart(ctx context.Context) (handler, reply float64, err error) {
	event, _, err := f.event(fewRecords, largestEvent)
	if err != nil {
		return 0, 0, err
	}
	var output bytes.Buffer
	process, err := f.open(&output)
	if err != nil {
		return 0, 0, err
	}
	defer process.Stop()
	began := time.Now()
	handed := make(chan time.Duration, 1)
	watch, stop := context.WithCancel(ctx)
	defer stop()
	go watchHandOff(watch, process, began, handed)
	if _, err := process.Invoke(ctx, event); err != nil {
		return 0, 0, fmt.Errorf("cold start: %w: %s", err, output.String())
	}
	replied := time.Since(began)
	return milliseconds(<-handed), milliseconds(replied), nil
}

// watchHandOff tells when the process was handed its first invocation, for which it has to ask.
func watchHandOff(ctx context.Context, process *runtimeapi.Function, began time.Time, handed chan<- time.Duration) {
	ticker := time.NewTicker(handOffWatched)
	defer ticker.Stop()
	for process.Counts().Invocations == 0 {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
	handed <- time.Since(began)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// large hands events near the service's limit to a new process and gives its peak memory behind them.
func (f *function) large(ctx context.Context, s *result.Start) (float64, error) {
	var output bytes.Buffer
	process, err := f.open(&output)
	if err != nil {
		return 0, err
	}
	defer process.Stop()
	for range largeEvents {
		event, records, err := f.event(manyRecords, largestEvent)
		if err != nil {
			return 0, err
		}
		s.EventMB, s.EventRecords = result.Round(float64(len(event))/1e6), records
		if _, err := process.Invoke(ctx, event); err != nil {
			return 0, fmt.Errorf("large event: %w: %s", err, output.String())
		}
	}
	return meter.PeakResident(process.Pid())
}
