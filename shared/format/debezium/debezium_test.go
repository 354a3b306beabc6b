package debezium_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"tidemark/shared/change"
	"tidemark/shared/fault"
	"tidemark/shared/format/debezium"
	"tidemark/shared/record"
)

const testdata = "../../../tests/testdata/debezium"

// catalog is a change.Catalog of a Go literal.
type catalog map[string]*change.Relation

func (c catalog) Relation(_ context.Context, source change.Name) (*change.Relation, error) {
	if relation, ok := c[source.Table]; ok {
		return relation, nil
	}
	return nil, fault.New(fault.Misconfigured, "table %s: not in the target", source)
}

func column(name string, kind change.Kind) change.Column {
	return change.Column{Name: name, Type: change.Type{Kind: kind, Precision: 6}}
}

func numeric(name string, scale int) change.Column {
	return change.Column{Name: name, Type: change.Type{Kind: change.KindNumeric, Scale: scale, HasScale: true}}
}

func array(name string, elem change.Type) change.Column {
	return change.Column{Name: name, Type: change.Type{Kind: change.KindArray, Elem: &elem}}
}

func precision(name string, kind change.Kind, digits int) change.Column {
	return change.Column{Name: name, Type: change.Type{Kind: kind, Precision: digits}}
}

func relation(table string, key []int, columns ...change.Column) *change.Relation {
	return change.NewRelation(change.Name{Schema: "shop", Table: table}, columns, key)
}

// shop is the schema of ddl.sql.
func shop() catalog {
	generated := column("c_gen", change.KindInteger)
	generated.Generated = true
	bits := change.Column{Name: "c_bit16", Type: change.Type{Kind: change.KindBit, Length: 16}}
	bit := change.Column{Name: "c_bit1", Type: change.Type{Kind: change.KindBit, Length: 1}}
	text, integer := change.KindOther, change.KindInteger
	return catalog{
		"all_types": relation("all_types", []int{0},
			column("id", integer), column("c_bool", change.KindBool), column("c_int2", integer), column("c_int4",
				integer),
			column("c_int8", integer), column("c_oid", integer), column("c_float4", change.KindFloat),
			column("c_float8", change.KindFloat), column("c_num", change.KindNumeric), numeric("c_num_10_2", 2),
			numeric("c_num_38_0", 0), numeric("c_num_neg", -2), column("c_money", change.KindMoney),
			numeric("c_price", 4),
			column("c_char", text), column("c_varchar", text), column("c_text", text), column("c_name", text),
			column("c_bytea", change.KindBytea), column("c_date", change.KindDate), column("c_time", change.KindTime),
			precision("c_time3", change.KindTime, 3), column("c_timetz", change.KindTimeTZ),
			column("c_ts", change.KindTimestamp), precision("c_ts3", change.KindTimestamp, 3),
			precision("c_ts0", change.KindTimestamp, 0), column("c_tstz", change.KindTimestampTZ),
			precision("c_tstz3", change.KindTimestampTZ, 3), column("c_interval", change.KindInterval),
			column("c_uuid", text), column("c_json", change.KindJSON), column("c_jsonb", change.KindJSON),
			column("c_xml", text), column("c_hstore", change.KindHStore), column("c_inet", text), column("c_cidr",
				text),
			column("c_macaddr", text), bit, bits, column("c_varbit", change.KindVarBit), array("c_text_arr",
				change.Type{}),
			array("c_int_arr", change.Type{Kind: integer}), array("c_num_arr", numeric("", 2).Type),
			array("c_uuid_arr", change.Type{}), array("c_tstz_arr", change.Type{
				Kind:      change.KindTimestampTZ,
				Precision: 6,
			}),
			array("c_bool_arr", change.Type{Kind: change.KindBool}), array("c_enum_arr", change.Type{}),
			column("c_enum", text), column("c_point", change.KindPoint), column("c_int4range", text),
			column("c_tstzrange", text), generated),
		"special": relation("special", []int{0},
			column("id", integer), column("what", text), column("n", change.KindNumeric), numeric("n2", 2),
			column("f4", change.KindFloat), column("f8", change.KindFloat), column("d", change.KindDate),
			column("ts", change.KindTimestamp), column("tstz", change.KindTimestampTZ),
			precision("tstz3", change.KindTimestampTZ, 3), column("t", change.KindTime)),
		"OrderLines": relation("OrderLines", []int{0, 1},
			column("OrderId", integer), column("LineNo", integer), column("Product Name", text), column("select",
				integer),
			column("Ünïcode", text)),
		"orders": relation("orders", []int{0},
			column("id", integer), column("customer", text), numeric("total", 2), column("placed",
				change.KindTimestampTZ)),
		"toasty": relation("toasty", []int{0},
			column("id", integer), column("note", text), column("big", text), column("big_json", change.KindJSON),
			column("big_bytes", change.KindBytea), array("big_arr", change.Type{})),
		"toasty_full": relation("toasty_full", []int{0}, column("id", integer), column("note", text), column("big",
			text)),
		"nopk": relation("nopk", nil, column("a", integer), column("b", text), column("c",
			change.KindTimestampTZ)),
		"trunc_me": relation("trunc_me", []int{0}, column("id", integer), column("v", text)),
		"kv":       relation("kv", []int{0}, column("id", integer), column("v", text), column("n", integer)),
		"only_key": relation("only_key", []int{0, 1}, column("a", text), column("b", change.KindDate)),
		"marker":   relation("marker", []int{0}, column("id", integer)),
	}
}

// captured is a record of a capture with its topic.
type captured struct {
	topic string
	record.Record
}

func data(bytes []byte) record.Data {
	if bytes == nil {
		return record.Null()
	}
	return record.Present(bytes)
}

func capture(tb testing.TB, name string) []captured {
	tb.Helper()
	file, err := os.DirFS(testdata).Open(name)
	if err != nil {
		tb.Fatalf("open capture: %v", err)
	}
	defer func() { _ = file.Close() }()
	var all []captured
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct {
			Topic      string
			Offset     int64
			Timestamp  int64
			Key, Value []byte
			Headers    []struct {
				Key   string
				Value []byte
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			tb.Fatalf("read capture: %v", err)
		}
		rec := record.Record{Time: time.UnixMilli(line.Timestamp), Key: data(line.Key), Value: data(line.Value)}
		for _, h := range line.Headers {
			rec.Headers = append(rec.Headers, record.Header{Name: h.Key, Value: data(h.Value)})
		}
		_, line.Topic, _ = strings.Cut(line.Topic, ".")
		all = append(all, captured{topic: line.Topic, Record: rec})
	}
	if len(all) != 207 {
		tb.Fatalf("capture %s: got %d records, want 207", name, len(all))
	}
	return all
}

func decoder(tb testing.TB, c change.Catalog, options debezium.Options) *debezium.Decoder {
	tb.Helper()
	d, err := debezium.New(c, options)
	if err != nil {
		tb.Fatalf("new decoder: %v", err)
	}
	return d
}

// show prints a change in one line: op, key, row, old.
func show(c *change.Change) string {
	line := c.Op.String()
	for _, part := range []struct {
		name  string
		cells []change.Value
	}{{"key", c.Key}, {"row", c.Row}, {"old", c.Old}} {
		if part.cells != nil {
			line += fmt.Sprintf(" %s %s", part.name, part.cells)
		}
	}
	return line
}
