package main

import (
	"context"
	"fmt"
	"io"
	"slices"
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

	early, late := split(records)
	if err := stage.publish(ctx, early); err != nil {
		return false, err
	}
	first, err := stage.deliver(ctx, killAt)
	if err != nil {
		return false, err
	}
	report.pass(fmt.Sprintf("delivered, the first %d records", len(early)), first)
	if first.killed == 0 {
		return false, fmt.Errorf("the function was never killed: the demo shows nothing")
	}
	if err := stage.backUp(ctx, report); err != nil {
		return false, err
	}
	if err := stage.publish(ctx, late); err != nil {
		return false, err
	}
	second, err := stage.deliver(ctx, 0)
	if err != nil {
		return false, err
	}
	report.pass("delivered all, from the start", second)
	if equal, err = stage.equal(ctx, report); err != nil {
		return false, err
	}
	if first.applied != len(early) || second.applied != len(late) || second.skipped != len(early) {
		report.line("WRONG COUNTS: want every record applied once, and skipped when it comes again")
		equal = false
	}
	recovered, err := stage.loseAndRecover(ctx, report)
	if err != nil {
		return false, err
	}
	last, err := stage.deliver(ctx, 0)
	if err != nil {
		return false, err
	}
	report.pass("delivered once more, from the start, to the recovered target", last)
	if last.applied != 0 || last.skipped != len(records) {
		report.line("WRONG COUNTS: want every record skipped: the target stands where the lost one did")
		equal = false
	}
	equal = equal && recovered
	report.line("")
	report.line(fmt.Sprintf("%.1f s", time.Since(start).Seconds()))
	return equal, nil
}

// split gives what was published before the backup and what came after: a point in time, as the log has it.
func split(records []capture.Record) (early, late []capture.Record) {
	byTime := slices.SortedStableFunc(slices.Values(records), func(a, b capture.Record) int { return a.Time.Compare(b.Time) })
	point := byTime[len(byTime)*2/3].Time
	for _, r := range records {
		if r.Time.Before(point) {
			early = append(early, r)
		} else {
			late = append(late, r)
		}
	}
	return early, late
}
