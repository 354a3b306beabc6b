package debezium_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/change"
	"tidemark/shared/fault"
	"tidemark/shared/format/debezium"
	"tidemark/shared/record"
)

// envelope is a value as the source writes it, of a table of shop.
func envelope(op, table, before, after string) string {
	return fmt.Sprintf(`{"before":%s,"after":%s,"source":{"name":"dbn","db":"src","schema":"shop","table":%q,`+
		`"txId":776,"lsn":26883024},"transaction":null,"op":%q,"ts_ms":1}`, before, after, table, op)
}

func text(s string) record.Data {
	if s == "" {
		return record.Null()
	}
	return record.Present([]byte(s))
}

func rec(key, value string, headers ...string) *record.Record {
	r := &record.Record{Offset: 42, Key: text(key), Value: text(value)}
	for pair := range slices.Chunk(headers, 2) {
		r.Headers = append(r.Headers, record.Header{Name: pair[0], Value: text(pair[1])})
	}
	return r
}

func TestDecodeMakes(t *testing.T) {
	t.Parallel()
	const order = `{"id":4,"customer":"c","total":"DQI=","placed":"2024-06-30T22:00:00Z"}`
	const orderCells = "[4 c 33.30 2024-06-30 22:00:00+00]"
	const kept, partial = `{"id":7,"v":"x","n":1}`, `{"id":7,"v":"__debezium_unavailable_value","n":null}`
	tests := []struct {
		name   string
		record *record.Record
		want   string
	}{
		{
			"AnInsertOfASnapshotRow", rec(`{"id":4}`, envelope("r", "orders", "null", order)),
			"insert key [4] row " + orderCells,
		},
		{
			"AnInsertOfACreate", rec(`{"id":4}`, envelope("c", "orders", "null", order)),
			"insert key [4] row " + orderCells,
		},
		{"AnUpdate", rec(`{"id":4}`, envelope("u", "orders", "null", order)), "update key [4] row " + orderCells},
		{
			"MissingCellsOfAbsentColumns", rec(`{"id":4}`, envelope("u", "orders", "null",
				`{"id":4,"customer":null}`)),
			"update key [4] row [4 NULL (missing) (missing)]",
		},
		{
			"MissingCellsOfUnavailableValues", rec(`{"id":7}`, envelope("u", "kv", "null", partial)),
			"update key [7] row [7 (missing) NULL]",
		},
		{
			"ADeleteByTheRecordsKeyAlone", rec(`{"id":4}`, envelope("d", "orders",
				`{"id":5,"customer":"","total":"AA=="}`, "null")),
			"delete key [4]",
		},
		{"ADeleteByTheRowBeforeWithoutAKey", rec("", envelope("d", "orders", order, "null")), "delete key [4]"},
		{"AKeyFromTheRow", rec("", envelope("c", "orders", "null", order)), "insert key [4] row " + orderCells},
		{
			"AKeyOfTwoColumnsInTheTargetsOrder", rec(`{"b":19782,"a":"u"}`, envelope("d", "only_key", "null",
				"null")),
			"delete key [u 2024-02-29]",
		},
		{
			"AKeyCellThatTheImageLacks", rec(`{"id":7}`, envelope("u", "kv", "null", `{"v":"x"}`)),
			"update key [7] row [7 x (missing)]",
		},
		{"ATruncate", rec("", envelope("t", "orders", "null", "null")), "truncate"},
		{
			"AnOldRowWhereThereIsNoKey", rec("", envelope("d", "nopk", `{"a":1,"b":null,"c":null}`, "null")),
			"delete old [1 NULL NULL]",
		},
		{
			"AnUpdateWithAnOldRow", rec("", envelope("u", "nopk", `{"a":1,"b":"b","c":null}`,
				`{"a":2,"b":"__debezium_unavailable_value","c":null}`)),
			"update row [2 b NULL] old [1 b NULL]",
		},
		{
			"AnInsertWithoutAKey", rec("", envelope("c", "nopk", "null", `{"a":1}`)),
			"insert row [1 (missing) (missing)]",
		},
		{"NothingOfATombstone", rec(`{"id":4}`, ""), ""},
		{"NothingOfANullInJSON", rec(`{"id":4}`, "null"), ""},
		{"NothingOfAWrappedNull", rec(`{"id":4}`, `{"schema":null,"payload":null}`), ""},
		{"NothingOfNothing", rec("", ""), ""},
		{"NothingOfATransactionMark", rec(`{"id":"758:1"}`,
			`{"status":"BEGIN","id":"758:1","event_count":null,"data_collections":null,"ts_ms":1}`), ""},
		{"NothingOfAHeartbeat", rec(`{"serverName":"dbn"}`, `{"ts_ms":1}`), ""},
		{"NothingOfALogicalMessage", rec(`{"prefix":"app"}`,
			`{"op":"m","ts_ms":1,"source":{"schema":"","table":""},"message":{}}`), ""},
		{"NothingOfATableLeftOut", rec(`{"id":1}`, envelope("c", "ignored", "null", `{"id":1}`)), ""},
		{
			"AWrappedRecord", rec(`{"schema":null,"payload":{"id":7}}`, `{"payload":`+envelope("c", "kv", "null",
				kept)+`,"schema":null}`),
			"insert key [7] row [7 x 1]",
		},
		{
			"AMove", rec(`{"id":7}`, envelope("c", "kv", "null", partial), "__debezium.oldkey", `{"id":6}`),
			`insert key [7] row [7 (missing) NULL] move dbn/src/776:26883024/shop.kv {"id":6} -> {"id":7}`,
		},
		{
			"TheOtherHalfOfAMove", rec(`{"id":6}`, envelope("d", "kv", kept, "null"), "__debezium.newkey",
				`{"schema":{"type":"struct"},"payload":{"id":7}}`),
			`delete key [6] move dbn/src/776:26883024/shop.kv {"id":6} -> {"id":7}`,
		},
		{
			"AMoveOfKeysThatAreNoJSON", rec(`{"id":7}`, envelope("c", "kv", "null", kept), "__debezium.oldkey",
				`Struct{id=6}`),
			`insert key [7] row [7 x 1] move dbn/src/776:26883024/shop.kv Struct{id=6} -> {"id":7}`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			checkDecode(t, debezium.Options{}, test.record, test.want)
		})
	}
}

func checkDecode(t *testing.T, options debezium.Options, r *record.Record, want string) {
	t.Helper()
	tables := shop()
	tables["ignored"] = nil
	set := new(change.Set)
	if err := decoder(t, tables, options).Decode(t.Context(), r, set); err != nil {
		t.Fatalf("decode: %s", fault.Line(err))
	}
	got := ""
	for i := range set.Changes {
		c := &set.Changes[i]
		if c.Offset != r.Offset {
			t.Errorf("got offset %s, want %s", c.Offset, r.Offset)
		}
		got += show(c)
		if c.Move != nil {
			got += fmt.Sprintf(" move %s %s -> %s", c.Move.ID, c.Move.From, c.Move.To)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes differ (-want +got):\n%s", diff)
	}
}

func TestDecodeReadsUnwrappedRecords(t *testing.T) {
	t.Parallel()
	const meta = `,"__table":"kv","__source_schema":"shop","__lsn":9,"__txId":5,"__db":"src"`
	table := debezium.Options{Table: change.Name{Schema: "shop", Table: "kv"}}
	tests := []struct {
		name    string
		options debezium.Options
		record  *record.Record
		want    string
	}{
		{
			"Create",
			debezium.Options{},
			rec(`{"id":7}`, `{"id":7,"v":"x","n":1,"__op":"c"`+meta+`}`),
			"insert key [7] row [7 x 1]",
		},
		{
			"Update",
			debezium.Options{},
			rec(`{"id":7}`, `{"id":7,"v":"x","n":1,"__op":"u","__deleted":"false"`+meta+`}`),
			"update key [7] row [7 x 1]",
		},
		{
			"Delete",
			debezium.Options{},
			rec(`{"id":7}`, `{"id":8,"v":"","n":null,"__deleted":"true"`+meta+`}`),
			"delete key [7]",
		},
		{
			"Upsert",
			debezium.Options{},
			rec(`{"id":7}`, `{"id":7,"v":"x","n":1,"__deleted":"false"`+meta+`}`),
			"insert key [7] row [7 x 1]",
		},
		{
			"UpsertWithAnUnavailableValue",
			debezium.Options{},
			rec(`{"id":7}`, `{"id":7,"v":"__debezium_unavailable_value","n":1,"__deleted":false`+meta+`}`),
			"update key [7] row [7 (missing) 1]",
		},
		{
			"Move",
			debezium.Options{},
			rec(`{"id":7}`, `{"id":7,"v":"x","n":1,"__op":"c"`+meta+`}`, "__debezium.oldkey", `{"id":6}`),
			`insert key [7] row [7 x 1] move /src/5:9/shop.kv {"id":6} -> {"id":7}`,
		},
		{"BareRow", table, rec(`{"id":7}`, `{"id":7,"v":"x","n":1}`), "insert key [7] row [7 x 1]"},
		{"BareTombstone", table, rec(`{"id":7}`, ""), "delete key [7]"},
		{"BareNothing", table, rec("", ""), ""},
		{"Wrapped", table, rec(`{"id":7}`,
			`{"schema":{"type":"struct","fields":[{"field":"n","type":"int32","name":"io.debezium.time.Date"}]},`+
				`"payload":{"id":7,"v":"x","n":19782}}`), "insert key [7] row [7 x 2024-02-29]"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			checkDecode(t, test.options, test.record, test.want)
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	const kv = `{"id":7,"v":"x","n":1}`
	tests := []struct {
		name   string
		record *record.Record
		class  fault.Class
		want   string
	}{
		{"AnEmptyValue", &record.Record{Value: record.Present(nil)}, fault.Poison, "record value"},
		{"BrokenJSON", rec(`{"id":7}`, `{"op":`), fault.Poison, "ends early"},
		{"AnArray", rec("", `[]`), fault.Poison, "record value"},
		{
			"ADoubledColumn", rec(`{"id":7}`, envelope("c", "kv", "null", `{"id":7,"id":8}`)), fault.Poison,
			"stands twice",
		},
		{"ANameTwiceInTheEnvelope", rec("", `{"op":"c","op":"d"}`), fault.Poison, "stands twice"},
		{"AnUnknownOp", rec(`{"id":7}`, envelope("x", "kv", "null", kv)), fault.Poison, "field op"},
		{"NoOp", rec(`{"id":7}`, `{"some":"secret"}`), fault.Poison, "field op"},
		{"NoSource", rec(`{"id":7}`, `{"op":"c","after":{}}`), fault.Poison, "field source"},
		{
			"NoTable", rec(`{"id":7}`, `{"op":"c","after":{},"source":{"schema":"shop"}}`), fault.Poison,
			"source.table",
		},
		{"NoRow", rec(`{"id":7}`, envelope("c", "kv", "null", "null")), fault.Poison, "field after"},
		{"AMissingTable", rec(`{"id":7}`, envelope("c", "nowhere", "null", kv)), fault.Misconfigured, "shop.nowhere"},
		{
			"AnUnknownColumn", rec(`{"id":7}`, envelope("c", "kv", "null", `{"id":7,"added":1}`)), fault.Misconfigured,
			"column added",
		},
		{
			"AWrongShape", rec(`{"id":7}`, envelope("c", "kv", "null", `{"id":7,"v":{"secret":1}}`)), fault.Poison,
			"column v",
		},
		{
			"ALostValue", rec(`{"id":7}`, envelope("c", "special", "null", `{"id":7,"ts":-9223372036853775810}`)),
			fault.Poison, "column ts",
		},
		{
			"NoKeyAnywhere", rec("", envelope("u", "kv", "null", `{"v":"x"}`)), fault.Poison,
			"no key in the record, and no id",
		},
		{"ANullInTheKey", rec(`{"id":null}`, envelope("d", "kv", "null", "null")), fault.Poison, "key column id"},
		{"AKeyThatIsNoObject", rec(`7`, envelope("d", "kv", "null", "null")), fault.Poison, "record key"},
		{"AKeyThatIsNoJSON", rec(`Struct{id=7}`, envelope("d", "kv", "null", "null")), fault.Poison, "record key"},
		{
			"AKeyWithoutAColumn", rec(`{"a":"u"}`, envelope("d", "only_key", `{"a":"u","b":0}`, "null")),
			fault.Misconfigured, "lacks b",
		},
		{
			"AKeyWithAnotherColumn", rec(`{"id":7,"n":1}`, envelope("u", "kv", "null", kv)), fault.Misconfigured,
			"has n",
		},
		{
			"AKeylessUpdateWithoutTheOldRow", rec("", envelope("u", "nopk", "null", `{"a":1}`)), fault.Poison,
			"row before",
		},
		{
			"AKeylessDeleteWithoutTheOldRow", rec("", envelope("d", "nopk", "null", "null")), fault.Poison,
			"row before",
		},
		{
			"AKeyForATableWithoutOne", rec(`{"a":1}`, envelope("d", "nopk", "null", "null")), fault.Misconfigured,
			"target table has none",
		},
		{"AnOldRowWithAnUnavailableValue", rec("", envelope("d", "nopk", `{"a":1,"b":"__debezium_unavailable_value"}`,
			"null")), fault.Poison, "column b"},
		{"AnInsertThatNeedsALostOldKey", rec(`{"id":7}`, envelope("c", "kv", "null",
			`{"id":7,"v":"__debezium_unavailable_value"}`)), fault.Poison, "oldkey"},
		{"AMoveWithoutPosition", rec(`{"id":7}`, `{"op":"d","source":{"schema":"shop","table":"kv","lsn":null}}`,
			"__debezium.newkey", `{"id":8}`), fault.Poison, "source.lsn"},
		{
			"ASchemaThatIsNone", rec(`{"id":7}`, `{"schema":1,"payload":`+envelope("c", "kv", "null", kv)+`}`),
			fault.Poison, "schema",
		},
		{"AnUnwrappedRecordWithoutTable", rec(`{"id":7}`, `{"id":7,"__op":"c"}`), fault.Misconfigured, "__table"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			set := new(change.Set)
			err := decoder(t, shop(), debezium.Options{}).Decode(t.Context(), test.record, set)
			if fault.ClassOf(err) != test.class || !strings.Contains(fmt.Sprint(err), test.want) {
				t.Errorf("got %v of class %s, want %q of class %s", err, fault.ClassOf(err), test.want, test.class)
			}
			if err != nil && (strings.Contains(fault.Line(err), "secret") || len(set.Changes) > 0) {
				t.Errorf("got %d changes and %q, want nothing of the payload", len(set.Changes), fault.Line(err))
			}
			if test.class == fault.Misconfigured && fault.HintOf(err) == "" && test.name != "AMissingTable" {
				t.Error("got no hint")
			}
		})
	}
}

func TestDecodeFollowsThePolicies(t *testing.T) {
	t.Parallel()
	lost := rec(`{"id":7}`, envelope("u", "special", "null", `{"id":7,"ts":-9223372036853775810}`))
	checkDecode(t, debezium.Options{Unrepresentable: debezium.Null}, lost,
		"update key [7] row [7"+strings.Repeat(" (missing)", 6)+" NULL"+strings.Repeat(" (missing)", 3)+"]")
	added := rec(`{"id":7}`, envelope("c", "kv", "null", `{"id":7,"v":"x","n":1,"added":1}`))
	checkDecode(t, debezium.Options{UnknownColumn: debezium.Ignore}, added, "insert key [7] row [7 x 1]")
	other := rec(`{"id":7}`, envelope("u", "kv", "null", `{"id":7,"v":"gone","n":1}`))
	checkDecode(t, debezium.Options{UnavailableValue: "hex:676f6e65"}, other, "update key [7] row [7 (missing) 1]")
}

func TestDecodeSkipsGeneratedColumns(t *testing.T) {
	t.Parallel()
	tables := shop()
	tables["kv"].Columns[2].Generated = true
	tables["nopk"].Columns[1].Generated = true
	set := new(change.Set)
	d := decoder(t, tables, debezium.Options{})
	for _, r := range []*record.Record{
		rec(`{"id":7}`, envelope("c", "kv", "null", `{"id":7,"v":"x","n":{"any":"shape"}}`)),
		rec("", envelope("d", "nopk", `{"a":1,"b":"x","c":null}`, "null")),
	} {
		if err := d.Decode(t.Context(), r, set); err != nil {
			t.Fatalf("decode: %v", err)
		}
	}
	got := []string{show(&set.Changes[0]), show(&set.Changes[1])}
	want := []string{"insert key [7] row [7 x (missing)]", "delete old [1 (missing) NULL]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes differ (-want +got):\n%s", diff)
	}
}

// TestDecodeFollowsACatalogThatWasReadAgain holds forms against a relation that has changed under the same name.
func TestDecodeFollowsACatalogThatWasReadAgain(t *testing.T) {
	t.Parallel()
	tables := shop()
	d := decoder(t, tables, debezium.Options{})
	set := new(change.Set)
	r := rec(`{"id":7}`, envelope("u", "kv", "null", `{"id":7,"n":19782}`))
	for _, kind := range []change.Kind{change.KindInteger, change.KindDate} {
		tables["kv"] = relation("kv", []int{0}, column("id", change.KindInteger), column("n", kind))
		if err := d.Decode(t.Context(), r, set); err != nil {
			t.Fatalf("decode: %v", err)
		}
	}
	if got := set.Changes[1].Row[1].String(); got != "2024-02-29" {
		t.Errorf("got %q, want the value as the new type reads it", got)
	}
}

type brokenCatalog struct{}

var errDown = errors.New("down")

func (brokenCatalog) Relation(context.Context, change.Name) (*change.Relation, error) {
	return nil, fault.Wrap(fault.Retryable, errDown)
}

func TestDecodePassesOnWhatTheCatalogSays(t *testing.T) {
	t.Parallel()
	d := decoder(t, brokenCatalog{}, debezium.Options{})
	err := d.Decode(t.Context(), rec(`{"id":7}`, envelope("t", "kv", "null", "null")), new(change.Set))
	if !fault.Is(err, fault.Retryable) || !errors.Is(err, errDown) {
		t.Errorf("got %v of class %s, want the catalog's", err, fault.ClassOf(err))
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]debezium.Options{
		"APlaceholderInBrokenHex": {UnavailableValue: "hex:0"},
		"AnEmptyPlaceholder":      {UnavailableValue: "hex:"},
		"NullForUnknownColumns":   {UnknownColumn: debezium.Null},
		"IgnoringLostValues":      {Unrepresentable: debezium.Ignore},
		"HalfATable":              {Table: change.Name{Table: "kv"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := debezium.New(shop(), options); !fault.Is(err, fault.Misconfigured) {
				t.Errorf("got %v, want misconfigured", err)
			}
		})
	}
}

func TestDecodeRefusesARowUnderAnotherKey(t *testing.T) {
	t.Parallel()
	d := decoder(t, shop(), debezium.Options{})
	for _, op := range []string{"c", "u"} {
		r := rec(`{"id":7}`, envelope(op, "kv", "null", `{"id":5,"v":"marker","n":1}`))
		err := d.Decode(t.Context(), r, new(change.Set))
		if !fault.Is(err, fault.Misconfigured) || strings.Contains(err.Error(), "5") || !strings.Contains(err.Error(), "id") {
			t.Errorf("op %s: got %v of class %s, want misconfigured that names the column", op, err, fault.ClassOf(err))
		}
	}
}
