package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"tidemark/tests/internal/capture"
)

// killAt is the invocation whose process is killed after its commit and before its reply arrives.
const killAt = 5

// run plays the demo and reports to out. equal says whether the target ended like the source.
func run(ctx context.Context, out io.Writer) (equal bool, err error) {
	start := time.Now()
	records, err := capture.Load(capture.NoSchema)
	if err != nil {
		return false, err
	}
	report := &report{out: out}
	report.line("Tidemark demo: recorded changes of a PostgreSQL source, through Kafka, into a PostgreSQL target")
	stage, err := build(ctx, records, report)
	if err != nil {
		return false, err
	}
	defer func() { err = stage.close(err) }()

	first, err := stage.deliver(ctx, killAt)
	if err != nil {
		return false, err
	}
	report.pass("delivered", first)
	if first.killed == 0 {
		return false, fmt.Errorf("the function was never killed: the demo shows nothing")
	}
	again, err := stage.deliver(ctx, 0)
	if err != nil {
		return false, err
	}
	report.pass("delivered once more, from the start", again)
	tables, err := stage.compare(ctx)
	if err != nil {
		return false, err
	}
	equal = report.tables(tables)
	if first.applied != len(records) || again.applied != 0 || again.skipped != len(records) {
		report.line("WRONG COUNTS: want every record applied once in the first pass and skipped in the second")
		equal = false
	}
	if err := stage.backUp(ctx, report); err != nil {
		return false, err
	}
	report.line("")
	report.line(fmt.Sprintf("%.1f s", time.Since(start).Seconds()))
	return equal, nil
}
