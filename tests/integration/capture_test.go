//go:build integration

package integration_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"tidemark/localstack/eventsource"
	"tidemark/localstack/kafkalog"
	"tidemark/shared/position"
	"tidemark/shared/record"
	"tidemark/tests/internal/capture"
)

// TestCapture plays recorded Debezium records through the whole way, with one event source a topic, and kills the function
// on it, after a commit and before the reply arrives.
func TestCapture(t *testing.T) {
	t.Parallel()
	const plain, alternative = "debezium: {unrepresentable: 'null'}\n",
		"debezium: {unrepresentable: 'null', decimal: string, binary: hex}\n"
	for _, c := range []struct {
		capture, section string
		redelivery       eventsource.Redelivery
	}{
		{capture.NoSchema, plain, eventsource.Rewind},
		{capture.Schema, plain, eventsource.OnlyListed},
		{capture.AltModes, alternative, eventsource.Rewind},
	} {
		t.Run(c.capture+"/"+c.redelivery.String(), func(t *testing.T) {
			t.Parallel()
			records, err := capture.Load(c.capture)
			if err != nil {
				t.Fatal(err)
			}
			s := newCapture(t, records, "on_unknown_column: ignore\n"+c.section)
			f, kills := s.mortal(t, 3, 9)
			s.deliverAll(t, f, c.redelivery)
			if got := kills(); got != 2 || f.Counts().ColdStarts != 3 {
				t.Errorf("the function was killed %d times and started %d times, want 2 and 3", got, f.Counts().ColdStarts)
			}
			if applied, _ := f.counts(); applied != len(records) {
				t.Errorf("applied %d records, want each of %d once", applied, len(records))
			}
			s.compare(t, c.capture)
		})
	}
}

// newCapture is a stage with the source's tables, where the records are in Kafka under their topics' names.
func newCapture(t *testing.T, records []capture.Record, flow string) *stage {
	t.Helper()
	ddl, err := capture.DDL()
	if err != nil {
		t.Fatal(err)
	}
	names, partitions := capture.Topics(records)
	topics := make([]kafkalog.Topic, 0, len(names))
	for _, name := range names {
		topics = append(topics, kafkalog.Topic{Name: name, Partitions: partitions[name]})
	}
	s := newStage(t, ddl, flow, topics...)
	runs := map[position.Partition][]record.Record{}
	for _, r := range records {
		p := position.Partition{Topic: s.prefix + r.Partition.Topic, Number: r.Partition.Number}
		runs[p] = append(runs[p], r.Record)
	}
	var batch record.Batch
	for p, records := range runs {
		batch = append(batch, record.Run{Partition: p, Records: records})
	}
	if _, err := log.Publish(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	return s
}

// mortal is a function that is killed with each of the given responses: it has committed, and nobody hears of it.
func (s *stage) mortal(t *testing.T, at ...int) (f *function, kills func() int) {
	t.Helper()
	responses, killed := 0, newTally()
	f = s.function(t, func(string, []byte) bool {
		responses++ // one invocation at a time
		if !slices.Contains(at, responses) {
			return false
		}
		if err := f.Kill(); err == nil {
			killed.add(1)
		}
		return true
	})
	return f, func() int {
		count, _ := killed.now()
		return count
	}
}

// deliverAll runs one event source for each topic, as an event source mapping takes one, from the log's start to its end.
func (s *stage) deliverAll(t *testing.T, f *function, redelivery eventsource.Redelivery) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	for _, topic := range s.topics {
		source := s.source(t, topic, f, func(o *eventsource.Options) { o.BatchSize, o.Redelivery = 12, redelivery })
		group.Go(func() error { return source.Run(ctx) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// compare holds the target against the truth.
func (s *stage) compare(t *testing.T, name string) {
	t.Helper()
	lost, err := capture.LostValues()
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range capture.Tables() {
		truth, err := table.Truth()
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		s.db.CopyTo(t, &got, table.CopySQL())
		different, _ := capture.Compare(name, table, truth, got.String(), lost)
		for _, d := range different {
			t.Errorf("%s", d)
		}
	}
}
