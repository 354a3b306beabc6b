package plain_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/fault"
	"tidemark/shared/format/plain"
	"tidemark/shared/record"
)

// keyed is a table whose key stands in a place; columns are pairs of a name and the column it leads to.
func keyed(name string, from plain.Source, columns ...string) plain.Options {
	o := table(name)
	o.Key.From = from
	o.Key.Columns = map[string]string{}
	for pair := range slices.Chunk(columns, 2) {
		o.Key.Columns[pair[0]] = pair[1]
	}
	return o
}

func TestKey(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		options    plain.Options
		key, value string
		headers    []record.Header
		want       string
	}{
		{
			"ObjectInTheTargetsOrder", keyed("lines", ""), `{"no":2,"order_id":"a"}`, `{"note":"n"}`, nil,
			"insert lines [a|2] (2|a|n)",
		},
		{
			"ObjectOfOtherNames", keyed("lines", plain.RecordKey, "orderId", "order_id"), `{"orderId":"a","no":2}`,
			`{}`, nil, "insert lines [a|2] (2|a|(missing))",
		},
		{
			"ObjectOfATombstone", keyed("lines", plain.RecordKey), `{"order_id":"a","no":2}`, none, nil,
			"delete lines [a|2]",
		},
		{
			"ScalarNumber", keyed("orders", plain.RecordKey), `9007199254740993`, none, nil,
			"delete orders [9007199254740993]",
		},
		{"ScalarString", keyed("users", plain.RecordKey), `"a\u0062"`, none, nil, "delete users [ab]"},
		{
			"WholeNumberWrittenAsAFloat", keyed("orders", plain.RecordKey), `7.0`, `{"id":7}`, nil,
			"insert orders [7] (7|(missing)|(missing))",
		},
		{
			"SaidTwiceInOneWay", keyed("orders", plain.RecordKey), `"7"`, `{"id":7}`, nil,
			"insert orders [7] (7|(missing)|(missing))",
		},
		{
			"TextAsItStands", keyed("users", plain.RecordKeyText), `{"a":"b`, `{}`, nil,
			`insert users [{"a":"b] ({"a":"b|(missing))`,
		},
		{"QuotesAreText", keyed("users", plain.RecordKeyText), `"a"`, none, nil, `delete users ["a"]`},
		{"TheWordNullIsText", keyed("users", plain.RecordKeyText), `null`, none, nil, `delete users [null]`},
		{"AnEmptyTextIsAKey", keyed("users", plain.RecordKeyText), ``, none, nil, `delete users []`},
		{"TextOfANumber", keyed("orders", plain.RecordKeyText), `007`, none, nil, `delete orders [007]`},
		{"NullTextIsNoKey", keyed("users", plain.RecordKeyText), none, none, nil, ``},
		{
			"Fields", keyed("lines", plain.Value), none, `{"note":"n","order_id":"a","no":2}`, nil,
			"insert lines [a|2] (2|a|n)",
		},
		{
			"FieldsWhateverTheRecordsKey", keyed("orders", plain.Value), `not JSON`, `{"id":1}`, nil,
			"insert orders [1] (1|(missing)|(missing))",
		},
		{
			"Headers", keyed("lines", plain.Headers, "order-id", "order_id"), none, `{"note":"n"}`,
			headers("no", "2", "order-id", "a"), "insert lines [a|2] (2|a|n)",
		},
		{"HeadersOfATombstone", keyed("users", plain.Headers), none, none, headers("login", "a"), "delete users [a]"},
		{
			"TheLastHeaderCounts", keyed("users", plain.Headers), `1`, none, headers("login", "a", "login", "b"),
			"delete users [b]",
		},
		{
			"NoKeyIsReadForATableWithout", keyed("log", plain.Headers, "x", "y"), `{`, `{"id":1}`, nil,
			"insert log (1|(missing))",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			rec := record.Record{Key: data(test.key), Value: data(test.value), Headers: test.headers}
			got, err := decode(t, test.options, &rec)
			if err != nil {
				t.Fatalf("decode: %s", fault.Line(err))
			}
			if diff := cmp.Diff(test.want, strings.Join(got, "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestKeyRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		options    plain.Options
		key, value string
		headers    []record.Header
		class      fault.Class
		want       string
	}{
		{
			"NoKey", keyed("orders", ""), none, `{"id":1}`, nil, fault.Poison,
			"table public.orders: the record has no key; {from: value}",
		},
		{"ANullInJSON", keyed("orders", ""), `null`, `{"id":1}`, nil, fault.Poison, "the record has no key"},
		{"AText", keyed("users", ""), `secret`, `{}`, nil, fault.Poison, "record key: not valid JSON; record_key_text"},
		{"AnEmptyKey", keyed("users", ""), ``, `{}`, nil, fault.Poison, "record key: the JSON text ends early"},
		{"AnArray", keyed("orders", ""), `["secret"]`, `{}`, nil, fault.Poison, "record key: an array"},
		{
			"ADoubledName", keyed("orders", ""), `{"id":"secret","id":1}`, `{}`, nil, fault.Poison,
			"record key: a member name stands twice",
		},
		{
			"TwoNamesOfAColumn", keyed("orders", "", "no", "id"), `{"id":1,"no":1}`, `{}`, nil, fault.Poison,
			"key column id: two fields",
		},
		{
			"ANullColumn", keyed("lines", ""), `{"order_id":null,"no":1}`, `{}`, nil, fault.Poison,
			"key column order_id: null",
		},
		{
			"AStrangeValue", keyed("orders", ""), `{"id":"secret"}`, `{}`, nil, fault.Poison,
			"column id: a text where a number",
		},
		{"AStrangeScalar", keyed("orders", ""), `true`, `{}`, nil, fault.Poison, "column id: a boolean where a number"},
		{
			"FewerColumns", keyed("lines", ""), `{"no":1}`, `{"order_id":"secret"}`, nil, fault.Misconfigured,
			"key of public.lines: the record's key lacks order_id",
		},
		{"NoColumns", keyed("lines", ""), `{}`, none, nil, fault.Misconfigured, "lacks order_id, no"},
		{
			"MoreColumns", keyed("orders", ""), `{"id":1,"note":"secret"}`, `{}`, nil, fault.Misconfigured,
			`key has "note"`,
		},
		{"OneValueForTwoColumns", keyed("lines", ""), `"secret"`, `{}`, nil, fault.Misconfigured, "one value, not 2"},
		{
			"OneTextForTwoColumns", keyed("lines", plain.RecordKeyText), `secret`, `{}`, nil, fault.Misconfigured,
			"one value, not 2",
		},
		{"NoText", keyed("users", plain.RecordKeyText), none, `{}`, nil, fault.Poison, "the record has no key"},
		{
			"BytesAsText", keyed("users", plain.RecordKeyText), "secret\xff", `{}`, nil, fault.Poison,
			"column login: not text in UTF-8",
		},
		{
			"ALongAsText", keyed("users", plain.RecordKeyText), "\x00\x00\x00\x00\x00\x00\x00\x07", `{}`, nil,
			fault.Poison, "column login: a zero byte",
		},
		{
			"AnotherKeyInTheValue", keyed("orders", ""), `1`, `{"id":2}`, nil, fault.Poison,
			"key column id: the field says otherwise than the record's key; leave the field out",
		},
		{
			"ANullInTheValue", keyed("orders", ""), `1`, `{"id":null}`, nil, fault.Poison,
			"key column id: the field says otherwise",
		},
		{
			"AnotherHeaderThanTheValue", keyed("users", plain.Headers), none, `{"login":"secret"}`,
			headers("login", "a"), fault.Poison, "otherwise than the header",
		},
		{"NoField", keyed("lines", plain.Value), `{}`, `{"no":1}`, nil, fault.Poison, "key column order_id: no field"},
		{"ANullField", keyed("orders", plain.Value), none, `{"id":null}`, nil, fault.Poison, "key column id: null"},
		{
			"NoHeader", keyed("lines", plain.Headers), none, none, headers("no", "1"), fault.Poison,
			"header order_id: none",
		},
		{
			"ANullHeader", keyed("users", plain.Headers), none, none, headers("login", none), fault.Poison,
			"header login: none",
		},
		{
			"ABrokenHeader", keyed("users", plain.Headers), none, none, headers("login", "secret\xff"),
			fault.Poison, "column login: not text",
		},
		{
			"AHeaderOfNoColumn", keyed("users", plain.Headers, "x", "deleted"), none, none, headers("login", "a"),
			fault.Misconfigured, "header x leads to deleted, which is not part",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			rec := record.Record{Key: data(test.key), Value: data(test.value), Headers: test.headers}
			_, err := decode(t, test.options, &rec)
			refused(t, err, test.class, test.want)
		})
	}
}
