package applytest

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/apply"
	"tidemark/shared/apply/reduction"
	"tidemark/shared/change"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/record"
)

// patience bounds what a test waits for. Nothing that works takes as long.
const patience = 20 * time.Second

// Bench is a target with an applier on it, and what a test of the two asks again and again.
type Bench struct {
	Subject
	*apply.Applier

	t *testing.T
}

// NewBench puts an applier of Flow on subject. options may be the zero value: what is required is filled in.
func NewBench(t *testing.T, subject Subject, options apply.Options) *Bench {
	t.Helper()
	options.Flow, options.TargetID, options.Topics = Flow, TargetID, []string{Topic, "parents"}
	if options.Now == nil {
		options.Now = time.Now //nolint:forbidigo // the clock of a deadline
	}
	applier, err := apply.New(subject, Decoder{subject}, options)
	if err != nil {
		t.Fatalf("make an applier: %v", err)
	}
	return &Bench{Subject: subject, Applier: applier, t: t}
}

// Deliver applies runs as one batch within the test's patience.
func (b *Bench) Deliver(runs ...record.Run) (apply.Outcome, error) {
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	return b.Apply(ctx, runs)
}

// Want is what a delivery must leave behind.
type Want struct {
	Class            fault.Class // Unclassified: no error at all
	Applied, Skipped int
	Next             position.Cut // of the outcome
}

// MustDeliver delivers runs and holds the outcome against want.
func (b *Bench) MustDeliver(want Want, runs ...record.Run) {
	b.t.Helper()
	outcome, err := b.Deliver(runs...)
	b.Check(want, outcome, err)
}

// MustFail is MustDeliver for a call that fails. It returns the error for a closer look.
func (b *Bench) MustFail(want Want, runs ...record.Run) error {
	b.t.Helper()
	outcome, err := b.Deliver(runs...)
	b.Check(want, outcome, err)
	return err
}

// Check holds an outcome against want.
func (b *Bench) Check(want Want, outcome apply.Outcome, err error) {
	b.t.Helper()
	got := Want{Class: fault.ClassOf(err), Applied: outcome.Applied(), Skipped: outcome.Skipped(), Next: outcome.Next()}
	if diff := cmp.Diff(want, got); diff != "" || (want.Class == fault.Unclassified) != (err == nil) {
		b.t.Errorf("outcome (-want +got), error %v:\n%s", err, diff)
	}
}

// MustStand holds the target against where its partitions and rows must be.
func (b *Bench) MustStand(next position.Cut, rows map[string]string) {
	b.t.Helper()
	if diff := cmp.Diff(next, b.Checkpoints()); diff != "" {
		b.t.Errorf("checkpoints (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(rows, b.Rows()); diff != "" {
		b.t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// RowsOf are the rows that runs of Items leave, the later over the earlier.
func RowsOf(runs ...record.Run) map[string]string {
	rows := map[string]string{}
	for _, run := range runs {
		for i := range run.Records {
			maps.Copy(rows, rowOf(&run.Records[i]))
		}
	}
	return rows
}

func rowOf(rec *record.Record) map[string]string {
	m := NewMemory()
	var set change.Set
	if err := (Decoder{m}).Decode(context.Background(), rec, &set); err != nil || len(set.Changes) == 0 {
		return nil
	}
	return map[string]string{string(set.Changes[0].Row[0].Bytes()): string(set.Changes[0].Row[1].Bytes())}
}

// begin opens a transaction on partitions of Flow, or fails the test.
func (b *Bench) begin(partitions ...position.Partition) apply.Transaction {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	b.t.Cleanup(cancel)
	tx, err := b.Begin(ctx, apply.Opening{Flow: Flow, Partitions: partitions})
	if err != nil {
		b.t.Fatalf("begin: %v", err)
	}
	return tx
}

// Work is what applies run from a checkpoint at its first offset.
func (b *Bench) Work(incarnation position.Incarnation, run record.Run) apply.Work {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	var set change.Set
	for i := range run.Records {
		if err := (Decoder{b.Subject}).Decode(ctx, &run.Records[i], &set); err != nil {
			b.t.Fatalf("decode: %v", err)
		}
	}
	span := run.Range()
	return apply.Work{
		Flow: Flow, Incarnation: incarnation,
		Groups:   []reduction.Group{{Relation: set.Changes[0].Relation, Op: change.Insert, Changes: set.Changes}},
		Advances: []apply.Advance{{Partition: run.Partition, From: span.From, Next: span.Until, RecordTime: TimeOf(span.Until - 1)}},
	}
}
