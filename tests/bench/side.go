package main

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"time"

	"tidemark/shared/apply"
	"tidemark/shared/kafkaevent"
	"tidemark/shared/postgres/target"
	"tidemark/shared/record"
	"tidemark/tests/bench/load"
	"tidemark/tests/bench/meter"
)

// side is one of two ways to bring an input into the table.
type side interface {
	// transact brings records [from, until) into the table, and its position with them, in one transaction.
	transact(ctx context.Context, in *load.Input, from, until int) error
	// want is what the table must hold behind all of an input.
	want(in *load.Input) load.Totals
}

// round empties the table and times a side on all of an input, in transactions of batch records.
func (b *bed) round(ctx context.Context, s side, in *load.Input, batch int) (meter.Sample, error) {
	if err := b.reset(ctx); err != nil {
		return meter.Sample{}, err
	}
	n := in.Size()
	m, err := meter.Begin(b.postmaster)
	if err != nil {
		return meter.Sample{}, err
	}
	for from := 0; from < n; from += batch {
		if err := s.transact(ctx, in, from, min(from+batch, n)); err != nil {
			return meter.Sample{}, err
		}
	}
	taken, err := m.End(n)
	if err != nil {
		return meter.Sample{}, err
	}
	return taken, b.check(ctx, s.want(in))
}

// applied is the side of Tidemark: batch, decoder, apply, target, as a worker or the apply function has them.
type applied struct {
	target  *target.Target
	applier *apply.Applier
	records []record.Record // of one batch, used again for the next
	events  bool            // begin with an invocation's event
}

func openApplied(url string, events bool) (*applied, error) {
	on, err := openTarget(url)
	if err != nil {
		return nil, err
	}
	applier, err := newApplier(on)
	if err != nil {
		return nil, err
	}
	return &applied{target: on, applier: applier, events: events}, nil
}

func (a *applied) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	a.target.Close(ctx)
}

func (a *applied) want(in *load.Input) load.Totals { return in.Want }

func (a *applied) transact(ctx context.Context, in *load.Input, from, until int) error {
	if a.events {
		return a.invoke(ctx, in.Event(from/eventBatch), until-from)
	}
	a.records = in.Fill(a.records[:0], from, until)
	return a.apply(ctx, in.Batch(a.records))
}

func (a *applied) apply(ctx context.Context, batch record.Batch) error {
	outcome, err := a.applier.Apply(ctx, batch)
	if want := len(batch[0].Records); err == nil && outcome.Applied() != want {
		err = fmt.Errorf("apply: %d of %d records were new", outcome.Applied(), want)
	}
	return err
}

// invoke does what the function does with an event.
func (a *applied) invoke(ctx context.Context, event []byte, records int) error {
	batch, err := kafkaevent.Decode(event)
	if err != nil {
		return err
	}
	outcome, err := a.applier.Apply(ctx, batch)
	if err == nil && outcome.Applied() != records {
		err = fmt.Errorf("apply: %d of %d records were new", outcome.Applied(), records)
	}
	if err == nil && len(kafkaevent.Reply(batch, outcome.Next())) == 0 {
		err = fmt.Errorf("apply: no reply")
	}
	return err
}

// copied is the bare COPY: the fastest way that PostgreSQL has to take rows, and no way to take them twice. It takes
// two round trips: BEGIN and COPY, then a move of a checkpoint of its own and COMMIT.
type copied struct{ bed *bed }

func (c copied) want(in *load.Input) load.Totals { return in.Copied }

func (c copied) transact(ctx context.Context, in *load.Input, from, until int) error {
	conn := c.bed.conn.PgConn()
	lines := bytes.NewReader(in.Lines(from, until))
	if _, err := conn.CopyFrom(ctx, lines, "BEGIN; COPY "+load.Table+" FROM STDIN"); err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	return c.bed.exec(ctx, "UPDATE bare_checkpoint SET next_offset = "+strconv.Itoa(until)+" WHERE id = 1; COMMIT")
}
