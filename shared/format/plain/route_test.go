package plain_test

import (
	"context"
	"testing"

	"tidemark/shared/change"
	"tidemark/shared/fault"
	"tidemark/shared/format/plain"
	"tidemark/shared/format/plain/cell"
	"tidemark/shared/record"
)

// asked is a catalog that leaves every table out and remembers the last.
type asked struct{ name change.Name }

func (a *asked) Relation(_ context.Context, source change.Name) (*change.Relation, error) {
	a.name = source
	return nil, nil //nolint:nilnil // the flow leaves the table out
}

func TestRoute(t *testing.T) {
	t.Parallel()
	tables := map[string]change.Name{"a.b": {Schema: "x", Table: "y.z"}}
	for _, test := range []struct {
		name    string
		options plain.Options
		headers []record.Header
		value   string
		want    change.Name
	}{
		{"Constant", plain.Options{Table: "public.orders"}, nil, `{}`, change.Name{Schema: "public", Table: "orders"}},
		{
			"TheFirstDotSeparates",
			plain.Options{Table: "public.orders.v1"},
			nil, `{}`,
			change.Name{Schema: "public", Table: "orders.v1"},
		},
		{
			"WholeTopic",
			plain.Options{Topic: "orders", Table: "public.${topic}"},
			nil, `{}`,
			change.Name{Schema: "public", Table: "orders"},
		},
		{
			"ATopicsDotsStayInTheTable",
			plain.Options{Topic: "a.b", Table: "public.${topic}"},
			nil, `{}`,
			change.Name{Schema: "public", Table: "a.b"},
		},
		{
			"PartsOfTheTopic",
			plain.Options{Topic: "eu.shop.orders", Table: "${topic:-2}.${topic:1}_${topic:3}"},
			nil, `{}`,
			change.Name{Schema: "shop", Table: "eu_orders"},
		},
		{
			"MapBeforeTemplate",
			plain.Options{Topic: "a.b", Tables: tables, Table: "public.${topic}"},
			nil, `{}`,
			change.Name{Schema: "x", Table: "y.z"},
		},
		{
			"TemplateBesideMap",
			plain.Options{Topic: "c", Tables: tables, Table: "public.${topic}"},
			nil, `{}`,
			change.Name{Schema: "public", Table: "c"},
		},
		{
			"Header",
			plain.Options{Table: "public.${header:a.b}"},
			headers("a.b", "orders.v1"), `{}`,
			change.Name{Schema: "public", Table: "orders.v1"},
		},
		{
			"Field",
			plain.Options{Table: "${field:tenant}.t_${field:kind}"},
			nil,
			`{"kind":"or\u0064ers","tenant":"a"}`,
			change.Name{Schema: "a", Table: "t_orders"},
		},
		{
			"MoneyIsNoPlaceholder",
			plain.Options{Table: "public.us$"},
			nil, `{}`,
			change.Name{Schema: "public", Table: "us$"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var target asked
			d := decoder(t, &target, test.options)
			for range 2 { // as found, and as remembered
				target.name = change.Name{}
				rec := record.Record{Key: data(`1`), Value: data(test.value), Headers: test.headers}
				if err := d.Decode(t.Context(), &rec, new(change.Set)); err != nil {
					t.Fatalf("decode: %v", err)
				}
				if target.name != test.want {
					t.Errorf("got %#v, want %#v", target.name, test.want)
				}
			}
		})
	}
	t.Run("AFieldThatNamesTheTableNeedsNoColumn", func(t *testing.T) {
		t.Parallel()
		o := plain.Options{Table: "public.${field:kind}"}
		got, err := decode(t, o, &record.Record{Key: data(`1`), Value: data(`{"kind":"orders","name":"a"}`)})
		if err != nil || len(got) != 1 || got[0] != "insert orders [1] (1|a|(missing))" {
			t.Errorf("got %q, %v", got, err)
		}
	})
	t.Run("TombstonesFollowHeaders", func(t *testing.T) {
		t.Parallel()
		o := plain.Options{Table: "public.${header:kind}"}
		got, err := decode(t, o, &record.Record{Key: data(`1`), Value: record.Null(), Headers: headers("kind", "orders")})
		if err != nil || len(got) != 1 || got[0] != "delete orders [1]" {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

func TestRouteRefuses(t *testing.T) {
	t.Parallel()
	byHeader, byField := plain.Options{Table: "public.${header:kind}"}, plain.Options{Table: "public.${field:kind}"}
	for _, test := range []struct {
		name    string
		options plain.Options
		headers []record.Header
		value   string
		class   fault.Class
		want    string
	}{
		{"NoHeader", byHeader, nil, `{}`, fault.Poison, "header kind: none"},
		{"ANullHeader", byHeader, headers("kind", none), `{}`, fault.Poison, "header kind: none"},
		{"BytesInAHeader", byHeader, headers("kind", "secret\xff"), `{}`, fault.Poison, "header kind: not text"},
		{"AnEmptyHeader", byHeader, headers("kind", ""), `{}`, fault.Poison, "no table's name"},
		{"AZeroByte", byHeader, headers("kind", "secret\x00"), `{}`, fault.Poison, "no table's name"},
		{
			"ALongName", byHeader,
			headers("kind", "secret3456789 123456789 123456789 123456789 123456789 1234567890"), `{}`, fault.Poison,
			"no table's name",
		},
		{
			"ADotInTheSchema",
			plain.Options{Table: "${header:kind}.t"},
			headers("kind", "secret.b"), `{}`,
			fault.Poison, "no table's name",
		},
		{"NoField", byField, nil, `{}`, fault.Poison, "field kind, which names the table: null"},
		{"ANumber", byField, nil, `{"kind":1}`, fault.Poison, "field kind, which names the table: a number"},
		{
			"AZeroByteInAField", byField, nil, `{"kind":"secret\u0000"}`, fault.Poison,
			"field kind, which names the table: a zero byte",
		},
		{
			"ATombstoneWithoutFields", byField, nil, none, fault.Misconfigured,
			"the table's name stands in fields; tombstones: ignore",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := decode(t, test.options, &record.Record{Key: data(`1`), Value: data(test.value), Headers: test.headers})
			refused(t, err, test.class, test.want)
		})
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	orders := table("orders")
	for _, test := range []struct {
		name    string
		options plain.Options
		want    string
	}{
		{"NoTable", plain.Options{Topic: "t"}, `no table for topic "t"`},
		{
			"NoTableOfTheTopic",
			plain.Options{Topic: "t", Tables: map[string]change.Name{"u": {Schema: "a", Table: "b"}}},
			`no table for topic "t"`,
		},
		{
			"AStrangeTableOfAnotherTopic",
			plain.Options{Table: "a.b", Tables: map[string]change.Name{"u": {Schema: "a"}}},
			"table of topic u",
		},
		{"NoSchema", plain.Options{Table: "orders"}, "want SCHEMA.TABLE"},
		{"ATopicForSchemaAndTable", plain.Options{Topic: "a.b", Table: "${topic}"}, "want SCHEMA.TABLE"},
		{"ADotInTheSchema", plain.Options{Topic: "a.b", Table: "${topic}.c"}, "a dot in the schema"},
		{"AnEmptySchema", plain.Options{Table: ".orders"}, "empty part"},
		{
			"ALongName",
			plain.Options{Table: "public.x23456789 123456789 123456789 123456789 123456789 123456789 1234"},
			"64 bytes",
		},
		{"NoTopic", plain.Options{Table: "public.${topic}"}, "${topic}: the topic was not given"},
		{"APartThatTheTopicHasNot", plain.Options{Topic: "a.b", Table: "public.${topic:3}"}, "parts 1 to 2"},
		{"APartFromTheEndThatTheTopicHasNot", plain.Options{Topic: "a.b", Table: "public.${topic:-3}"}, "-1 to -2"},
		{"PartZero", plain.Options{Topic: "a.b", Table: "public.${topic:0}"}, "parts 1 to 2"},
		{"AStrangePlaceholder", plain.Options{Table: "public.${key}"}, "${key}: want topic"},
		{"ANamelessHeader", plain.Options{Table: "public.${header:}"}, "${header:}: want topic"},
		{"AnOpenPlaceholder", plain.Options{Table: "public.${field:a"}, "${ without }"},
		{"AStrangeKey", with(orders, func(o *plain.Options) { o.Key.From = "x" }), `key from "x"`},
		{
			"NamesOfAKeyInTheValue", keyed("orders", plain.Value, "a", "id"),
			"key columns: a key from value has no names",
		},
		{"NamesOfAText", keyed("orders", plain.RecordKeyText, "a", "id"), "a key from record_key_text has no names"},
		{"TwoNamesOfAKeysColumn", keyed("orders", plain.Headers, "a", "id", "b", "id"), "two names lead to one column"},
		{
			"ANamelessColumn", with(orders, func(o *plain.Options) { o.Columns = map[string]string{"a": ""} }),
			`columns: "a" leads to ""`,
		},
		{"ANamelessKeyColumn", keyed("orders", plain.Headers, "", "id"), `key columns: "" leads to "id"`},
		{"AbsentIgnore", with(orders, func(o *plain.Options) { o.Absent = plain.Ignore }), `absent "ignore"`},
		{"UnknownNull", with(orders, func(o *plain.Options) { o.UnknownField = plain.Null }), `unknown field "null"`},
		{"TombstoneHalt", with(orders, func(o *plain.Options) { o.Tombstone = plain.Halt }), `tombstone "halt"`},
		{"AStrangeEpoch", with(orders, func(o *plain.Options) { o.Modes.Epoch = "ns" }), `epoch "ns"`},
		{"StrangeBytes", with(orders, func(o *plain.Options) { o.Modes.Binary = "utf8" }), `binary "utf8"`},
		{"StrangeJSON", with(orders, func(o *plain.Options) { o.Modes = cell.Modes{JSON: "x"} }), `json "x"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := plain.New(shop(), test.options)
			refused(t, err, fault.Misconfigured, "plain options: ; "+test.want)
		})
	}
}
