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

// run plays the demo and reports to out. good says whether the target ended like the source each time, and
// nothing was applied twice.
func run(ctx context.Context, out io.Writer) (good bool, err error) {
	start, failed := time.Now(), false
	records, err := capture.Load(capture.NoSchema)
	if err != nil {
		return false, err
	}
	told := &report{out: out}
	told.line("Tidemark demo: recorded changes of a PostgreSQL source, through Kafka, into a PostgreSQL target")
	stage, err := build(ctx, records, told)
	if err != nil {
		return false, err
	}
	defer func() { err = stage.close(err) }()

	for _, act := range []func(context.Context, *report) (bool, error){stage.live, stage.loseAndRecover, stage.goOn} {
		done, err := act(ctx, told)
		if err != nil {
			return false, err
		}
		failed = failed || !done
	}
	told.line("")
	told.line(fmt.Sprintf("%.1f s", time.Since(start).Seconds()))
	return !failed, nil
}

// live is the target's life until it is lost: records, a kill, backups, more records. It says whether it ends like the source.
func (s *stage) live(ctx context.Context, report *report) (bool, error) {
	early, late := split(s.records)
	first, err := s.hand(ctx, early, killAt)
	if err != nil {
		return false, err
	}
	report.pass(fmt.Sprintf("delivered, the first %d records", len(early)), first)
	if first.killed == 0 {
		return false, fmt.Errorf("the function was never killed: the demo shows nothing")
	}
	if err := s.backUp(ctx, report); err != nil {
		return false, err
	}
	second, err := s.hand(ctx, late, 0)
	if err != nil {
		return false, err
	}
	report.pass("delivered all, from the start", second)
	right := first.applied == len(early) && second.applied == len(late) && second.skipped == len(early)
	if !right {
		report.line("WRONG COUNTS: want every record applied once, and skipped when it comes again")
	}
	equal, err := s.equal(ctx, report)
	return equal && right, err
}

// hand publishes records and delivers the whole log.
func (s *stage) hand(ctx context.Context, records []capture.Record, kill int) (pass, error) {
	if err := s.publish(ctx, records); err != nil {
		return pass{}, err
	}
	return s.deliver(ctx, kill)
}

// goOn delivers everything to the recovered target, which stands where the lost one did.
func (s *stage) goOn(ctx context.Context, report *report) (bool, error) {
	last, err := s.deliver(ctx, 0)
	if err != nil {
		return false, err
	}
	report.pass("delivered once more, from the start, to the recovered target", last)
	right := last.applied == 0 && last.skipped == len(s.records)
	if !right {
		report.line("WRONG COUNTS: want every record skipped: the target stands where the lost one did")
	}
	return right, nil
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
