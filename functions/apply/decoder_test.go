package main

import (
	"io"
	"strings"
	"testing"

	"tidemark/shared/fault"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/record"
)

const formatsDDL = `
CREATE TABLE orders (id text PRIMARY KEY, note text DEFAULT 'new', n integer);
CREATE TABLE lines (no integer, order_id text, note text, PRIMARY KEY (order_id, no));
CREATE TABLE kinds (id text PRIMARY KEY, at timestamptz, bytes bytea, doc jsonb, local timestamp,
	amount numeric(10,2));
CREATE TABLE other (id text PRIMARY KEY, note text);
`

// formatTest is a flow on tables of formatsDDL, records of its topics and what they come to.
type formatTest struct {
	name   string
	flow   string // without flow and log
	runs   []record.Run
	query  string
	want   string
	tables string // whose rows are removed before
}

func formatTests() []formatTest {
	key := func(id string) string { return `{"id":"` + mark + id + `"}` }
	const orders = "SELECT replace(id, '" + mark + "', ''), note, n FROM orders ORDER BY id"
	return []formatTest{
		{
			"PlainUpsertsAndDeletes", "format: plain\ntopics: [a.orders, b.lines]\nplain: {table: 'public.${topic:-1}'}\n",
			[]record.Run{
				run("a.orders", 0, rec(0, key("1"), `{"n":1}`), rec(1, key("2"), `{"n":2,"note":null}`),
					rec(2, key("1"), `{"note":"b"}`), rec(3, key("3"), `{}`), rec(4, key("3"), "")),
				run("b.lines", 0, rec(0, `{"order_id":"`+mark+`","no":1}`, `{"note":"c"}`)),
			},
			"SELECT replace(o.id, '" + mark + "', ''), o.note, o.n, l.no, l.note FROM orders o, lines l ORDER BY o.id",
			"1\tb\t1\t1\tc\n2\t\\N\t2\t1\tc\n", "orders, lines",
		},
		{
			"PlainTablesComeBeforeTheTemplate",
			"format: plain\ntopics: [x, y]\nplain: {table: public.orders, tables: {y: public.other}}\n",
			[]record.Run{run("x", 0, rec(0, key("1"), `{"n":1}`)), run("y", 0, rec(0, key("2"), `{"note":"a"}`))},
			"SELECT replace(o.id, '" + mark + "', ''), n, replace(x.id, '" + mark + "', '') FROM orders o, other x",
			"1\t1\t2\n", "orders, other",
		},
		{
			"PlainWithRoutesAndUnknownFields",
			"format: plain\ntopics: [x]\non_unknown_column: ignore\nroutes: [{from: web.x, to: public.orders}]\n" +
				"plain: {table: 'web.${topic}', key: {columns: {orderId: id}}, columns: {text: note}}\n",
			[]record.Run{run("x", 0, rec(0, `{"orderId":"`+mark+`1"}`, `{"text":"a","more":"`+mark+`"}`))},
			orders, "1\ta\t\\N\n", "orders",
		},
		{
			"PlainKeyInHeadersAndDeleteField",
			"format: plain\ntopics: [x]\nplain:\n  table: public.orders\n  key: {from: headers, columns: {order: id}}\n" +
				"  delete_field: gone\n  absent: null\n",
			[]record.Run{run("x", 0, rec(0, "", `{"n":1}`, "order", mark+"1"), rec(1, "", `{"n":2}`, "order", mark+"2"),
				rec(2, "", `{"gone":true}`, "order", mark+"1"))},
			orders, "2\t\\N\t2\n", "orders",
		},
		{
			"PlainKeyIsTextAndTombstonesMeanNothing",
			"format: plain\ntopics: [x]\nplain: {table: public.orders, key: {from: record_key_text}, tombstones: ignore}\n",
			[]record.Run{run("x", 0, rec(0, mark+"1", `{"n":1}`), rec(1, mark+"1", ""))},
			orders, "1\tnew\t1\n", "orders",
		},
		{
			"PlainModes",
			"format: plain\ntopics: [x]\nplain: {table: public.kinds, key: {from: value}, epoch: ms, binary: hex, json: text}\n",
			[]record.Run{run("x", 0, rec(0, "", `{"id":"`+mark+`","at":1700000000123,"bytes":"00ff","doc":"[1]"}`))},
			"SELECT at, bytes, doc FROM kinds", "2023-11-14 22:13:20.123+00\t\\\\x00ff\t[1]\n", "kinds",
		},
		{
			"DebeziumUnwrappedWithoutTable", "format: debezium\ntopics: [x]\ndebezium: {table: public.orders}\n",
			[]record.Run{run("x", 0, rec(0, key("1"), `{"id":"`+mark+`1","note":"a","n":1}`),
				rec(1, key("2"), `{"id":"`+mark+`2","note":"b","n":2}`), rec(2, key("2"), ""))},
			orders, "1\ta\t1\n", "orders",
		},
		{
			"DebeziumModes", "format: debezium\ntopics: [x]\n" +
				"debezium: {table: public.kinds, time: nanoseconds, binary: base64-url-safe, decimal: string}\n",
			[]record.Run{run("x", 0, rec(0, key("1"), `{"id":"`+mark+`1","at":"2023-11-14T22:13:20.123Z","bytes":"-_8=",`+
				`"doc":"[1]","local":1700000000123456000,"amount":"1.50"}`))},
			"SELECT at, bytes, doc, local, amount FROM kinds",
			"2023-11-14 22:13:20.123+00\t\\\\xfbff\t[1]\t2023-11-14 22:13:20.123456\t1.50\n", "kinds",
		},
		{
			"DebeziumPolicies", "format: debezium\ntopics: [x]\non_unknown_column: ignore\n" +
				"debezium: {table: public.kinds, unavailable_value: n/a, unrepresentable: null}\n",
			[]record.Run{run("x", 0, rec(0, key("1"), `{"id":"`+mark+`1","doc":"[1]"}`), rec(1, key("1"),
				`{"id":"`+mark+`1","doc":"n/a","local":-9223372036853775810,"more":"`+mark+`"}`))},
			"SELECT doc, local FROM kinds", "[1]\t\\N\n", "kinds",
		},
	}
}

// TestFormats takes records from the event to the rows, as the flow file says. The flows share a database, one after
// the other.
func TestFormats(t *testing.T) {
	db := postgrestest.Live(t, formatsDDL)
	for _, c := range formatTests() {
		t.Run(c.name, func(t *testing.T) {
			db.Exec(t, "TRUNCATE "+c.tables)
			f := start(t, db, "flow: "+strings.ToLower(c.name)+"\nlog: dense\n"+c.flow)
			f.replies(t, done, event(t, c.runs...))
			f.holds(t, db, c.query, c.want)
		})
	}
}

// TestUnknown is about what the target does not have.
func TestUnknown(t *testing.T) {
	t.Parallel()
	const flow = "format: plain\ntopics: [x]\nlog: dense\n"
	db := postgrestest.Live(t, formatsDDL)
	batch := event(t, run("x", 0, rec(0, `{"id":"`+mark+`"}`, `{"missing":"`+mark+`"}`)))
	start(t, db, "flow: column\n"+flow+"plain: {table: public.other}\n").
		fails(t, fault.Misconfigured, batch, `field "missing"`, "on_unknown_column")
	start(t, db, "flow: table\n"+flow+"plain: {table: public.none}\n").fails(t, fault.Misconfigured, batch, "public.none")
	f := start(t, db, "flow: ignored\n"+flow+"on_unknown_table: ignore\nplain: {table: public.none}\n")
	f.replies(t, done, batch)
	f.holds(t, db, "SELECT count(*) FROM other", "0\n")
}

func TestAssemble(t *testing.T) {
	t.Parallel()
	db := &postgrestest.Database{URL: "postgres://me@localhost/none"}
	const flow = "flow: a\nformat: plain\nlog: dense\ntopics: [a.b, c]\n"
	for name, c := range map[string]struct{ flow, says string }{
		"ATemplateThatDoesNotFitATopic": {
			flow + "plain: {table: 'public.${topic:2}'}\n", `plain.table does not fit topic c: plain options: table "public.${topic:2}"`,
		},
		"ATemplateWithoutSchema": {flow + "plain: {table: '${topic}'}\n", "plain.table does not fit topic a.b: "},
		"ATopicWithoutTable":     {flow + "plain: {tables: {c: public.c}}\n", `no table for topic "a.b"`},
		"NoSection":              {flow, `no table for topic "a.b"`},
		"ASectionOfTheOtherFormat": {
			flow + "debezium: {binary: hex}\n", "debezium is for format: debezium, and this flow has format: plain",
		},
		"APlaceholderInBrokenHex": {
			"flow: a\nformat: debezium\nlog: dense\ntopics: [a]\ndebezium: {unavailable_value: 'hex:0'}\n",
			"debezium.unavailable_value: ",
		},
		"ASilentLog": {"flow: a\nformat: debezium\ntopics: [a]\n", "log is not set; want dense"},
	} {
		t.Run("Refuses"+name, func(t *testing.T) {
			t.Parallel()
			environment := environmentFor(t, db, c.flow)
			h, err := assembleFor(&environment, io.Discard)
			if h != nil || !fault.Is(err, fault.Misconfigured) || !strings.Contains(err.Error(), c.says) || fault.HintOf(err) == "" {
				t.Errorf("got %v, want misconfigured, with a hint: %s", err, c.says)
			}
		})
	}
	t.Run("ConnectsToNothing", func(t *testing.T) {
		t.Parallel()
		f := start(t, db, flow+"plain: {table: 'public.${topic}'}\n")
		f.announce(t.Context())
		if len(f.lines(t, "apply ready: each record's rows, its dedup and its position commit in one transaction")) != 1 {
			t.Errorf("got %s", f.out)
		}
	})
}

// TestEnvironment sets variables of the process.
func TestEnvironment(t *testing.T) {
	t.Setenv("TIDEMARK_TARGET_ID", "A target")
	if _, err := assemble(io.Discard); !fault.Is(err, fault.Misconfigured) || !strings.Contains(err.Error(), "TIDEMARK_TARGET_ID") {
		t.Errorf("got %v, want misconfigured", err)
	}
}
