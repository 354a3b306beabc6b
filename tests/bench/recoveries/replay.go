package recoveries

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/apply"
	"tidemark/shared/config"
	"tidemark/shared/record"
	wiredflow "tidemark/shared/wiring/flow"
	"tidemark/tests/bench/load"
	"tidemark/tests/bench/meter"
	"tidemark/tests/bench/original"
	"tidemark/tests/bench/result"
)

// batch is how many records replay brings in at once, and so live apply beside it.
const batch = 10_000

// given is how many records the base of a tail holds, so that there is a checkpoint to replay from.
const given = 1

// tailed is a base of one row and the records behind it.
type tailed struct {
	original *original.Database
	store    *original.Store
	input    *load.Input
}

// newTail makes a tail of that many records behind the first. The caller removes it.
func (o Options) newTail(ctx context.Context, workload load.Workload, records int) (_ *tailed, err error) {
	t := &tailed{}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.remove(ctx))
		}
	}()
	if t.input, err = load.NewInput(workload, o.Seed, given+records); err != nil {
		return nil, err
	}
	if t.original, err = original.Live(ctx, o.URL, load.DDL); err != nil {
		return nil, err
	}
	live, err := openLive(t.original.URL)
	if err != nil {
		return nil, err
	}
	defer live.close(ctx)
	if err := live.apply(ctx, t.input, 0, given); err != nil {
		return nil, err
	}
	if t.store, err = original.NewStore(); err != nil {
		return nil, err
	}
	return t, t.store.Save(ctx, t.original.URL, 1)
}

func (t *tailed) remove(ctx context.Context) (err error) {
	if t.original != nil {
		err = t.original.Drop(ctx)
	}
	if t.store != nil {
		err = errors.Join(err, t.store.Remove())
	}
	if t.input != nil {
		err = errors.Join(err, t.input.Free())
	}
	return err
}

// replayed measures a workload's tail, replayed and applied live in turns, and gives the seconds of the whole recoveries.
func (o Options) replayed(ctx context.Context, workload load.Workload) (_ result.ReplayCell, seconds []float64, err error) {
	c := result.ReplayCell{Workload: string(workload), Records: o.Records, Batch: batch}
	t, err := o.newTail(ctx, workload, o.Records)
	if err != nil {
		return c, nil, err
	}
	defer func() { err = errors.Join(err, t.remove(ctx)) }()
	var lives, replays []meter.Sample
	var ratios []float64
	for range o.Rounds {
		live, err := o.live(ctx, t)
		if err != nil {
			return c, nil, fmt.Errorf("live: %w", err)
		}
		replay, whole, err := o.replay(ctx, t)
		if err != nil {
			return c, nil, err
		}
		lives, replays, ratios = append(lives, live), append(replays, replay), append(ratios, replay.Rate/live.Rate)
		seconds = append(seconds, whole)
	}
	c.Apply, c.Replay, c.Ratio = o.records(lives), o.records(replays), result.SpreadOf(ratios)
	return c, seconds, nil
}

// length gives the seconds of recoveries with a tail of so many inserts.
func (o Options) length(ctx context.Context, records int) (seconds []float64, err error) {
	t, err := o.newTail(ctx, load.Inserts, records)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.remove(ctx)) }()
	for range o.Rounds {
		_, whole, err := o.replay(ctx, t)
		if err != nil {
			return nil, err
		}
		seconds = append(seconds, whole)
	}
	return seconds, nil
}

// replay measures a recovery with a tail: the replay, and the seconds of the whole.
func (o Options) replay(ctx context.Context, t *tailed) (_ meter.Sample, whole float64, err error) {
	into, err := original.New(ctx, o.URL)
	if err != nil {
		return meter.Sample{}, 0, err
	}
	defer func() { err = errors.Join(err, into.Drop(ctx)) }()
	if err := o.checkpoint(ctx, into); err != nil {
		return meter.Sample{}, 0, err
	}
	log := &memory{input: t.input, end: t.input.Size(), server: o.Server}
	began := time.Now()
	report, err := recoverInto(ctx, into, t.store, log, 1)
	whole = time.Since(began).Seconds()
	if want := t.input.Size() - given; err == nil && report.Replayed[flow].Applied != want {
		err = fmt.Errorf("%+v were replayed, want %d records", report.Replayed, want)
	}
	return log.taken, whole, errors.Join(err, log.err, check(ctx, into, t.input))
}

// live measures live apply of the tail.
func (o Options) live(ctx context.Context, t *tailed) (_ meter.Sample, err error) {
	into, err := original.Live(ctx, o.URL, load.DDL)
	if err != nil {
		return meter.Sample{}, err
	}
	defer func() { err = errors.Join(err, into.Drop(ctx)) }()
	if err := o.given(ctx, into, t); err != nil {
		return meter.Sample{}, err
	}
	a, err := openLive(into.URL)
	if err != nil {
		return meter.Sample{}, err
	}
	defer a.close(ctx)
	begun, err := meter.Begin(o.Server)
	if err != nil {
		return meter.Sample{}, err
	}
	n := t.input.Size()
	for from := given; from < n; from += batch {
		if err := a.apply(ctx, t.input, from, min(from+batch, n)); err != nil {
			return meter.Sample{}, err
		}
	}
	taken, err := begun.End(n - given)
	return taken, errors.Join(err, check(ctx, into, t.input))
}

// given brings what a base holds in, and gets the database ready as a restore leaves it.
func (o Options) given(ctx context.Context, into *original.Database, t *tailed) error {
	a, err := openLive(into.URL)
	if err != nil {
		return err
	}
	defer a.close(ctx)
	if err := a.apply(ctx, t.input, 0, given); err != nil {
		return err
	}
	err = into.With(ctx, func(conn *pgx.Conn) error { return original.Execute(ctx, conn, "ANALYZE") })
	return errors.Join(err, o.checkpoint(ctx, into))
}

// check compares what the table must hold behind an input.
func check(ctx context.Context, on *original.Database, in *load.Input) error {
	var got load.Totals
	err := on.With(ctx, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, "SELECT count(*), coalesce(sum(id), 0)::bigint, coalesce(sum(n), 0)::bigint FROM "+load.Table).
			Scan(&got.Rows, &got.IDs, &got.Ns)
	})
	if err == nil && got != in.Want {
		err = fmt.Errorf("the table holds %+v, want %+v", got, in.Want)
	}
	return err
}

// live is apply as the apply function has it.
type live struct {
	applier *apply.Applier
	records []record.Record // of one batch, used again for the next
	end     func(context.Context)
}

func openLive(url string) (*live, error) {
	file, err := config.ParseFlow("flow.yaml", []byte(flowFile))
	if err != nil {
		return nil, err
	}
	environment := process(url)
	target, applier, err := wiredflow.New(&environment, &file, wiredflow.Mode{Now: time.Now})
	if err != nil {
		return nil, err
	}
	return &live{applier: applier, end: target.Close}, nil
}

func (l *live) close(ctx context.Context) { l.end(context.WithoutCancel(ctx)) }

func (l *live) apply(ctx context.Context, in *load.Input, from, until int) error {
	l.records = in.Fill(l.records[:0], from, until)
	outcome, err := l.applier.Apply(ctx, in.Batch(l.records))
	if err == nil && outcome.Applied() != until-from {
		err = fmt.Errorf("%d of %d records were new", outcome.Applied(), until-from)
	}
	return err
}
