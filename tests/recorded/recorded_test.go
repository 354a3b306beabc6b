// Package recorded holds the promise that recorded input ends in the recorded truth: every capture, through decoder and
// apply, into a real PostgreSQL, compared byte by byte with what the source's own COPY printed.
package recorded_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/shared/apply"
	"tidemark/shared/format/debezium"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/postgres/target"
	"tidemark/shared/record"
	"tidemark/tests/internal/capture"
)

func TestCapture(t *testing.T) {
	t.Parallel()
	t.Run("NoSchemaInSourceOrder", func(t *testing.T) {
		t.Parallel()
		records := load(t, capture.NoSchema)
		db := newTarget(t)
		applyAll(t, db, records, batches(inSourceOrder(records), 7), debezium.Options{})
		compare(t, db, capture.NoSchema)
	})
}

func load(t *testing.T, name string) []capture.Record {
	t.Helper()
	records, err := capture.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return records
}

func newTarget(t *testing.T) *postgrestest.Database {
	t.Helper()
	ddl, err := capture.DDL()
	if err != nil {
		t.Fatal(err)
	}
	return postgrestest.Live(t, ddl)
}

// inSourceOrder sorts records by their place in the source; a record without a place goes with the one before it in its
// partition.
func inSourceOrder(records []capture.Record) []capture.Record {
	sorted := slices.Clone(records)
	for i := range sorted {
		if sorted[i].LSN == 0 && i > 0 && sorted[i].Partition == sorted[i-1].Partition {
			sorted[i].LSN, sorted[i].Order = sorted[i-1].LSN, sorted[i-1].Order
		}
	}
	slices.SortStableFunc(sorted, func(a, b capture.Record) int {
		if a.LSN != b.LSN {
			return int(a.LSN - b.LSN)
		}
		return int(a.Order - b.Order)
	})
	return sorted
}

// batches cuts records into deliveries of at most size records.
func batches(records []capture.Record, size int) []record.Batch {
	var out []record.Batch
	for chunk := range slices.Chunk(records, size) {
		var batch record.Batch
		for _, r := range chunk {
			i := slices.IndexFunc(batch, func(run record.Run) bool { return run.Partition == r.Partition })
			if i < 0 {
				i = len(batch)
				batch = append(batch, record.Run{Partition: r.Partition})
			}
			batch[i].Records = append(batch[i].Records, r.Record)
		}
		slices.SortFunc(batch, func(a, b record.Run) int { return a.Partition.Compare(b.Partition) })
		out = append(out, batch)
	}
	return out
}

func newApplier(t *testing.T, db *postgrestest.Database, topics []string, options debezium.Options) *apply.Applier {
	t.Helper()
	written, err := target.New(target.Options{Database: db.URL, Flow: "recorded", Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { written.Close(context.WithoutCancel(t.Context())) })
	options.UnknownColumn, options.Unrepresentable = debezium.Ignore, debezium.Null
	decoder, err := debezium.New(written, options)
	if err != nil {
		t.Fatal(err)
	}
	applier, err := apply.New(written, decoder, apply.Options{
		Flow: "recorded", TargetID: postgrestest.TargetID, Topics: topics, Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	return applier
}

func applyAll(
	t *testing.T, db *postgrestest.Database, records []capture.Record, deliveries []record.Batch, options debezium.Options,
) {
	t.Helper()
	topics, _ := capture.Topics(records)
	applier := newApplier(t, db, topics, options)
	applied := 0
	for _, batch := range deliveries {
		outcome, err := applier.Apply(t.Context(), batch)
		if err != nil {
			t.Fatalf("apply: %v", err)
		}
		applied += outcome.Applied()
	}
	if applied != len(records) {
		t.Errorf("applied %d records, want %d", applied, len(records))
	}
}

func compare(t *testing.T, db *postgrestest.Database, name string) {
	t.Helper()
	lost, err := capture.LostValues()
	if err != nil {
		t.Fatal(err)
	}
	var met []capture.Lost
	for _, table := range capture.Tables() {
		truth, err := table.Truth()
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		db.CopyTo(t, &got, table.CopySQL())
		different, m := capture.Compare(name, table, truth, got.String(), lost)
		met = append(met, m...)
		for _, d := range different {
			t.Errorf("%s", d)
		}
	}
	for _, l := range lost {
		if l.Capture == name && !slices.Contains(met, l) {
			t.Errorf("docs/formats.md lists %s.%s of row %s as lost, but it is not", l.Table, l.Column, l.Row)
		}
	}
}
