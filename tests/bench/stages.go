package main

import (
	"context"
	"errors"
	"time"

	"tidemark/shared/apply"
	"tidemark/shared/change"
	"tidemark/shared/format/debezium"
	"tidemark/shared/kafkaevent"
	"tidemark/shared/position"
	"tidemark/shared/record"
	"tidemark/tests/bench/load"
	"tidemark/tests/bench/meter"
	"tidemark/tests/bench/result"
)

// void is a target that takes everything and does nothing, so that what is left of apply is decoding and grouping. It
// knows the real table's description.
type void struct {
	relation *change.Relation
	next     position.Offset
}

func (v *void) Relation(context.Context, change.Name) (*change.Relation, error) {
	return v.relation, nil
}

func (v *void) Forget() {}

func (v *void) Begin(_ context.Context, opening apply.Opening) (apply.Transaction, error) {
	incarnation := position.Incarnation("00000000-0000-4000-8000-000000000001")
	return &voidTransaction{target: v, ledger: apply.Ledger{
		TargetID: targetID, Incarnation: incarnation, State: apply.StateLive,
		Checkpoints: map[position.Partition]apply.Checkpoint{
			opening.Partitions[0]: {Next: v.next, Incarnation: incarnation, RecordTime: load.RecordTime()},
		},
	}}, nil
}

type voidTransaction struct {
	target *void
	ledger apply.Ledger
}

func (t *voidTransaction) Ledger() apply.Ledger { return t.ledger }

func (t *voidTransaction) Commit(_ context.Context, work apply.Work) error {
	t.target.next = work.Advances[0].Next
	return nil
}

func (t *voidTransaction) Rollback(context.Context) {}

// work handles the batch of records [from, until).
type work func(ctx context.Context, from, until int) error

// stage is a part of apply that needs no database.
type stage struct {
	name     string
	workload load.Workload
	batch    int
	make     func(in *load.Input) (work, error)
}

func (b *bed) stages(ctx context.Context) ([]stage, error) {
	on, err := openTarget(b.url)
	if err != nil {
		return nil, err
	}
	defer on.Close(ctx)
	relation, err := on.Relation(ctx, change.Name{Schema: load.Schema, Table: load.Table})
	if err != nil {
		return nil, err
	}
	list := []stage{{name: result.StageEvent, workload: load.Inserts, batch: eventBatch, make: readEvents}}
	for _, workload := range []load.Workload{load.Inserts, load.Mixed} {
		list = append(list, stage{
			name: result.StageDecode, workload: workload, batch: eventBatch,
			make: func(in *load.Input) (work, error) { return decodeOnly(in, relation) },
		})
	}
	for _, c := range cells() {
		if c.events {
			continue
		}
		list = append(list, stage{
			name: result.StageGroup, workload: c.workload, batch: c.batch,
			make: func(in *load.Input) (work, error) { return groupOnly(in, relation) },
		})
	}
	return list, nil
}

func readEvents(in *load.Input) (work, error) {
	if err := in.EncodeEvents(eventBatch); err != nil {
		return nil, err
	}
	return func(_ context.Context, from, _ int) error {
		_, err := kafkaevent.Decode(in.Event(from / eventBatch))
		return err
	}, nil
}

func decodeOnly(in *load.Input, relation *change.Relation) (work, error) {
	decoder, err := debezium.New(&void{relation: relation}, debezium.Options{})
	var records []record.Record
	return func(ctx context.Context, from, until int) error {
		var set change.Set
		records = in.Fill(records[:0], from, until)
		for i := range records {
			if err := decoder.Decode(ctx, &records[i], &set); err != nil {
				return err
			}
		}
		return nil
	}, err
}

func groupOnly(in *load.Input, relation *change.Relation) (work, error) {
	nowhere := &void{relation: relation}
	applier, err := newApplier(nowhere)
	a := applied{applier: applier}
	return func(ctx context.Context, from, until int) error {
		if from == 0 {
			nowhere.next = 0
		}
		return a.transact(ctx, in, from, until)
	}, err
}

// measureStage runs a stage over its input once to warm up, and then as often as the plan says.
func measureStage(ctx context.Context, p plan, s stage) (_ result.Stage, err error) {
	in, err := load.NewInput(s.workload, p.seed, max(stageRecords(p, s.batch)/s.batch, 1)*s.batch)
	if err != nil {
		return result.Stage{}, err
	}
	defer func() { err = errors.Join(err, in.Free()) }()
	do, err := s.make(in)
	if err != nil {
		return result.Stage{}, err
	}
	var samples []meter.Sample
	for range p.rounds + 1 {
		m, err := meter.Begin(0)
		if err != nil {
			return result.Stage{}, err
		}
		for from := 0; from < in.Size(); from += s.batch {
			if err := do(ctx, from, from+s.batch); err != nil {
				return result.Stage{}, err
			}
		}
		taken, err := m.End(in.Size())
		if err != nil {
			return result.Stage{}, err
		}
		samples = append(samples, taken)
	}
	samples = samples[1:]
	return result.Stage{
		Stage: s.name, Workload: string(s.workload), Batch: s.batch,
		Nanoseconds: spread(samples, func(s meter.Sample) float64 { return float64(time.Second) / s.Rate }),
		Allocations: spread(samples, func(s meter.Sample) float64 { return s.Allocations }),
		Bytes:       spread(samples, func(s meter.Sample) float64 { return s.Bytes }),
	}, nil
}

// stageRecords is enough records for about a third of a second.
func stageRecords(p plan, batch int) int {
	switch {
	case batch == 1:
		return p.maximum / 10
	case p.short:
		return p.maximum / 3
	}
	return p.maximum / 5
}
