package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"tidemark/localstack/services/servicestest"
	"tidemark/shared/config"
	"tidemark/shared/fault"
	"tidemark/shared/kafkaevent"
	"tidemark/shared/position"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/record"
)

func TestMain(m *testing.M) {
	code := servicestest.Run(m)
	if err := goleak.Find(); err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		code = max(code, 1)
	}
	os.Exit(code)
}

// mark stands in keys, values and headers of every record, and must be in nothing that the function writes.
const mark = "mark3r"

// done is the reply to an event of which everything is applied.
const done = `{"batchItemFailures":[]}`

// function is the handler of a flow file, and what it wrote.
type function struct {
	*handler

	out *bytes.Buffer
}

// environmentFor is the environment of a function with that flow file on db, with changes in the form NAME=VALUE.
func environmentFor(t *testing.T, db *postgrestest.Database, flow string, changes ...string) config.Apply {
	t.Helper()
	path := filepath.Join(t.TempDir(), "flow.yaml")
	if err := os.WriteFile(path, []byte(flow), 0o600); err != nil {
		t.Fatal(err)
	}
	set := map[string]string{
		"TIDEMARK_TARGET_ID": postgrestest.TargetID.String(), "TIDEMARK_DATABASE_URL": db.URL,
		"TIDEMARK_FLOW_FILE": path, "TIDEMARK_PARTIAL_REPLIES": "true", "TIDEMARK_LOG_LEVEL": "debug",
	}
	for _, change := range changes {
		name, value, _ := strings.Cut(change, "=")
		set[name] = value
	}
	environment, err := config.LoadApply(func(name string) (string, bool) { value, ok := set[name]; return value, ok }, nil)
	if err != nil {
		t.Fatal(err)
	}
	return environment
}

// start makes the function of a flow file on db. What it wrote is searched for payload in the end.
func start(t *testing.T, db *postgrestest.Database, flow string, changes ...string) *function {
	t.Helper()
	environment := environmentFor(t, db, flow, changes...)
	var out bytes.Buffer
	h, err := assembleFor(&environment, &out)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.target.Close(context.WithoutCancel(t.Context()))
		discreet(t, out.String())
		for line := range strings.Lines(out.String()) {
			if !json.Valid([]byte(line)) {
				t.Errorf("no log line: %s", line)
			}
		}
	})
	return &function{handler: h, out: &out}
}

// discreet checks that a text for the log holds no payload, plain or as the event carries it.
func discreet(t *testing.T, text string) {
	t.Helper()
	for _, form := range []string{mark, "6d61726b3372", "bWFyazNy", "1hcmszc", "tYXJrM3"} { // hex, and base64 at each place
		if strings.Contains(strings.ToLower(text), strings.ToLower(form)) {
			t.Errorf("payload is written: %s", text)
		}
	}
}

// rec is a record of now. A key or value "" is null; headers are names and values in turn.
func rec(offset position.Offset, key, value string, headers ...string) record.Record {
	r := record.Record{Offset: offset, Time: time.Now().Truncate(time.Millisecond), Key: data(key), Value: data(value)}
	for pair := range slices.Chunk(headers, 2) {
		r.Headers = append(r.Headers, record.Header{Name: pair[0], Value: record.Present([]byte(pair[1]))})
	}
	return r
}

func data(text string) record.Data {
	if text == "" {
		return record.Null()
	}
	return record.Present([]byte(text))
}

func run(topic string, number int32, records ...record.Record) record.Run {
	return record.Run{Partition: position.Partition{Topic: topic, Number: number}, Records: records}
}

// event is the event of runs as the service sends it.
func event(t *testing.T, runs ...record.Run) []byte {
	t.Helper()
	payload, err := kafkaevent.Encode(kafkaevent.Source{Kind: kafkaevent.MSK, ARN: "arn:aws:kafka:test"}, runs)
	if err != nil {
		t.Fatal(err)
	}
	return payload
}

// replies checks that the function answers an event with a reply.
func (f *function) replies(t *testing.T, want string, payload []byte) {
	t.Helper()
	got, err := f.Invoke(t.Context(), payload)
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s\n%s", got, err, want, f.out)
	}
}

// fails checks that the function answers an event with an error of a class that says all of that and no payload.
func (f *function) fails(t *testing.T, class fault.Class, payload []byte, says ...string) {
	t.Helper()
	got, err := f.Invoke(t.Context(), payload)
	if _, ok := errors.AsType[*UnappliedError](err); !ok || got != nil || !fault.Is(err, class) {
		t.Fatalf("got %s, %v, want an unapplied error of class %s", got, err, class)
	}
	discreet(t, err.Error())
	for _, text := range says {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("got %q, want it to say %q", err, text)
		}
	}
}

// lines are the log lines with that message, each as what it says of the attributes.
func (f *function) lines(t *testing.T, message string, attributes ...string) []map[string]any {
	t.Helper()
	var lines []map[string]any
	for text := range strings.Lines(f.out.String()) {
		var all map[string]any
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			t.Fatalf("no log line: %s", text)
		}
		if all["msg"] != message {
			continue
		}
		asked := map[string]any{}
		for _, name := range attributes {
			asked[name] = all[name]
		}
		lines = append(lines, asked)
	}
	return lines
}

const itemDDL = "CREATE TABLE item (id text PRIMARY KEY, n integer CHECK (n < 1000));"

const itemFlow = "flow: items\nformat: plain\ntopics: [items]\nlog: dense\nplain: {table: public.item}\n"

func item(offset position.Offset, id, n string) record.Record {
	return rec(offset, `{"id":"`+mark+id+`"}`, `{"n":`+n+`}`, "trace", mark)
}

const items = "SELECT replace(id, '" + mark + "', ''), n FROM item ORDER BY id"

func (f *function) holds(t *testing.T, db *postgrestest.Database, query, want string) {
	t.Helper()
	if diff := cmp.Diff(want, db.Copy(t, query)); diff != "" {
		t.Errorf("%s (-want +got):\n%s%s", query, diff, f.out)
	}
}

func TestReplies(t *testing.T) {
	t.Parallel()
	// The second record of partition 1 does not fit its column.
	bad := []record.Run{
		run("items", 0, item(0, "a", "1")),
		run("items", 1, item(0, "b", "1"), item(1, "c", `"`+mark+`"`), item(2, "d", "1")),
	}
	const rest = `{"batchItemFailures":[{"itemIdentifier":{"partition":"items-1","offset":1}},` +
		`{"itemIdentifier":{"partition":"items-1","offset":2}}]}`
	t.Run("ListsWhatIsNotApplied", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Live(t, itemDDL)
		f := start(t, db, itemFlow)
		f.replies(t, rest, event(t, bad...))
		f.holds(t, db, items, "a\t1\nb\t1\n")
		f.replies(t, rest, event(t, bad...))
		want := []map[string]any{{"level": "ERROR", "class": "poison", "applied": 1.0, "skipped": 0.0}, {
			"level": "ERROR", "class": "poison", "applied": 0.0, "skipped": 1.0,
		}}
		if diff := cmp.Diff(want, f.lines(t, "batch stopped", "level", "class", "applied", "skipped")); diff != "" {
			t.Error(diff)
		}
		bad[1].Records[1] = item(1, "c", "2")
		f.replies(t, done, event(t, bad...))
		f.holds(t, db, items, "a\t1\nb\t1\nc\t2\nd\t1\n")
	})
	t.Run("FailsWhenNothingIsApplied", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Live(t, itemDDL)
		f := start(t, db, itemFlow)
		f.fails(t, fault.Poison, event(t, run("items", 1, item(0, "c", `"`+mark+`"`), item(1, "d", "1"))),
			"poison: ", "items/1", "column n")
		f.fails(t, fault.Poison, event(t, run("items", 2, item(0, "e", "1000"))), "item_n_check")
		f.holds(t, db, items, "")
	})
	t.Run("FailsAsAWholeWithoutPartialReplies", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.Live(t, itemDDL)
		f := start(t, db, itemFlow, "TIDEMARK_PARTIAL_REPLIES=false")
		f.replies(t, done, event(t, run("items", 0, item(0, "a", "1"))))
		f.fails(t, fault.Poison, event(t,
			run("items", 0, item(1, "b", "1")), run("items", 1, item(0, "c", "{}"), item(1, "d", "1"))), "items/1")
		f.holds(t, db, items, "a\t1\nb\t1\n")
	})
	t.Run("RefusesTopicsOfOthers", func(t *testing.T) {
		t.Parallel()
		f := start(t, postgrestest.Live(t, itemDDL), itemFlow)
		f.fails(t, fault.Misconfigured, event(t, run("others", 0, item(0, "a", "1"))), `topic "others"`, "flow file's topics")
	})
}

func TestDoubt(t *testing.T) {
	t.Parallel()
	db := postgrestest.Live(t, itemDDL)
	f := start(t, db, itemFlow)
	doubtful := event(t, run("items", 0, item(0, "a", "1"), item(1, "b", "1")),
		run("items", 1, item(0, "c", "1"), item(0, "d", "1"), item(1, "e", "1")))
	for range 2 {
		f.fails(t, fault.Corrupt, doubtful, "items/1", "does not ascend")
		f.holds(t, db, items, "a\t1\nb\t1\nc\t1\n")
	}
	f.fails(t, fault.Misconfigured, []byte(`{"eventSource":"aws:sqs","Records":["`+mark+`"]}`))
	f.fails(t, fault.Corrupt, doubtful[:len(doubtful)-len(mark)])
	if n := len(f.lines(t, "event refused")); n != 4 {
		t.Errorf("%d refused events are logged, want 4", n)
	}
	want := []map[string]any{
		{"partition": 0.0, "applied": 2.0, "skipped": 0.0},
		{"partition": 1.0, "applied": 1.0, "skipped": 0.0},
		{"partition": 0.0, "applied": 0.0, "skipped": 2.0},
		{"partition": 1.0, "applied": 0.0, "skipped": 1.0},
	}
	if diff := cmp.Diff(want, f.lines(t, "batch applied", "partition", "applied", "skipped")); diff != "" {
		t.Error(diff)
	}
}

func TestIdentities(t *testing.T) {
	t.Parallel()
	const flow = "flow: facts\nformat: plain\ntopics: [facts]\nlog: dense\nidentity: {header: event-id, horizon: 2h}\n" +
		"plain: {table: public.fact}\n"
	fact := func(offset position.Offset, text string, headers ...string) record.Record {
		return rec(offset, "", `{"text":"`+mark+text+`"}`, headers...)
	}
	db := postgrestest.Live(t, "CREATE TABLE fact (text text);")
	f := start(t, db, flow)
	const facts = "SELECT replace(text, '" + mark + "', '') FROM fact ORDER BY text"
	f.replies(t, done, event(t, run("facts", 0,
		fact(0, "a", "event-id", mark+"1"), fact(1, "b", "event-id", mark+"2"), fact(2, "a", "event-id", mark+"1"))))
	f.replies(t, done, event(t, run("facts", 0, fact(3, "b", "event-id", mark+"2"), fact(4, "c", "event-id", mark+"3"))))
	f.holds(t, db, facts, "a\nb\nc\n")
	want := []map[string]any{{"applied": 3.0, "absorbed": 1.0}, {"applied": 2.0, "absorbed": 1.0}}
	if diff := cmp.Diff(want, f.lines(t, "batch applied", "applied", "absorbed")); diff != "" {
		t.Error(diff)
	}
	f.fails(t, fault.Poison, event(t, run("facts", 0, fact(5, "d", "other", mark))), `header "event-id"`)
	old := fact(5, "d", "event-id", mark+"4")
	old.Time = old.Time.Add(-3 * time.Hour)
	f.fails(t, fault.Misconfigured, event(t, run("facts", 0, old)), "older than 2h", "identity.horizon")
	f.holds(t, db, facts, "a\nb\nc\n")
}
