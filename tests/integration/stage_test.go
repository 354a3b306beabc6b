//go:build integration

package integration_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/localstack/brokers"
	"tidemark/localstack/eventsource"
	"tidemark/localstack/kafkalog"
	"tidemark/shared/position"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/record"
)

// stage is one test's target, flow and topics.
type stage struct {
	prefix   string // of its topics
	topics   []string
	db       *postgrestest.Database
	flowFile string
}

// tables has no key on entries: a record that was applied twice is there twice. Only kept can be written from a
// compacted topic.
const tables = `
CREATE SCHEMA shop;
CREATE TABLE shop.entries (id bigint, note text);
CREATE TABLE shop.kept (id bigint PRIMARY KEY, note text);
`

// newStage makes a stage with topics of so many partitions; names are without the prefix.
func newStage(t *testing.T, ddl, flow string, topics ...kafkalog.Topic) *stage {
	t.Helper()
	s := &stage{
		prefix: strings.ReplaceAll(t.Name(), "/", ".") + ".", db: postgrestest.Live(t, ddl),
		flowFile: filepath.Join(t.TempDir(), "flow.yaml"),
	}
	for _, topic := range topics {
		topic.Name = s.prefix + topic.Name
		s.topics = append(s.topics, topic.Name)
		if err := log.CreateTopic(t.Context(), topic); err != nil {
			t.Fatal(err)
		}
	}
	flow = "flow: integration\nformat: debezium\nlog: dense\n" + flow + "topics:\n  - " + strings.Join(s.topics, "\n  - ") + "\n"
	if err := os.WriteFile(s.flowFile, []byte(flow), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// newEntries is a stage with one topic, called entries, of so many partitions.
func newEntries(t *testing.T, partitions int32) *stage {
	t.Helper()
	return newStage(t, tables, "", kafkalog.Topic{Name: "entries", Partitions: partitions})
}

func (s *stage) partition(number int32) position.Partition {
	return position.Partition{Topic: s.topics[0], Number: number}
}

// entry is the insert of one row, as Debezium writes it.
func entry(id int, note string) record.Record {
	const form = `{"op":"c","before":null,"after":{"id":%d,"note":"%s"},"source":{"schema":"shop","table":"entries"},"ts_ms":1}`
	return record.Record{Key: record.Null(), Value: record.Present(fmt.Appendf(nil, form, id, note))}
}

// kept is the insert of one row of the table with a key.
func kept(id int) record.Record {
	const form = `{"op":"c","before":null,"after":{"id":%d,"note":"n"},"source":{"schema":"shop","table":"kept"},"ts_ms":1}`
	return record.Record{
		Key: record.Present(fmt.Appendf(nil, `{"id":%d}`, id)), Value: record.Present(fmt.Appendf(nil, form, id)),
	}
}

// entries are inserts of the rows from to until-1.
func entries(from, until int) []record.Record {
	var records []record.Record
	for id := from; id < until; id++ {
		records = append(records, entry(id, "n"))
	}
	return records
}

// publish appends records to a partition of the first topic and returns their range.
func (s *stage) publish(t *testing.T, number int32, records ...record.Record) position.Range {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	published, err := log.Publish(ctx, record.Batch{{Partition: s.partition(number), Records: records}})
	if err != nil {
		t.Fatal(err)
	}
	return published[0].Range()
}

// holds verifies that the target has the rows from 0 to until-1, each once.
func (s *stage) holds(t *testing.T, until int) {
	t.Helper()
	want := make([]int, 0, until)
	for id := range until {
		want = append(want, id)
	}
	s.has(t, "SELECT id FROM shop.entries ORDER BY id", want)
}

// has verifies what a query for numbers gives.
func (s *stage) has(t *testing.T, query string, want []int) {
	t.Helper()
	rows, err := s.db.Conn.Query(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", query, diff)
	}
}

// stands verifies the checkpoint of a partition of the first topic.
func (s *stage) stands(t *testing.T, number int32, want position.Offset) {
	t.Helper()
	var got int64
	err := s.db.Conn.QueryRow(t.Context(),
		"SELECT coalesce(max(next_offset), 0) FROM tidemark.checkpoint WHERE topic = $1 AND partition = $2",
		s.topics[0], number).Scan(&got)
	if err != nil {
		t.Fatal(err)
	}
	if position.Offset(got) != want {
		t.Errorf("the checkpoint of %s is %d, want %s", s.partition(number), got, want)
	}
}

// source makes an event source of one topic that reaches the brokers by TLS and SCRAM and runs to the log's end.
func (s *stage) source(t *testing.T, topic string, handler eventsource.Handler, change func(*eventsource.Options)) *eventsource.Source {
	t.Helper()
	access := cluster.Secure()
	client := append(access.Client(brokers.SHA256), kgo.MetadataMinAge(haste),
		kgo.RetryBackoffFn(func(int) time.Duration { return haste }))
	options := eventsource.Options{
		Brokers: access.Addresses, Client: client, Topics: []string{topic}, Handler: handler,
		UntilEnd: true, ReportBatchItemFailures: true, Backoff: 20 * time.Millisecond, MaxBackoff: 200 * time.Millisecond,
	}
	if change != nil {
		change(&options)
	}
	source, err := eventsource.New(options)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// haste is how long a source's client waits before it asks again about a leader or a topic that is not what it was.
const haste = 100 * time.Millisecond

// patience bounds every wait.
const patience = 90 * time.Second

// run runs a source to its end.
func run(t *testing.T, source *eventsource.Source) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return source.Run(ctx)
}

func mustRun(t *testing.T, source *eventsource.Source) {
	t.Helper()
	if err := run(t, source); err != nil {
		t.Fatal(err)
	}
}

// await asks until the answer is yes.
func await(t *testing.T, what string, is func(ctx context.Context) (bool, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		yes, err := is(ctx)
		switch {
		case err != nil:
			t.Fatalf("wait until %s: %v", what, err)
		case yes:
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited in vain until %s", what)
		}
	}
}
