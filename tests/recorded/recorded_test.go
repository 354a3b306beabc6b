// Package recorded holds the promise that recorded input ends in the recorded truth: every capture, through decoder and
// apply, into a real PostgreSQL, compared byte by byte with what the source's own COPY printed.
package recorded_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/shared/apply"
	"tidemark/shared/fault"
	"tidemark/shared/format/debezium"
	"tidemark/shared/format/debezium/wire"
	"tidemark/shared/position"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/postgres/target"
	"tidemark/shared/record"
	"tidemark/tests/internal/capture"
)

func TestCapture(t *testing.T) {
	t.Parallel()
	alternative := wire.Modes{Decimal: wire.DecimalString, Binary: wire.BinaryHex, Time: wire.TimeISOString}
	for _, c := range []struct {
		capture string
		modes   wire.Modes
	}{
		{capture.NoSchema, wire.Modes{}},
		{capture.Schema, wire.Modes{}},
		{capture.AltModes, alternative},
	} {
		records := load(t, c.capture)
		t.Run(c.capture+"/InSourceOrder", func(t *testing.T) {
			t.Parallel()
			db := newTarget(t)
			applyAll(t, db, batches(inSourceOrder(records), 7), options{topicsOf(records), c.modes})
			compare(t, db, c.capture)
		})
		t.Run(c.capture+"/InOneDelivery", func(t *testing.T) {
			t.Parallel()
			db := newTarget(t)
			applyAll(t, db, batches(records, len(records)), options{topicsOf(records), c.modes})
			compare(t, db, c.capture)
		})
		for seed := range interleavings {
			t.Run(fmt.Sprintf("%s/InAnyInterleaving/%d", c.capture, seed), func(t *testing.T) {
				t.Parallel()
				db := newTarget(t)
				applyAll(t, db, batches(interleaved(records, seed), 1+seed*5), options{topicsOf(records), c.modes})
				compare(t, db, c.capture)
			})
		}
	}
}

// interleavings is how many orders of the partitions are tried for each capture. The seed is the test's name.
const interleavings = 4

// interleaved mixes the partitions at random and keeps the order of each.
func interleaved(records []capture.Record, seed int) []capture.Record {
	random := rand.New(rand.NewPCG(uint64(seed), 0)) //nolint:gosec // a test's order, not a secret
	queues := map[position.Partition][]capture.Record{}
	var tickets []position.Partition
	for _, r := range records {
		queues[r.Partition] = append(queues[r.Partition], r)
		tickets = append(tickets, r.Partition)
	}
	random.Shuffle(len(tickets), func(i, j int) { tickets[i], tickets[j] = tickets[j], tickets[i] })
	mixed := make([]capture.Record, 0, len(records))
	for _, p := range tickets {
		mixed, queues[p] = append(mixed, queues[p][0]), queues[p][1:]
	}
	return mixed
}

func topicsOf(records []capture.Record) []string {
	topics, _ := capture.Topics(records)
	return topics
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

type options struct {
	topics []string
	modes  wire.Modes
}

func newApplier(t *testing.T, db *postgrestest.Database, o options) *apply.Applier {
	t.Helper()
	written, err := target.New(target.Options{Database: db.URL, Flow: "recorded", Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { written.Close(context.WithoutCancel(t.Context())) })
	decoder, err := debezium.New(written, debezium.Options{
		Modes: o.modes, UnknownColumn: debezium.Ignore, Unrepresentable: debezium.Null,
	})
	if err != nil {
		t.Fatal(err)
	}
	applier, err := apply.New(written, decoder, apply.Options{
		Flow: "recorded", TargetID: postgrestest.TargetID, Topics: o.topics, Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	return applier
}

// applyAll delivers until everything is applied. A run may have to wait for another partition (the half of a changed key
// that holds the row's values); what was not applied comes again before anything else of its partition, as an event
// source brings it.
func applyAll(t *testing.T, db *postgrestest.Database, deliveries []record.Batch, o options) {
	t.Helper()
	applier := newApplier(t, db, o)
	want, applied := 0, 0
	waiting := map[position.Partition][]record.Record{}
	deliver := func(batch record.Batch) (progress int) {
		for i := range batch {
			batch[i].Records = append(waiting[batch[i].Partition], batch[i].Records...)
			delete(waiting, batch[i].Partition)
		}
		outcome, err := applier.Apply(t.Context(), batch)
		if err != nil && !fault.Is(err, fault.Retryable) {
			t.Fatalf("apply: %v", err)
		}
		for i, p := range outcome.Partitions {
			rest := slices.DeleteFunc(slices.Clone(batch[i].Records), func(r record.Record) bool { return r.Offset < p.Next })
			if len(rest) > 0 {
				waiting[p.Partition] = rest
			}
		}
		return outcome.Applied()
	}
	for _, batch := range deliveries {
		for _, run := range batch {
			want += len(run.Records)
		}
		applied += deliver(batch)
	}
	for len(waiting) > 0 {
		var batch record.Batch
		for p := range waiting {
			batch = append(batch, record.Run{Partition: p})
		}
		slices.SortFunc(batch, func(a, b record.Run) int { return a.Partition.Compare(b.Partition) })
		progress := deliver(batch)
		if progress == 0 {
			t.Fatalf("%d partitions wait for each other", len(waiting))
		}
		applied += progress
	}
	if applied != want {
		t.Errorf("applied %d records, want %d", applied, want)
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
