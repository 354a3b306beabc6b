package plain_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/change"
	"tidemark/shared/fault"
	"tidemark/shared/format/plain"
	"tidemark/shared/record"
)

// catalog is a change.Catalog of a Go literal.
type catalog map[string]*change.Relation

func (c catalog) Relation(_ context.Context, source change.Name) (*change.Relation, error) {
	if relation, ok := c[source.String()]; ok {
		return relation, nil
	}
	return nil, fault.New(fault.Misconfigured, "table %s: not in the target", source)
}

func column(name string, kind change.Kind) change.Column {
	return change.Column{Name: name, Type: change.Type{Kind: kind, Precision: 6}}
}

func array(name string, kind change.Kind) change.Column {
	return change.Column{Name: name, Type: change.Type{Kind: change.KindArray, Elem: &change.Type{Kind: kind}}}
}

func generated(c change.Column) change.Column {
	c.Generated = true
	return c
}

func fixed(c change.Column) change.Column {
	c.Fixed = true
	return c
}

func relation(table string, key []int, columns ...change.Column) *change.Relation {
	return change.NewRelation(change.Name{Schema: "public", Table: table}, columns, key)
}

// shop has a table of each sort.
func shop() catalog {
	id, name, note := column("id", change.KindInteger), column("name", change.KindOther), column("note", change.KindOther)
	lines := relation("lines", []int{1, 0}, column("no", change.KindInteger), column("order_id", change.KindOther), note)
	return catalog{
		"public.orders": relation("orders", []int{0}, id, name, note),
		"public.lines":  lines,
		"public.log":    relation("log", nil, id, note),
		"public.made": relation("made", []int{0}, id, note, generated(column("size", change.KindInteger)),
			fixed(column("serial", change.KindInteger))),
		"public.users": relation("users", []int{0}, column("login", change.KindOther), column("deleted", change.KindBool)),
		"public.left":  nil,
	}
}

func decoder(tb testing.TB, tables change.Catalog, options plain.Options) *plain.Decoder {
	tb.Helper()
	d, err := plain.New(tables, options)
	if err != nil {
		tb.Fatalf("new: %v", err)
	}
	return d
}

// none is a key or value that is null, in tests that write both as text.
const none = "\x00none"

func data(text string) record.Data {
	if text == none {
		return record.Null()
	}
	return record.Present([]byte(text))
}

func headers(pairs ...string) []record.Header {
	var made []record.Header
	for pair := range slices.Chunk(pairs, 2) {
		made = append(made, record.Header{Name: pair[0], Value: data(pair[1])})
	}
	return made
}

// show prints a change in a line: operation, table, key and row.
func show(c *change.Change) string {
	if c.Relation == nil {
		return "no relation"
	}
	words := []string{c.Op.String(), c.Relation.Name.Table}
	if c.Key != nil {
		words = append(words, "["+cells(c.Key)+"]")
	}
	if c.Row != nil {
		words = append(words, "("+cells(c.Row)+")")
	}
	return strings.Join(words, " ")
}

func cells(values []change.Value) string {
	texts := make([]string, len(values))
	for i := range values {
		texts[i] = values[i].String()
	}
	return strings.Join(texts, "|")
}

// decode is what a record of key and value comes to.
func decode(tb testing.TB, options plain.Options, rec *record.Record) ([]string, error) {
	tb.Helper()
	var set change.Set
	rec.Offset = 7
	err := decoder(tb, shop(), options).Decode(tb.Context(), rec, &set)
	var got []string
	for i := range set.Changes {
		if set.Changes[i].Offset != 7 {
			tb.Errorf("got offset %d, want that of the record", set.Changes[i].Offset)
		}
		got = append(got, show(&set.Changes[i]))
	}
	if err != nil && got != nil {
		tb.Errorf("got %q beside an error", got)
	}
	return got, err
}

// refused checks that err has a class and says all of words, hint included, and nothing of the payload, which in these
// tests is called secret.
func refused(tb testing.TB, err error, class fault.Class, words string) {
	tb.Helper()
	if fault.ClassOf(err) != class {
		tb.Fatalf("got %v, want %s", err, class)
	}
	line := fault.Line(err)
	for word := range strings.SplitSeq(words, "; ") {
		if !strings.Contains(line, word) {
			tb.Errorf("got %q, want %q", line, word)
		}
	}
	if strings.Contains(line, "secret") {
		tb.Errorf("the error holds payload: %s", line)
	}
}

type decodeTest struct {
	name       string
	options    plain.Options
	key, value string
	want       string // changes, one a line
}

func table(name string) plain.Options { return plain.Options{Table: "public." + name} }

func with(o plain.Options, change func(o *plain.Options)) plain.Options {
	change(&o)
	return o
}

func decodes() []decodeTest {
	orders := table("orders")
	absent := func(name string, policy plain.Policy) plain.Options {
		return with(table(name), func(o *plain.Options) { o.Absent = policy })
	}
	marked := with(orders, func(o *plain.Options) { o.DeleteField = "__deleted" })
	renamed := with(orders, func(o *plain.Options) { o.Columns = map[string]string{"title": "name"} })
	return []decodeTest{
		{"DocumentIsAnUpsert", orders, `{"id":1}`, `{"id":1,"name":"a","note":"b"}`, "insert orders [1] (1|a|b)"},
		{"KeyNeedNotStandInTheValue", orders, `{"id":1}`, `{"name":"a","note":"b"}`, "insert orders [1] (1|a|b)"},
		{"AbsentIsNotNull", orders, `{"id":1}`, `{"name":"a"}`, "insert orders [1] (1|a|(missing))"},
		{"NullIsNotAbsent", orders, `{"id":1}`, `{"name":null}`, "insert orders [1] (1|NULL|(missing))"},
		{"EmptyTextIsNotNull", orders, `{"id":1}`, `{"name":""}`, "insert orders [1] (1||(missing))"},
		{"EmptyDocumentIsARowOfDefaults", orders, `{"id":1}`, `{}`, "insert orders [1] (1|(missing)|(missing))"},
		{"AbsentKeep", absent("orders", plain.Keep), `1`, `{"name":"a"}`, "insert orders [1] (1|a|(missing))"},
		{
			"AbsentUpdateChangesARowThatIsThere", absent("orders", plain.Update), `1`, `{"name":"a"}`,
			"update orders [1] (1|a|(missing))",
		},
		{
			"AbsentUpdateMakesARowOfAWholeRecord", absent("orders", plain.Update), `1`, `{"name":"a","note":null}`,
			"insert orders [1] (1|a|NULL)",
		},
		{"AbsentUpdateAddsWithoutKey", absent("log", plain.Update), none, `{"id":1}`, "insert log (1|(missing))"},
		{"AbsentNull", absent("orders", plain.Null), `1`, `{"name":"a"}`, "insert orders [1] (1|a|NULL)"},
		{
			"AbsentNullLeavesWhatTheTargetMakes", absent("made", plain.Null), `1`, `{}`,
			"insert made [1] (1|NULL|(missing)|(missing))",
		},
		{
			"AbsentHaltTakesWholeRecords", absent("made", plain.Halt), `1`, `{"note":"a"}`,
			"insert made [1] (1|a|(missing)|(missing))",
		},
		{
			"GeneratedColumnsAreLeftOut", table("made"), `1`, `{"note":"a","size":{"secret":1}}`,
			"insert made [1] (1|a|(missing)|(missing))",
		},
		{"TombstoneDeletes", orders, `{"id":1}`, none, "delete orders [1]"},
		{"TombstoneWithoutKeyIsNothing", orders, none, none, ""},
		{"TombstoneWithANullKeyIsNothing", orders, ` null `, none, ""},
		{"TombstoneIgnored", with(orders, func(o *plain.Options) { o.Tombstone = plain.Ignore }), `1`, none, ""},
		{"TombstoneWithoutKeyOfATableWithout", table("log"), none, none, ""},
		{"MarkedDocumentDeletes", marked, `1`, `{"__deleted":true,"name":{"a":1},"strange":1}`, "delete orders [1]"},
		{"MarkInAString", marked, `1`, `{"__deleted":"true"}`, "delete orders [1]"},
		{"MarkThatIsFalse", marked, `1`, `{"__deleted":false,"name":"a"}`, "insert orders [1] (1|a|(missing))"},
		{"MarkThatIsNull", marked, `1`, `{"__deleted":null,"name":"a"}`, "insert orders [1] (1|a|(missing))"},
		{"MarkThatIsAbsent", marked, `1`, `{"name":"a"}`, "insert orders [1] (1|a|(missing))"},
		{
			"MarkThatIsAColumn", with(table("users"), func(o *plain.Options) { o.DeleteField = "deleted" }), `"a"`,
			`{"deleted":false}`, "insert users [a] (a|f)",
		},
		{
			"MarkedDocumentNamesItsRow", with(marked, func(o *plain.Options) { o.Key.From = plain.Value }), none,
			`{"__deleted":true,"id":1,"name":{}}`, "delete orders [1]",
		},
		{
			"MarkedDocumentBesideIgnoredTombstones",
			with(marked, func(o *plain.Options) { o.Tombstone = plain.Ignore }), `1`, `{"__deleted":true}`,
			"delete orders [1]",
		},
		{"TableWithoutKeyGrows", table("log"), `{"other":1}`, `{"id":1,"note":"a"}`, "insert log (1|a)"},
		{"TableLeftOut", table("left"), `1`, `{"id":1}`, ""},
		{"FieldLedToAColumn", renamed, `1`, `{"title":"a"}`, "insert orders [1] (1|a|(missing))"},
		{
			"UnknownFieldIgnored", with(orders, func(o *plain.Options) { o.UnknownField = plain.Ignore }), `1`,
			`{"name":"a","strange":{"b":[1]}}`, "insert orders [1] (1|a|(missing))",
		},
		{
			"BlanksAndEscapedNames", orders, " { \"id\" : 1 } ", "\n{ \"n\\u0061me\" : \"a\\tb\" }\t",
			"insert orders [1] (1|a\tb|(missing))",
		},
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for _, test := range decodes() {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := decode(t, test.options, &record.Record{Key: data(test.key), Value: data(test.value)})
			if err != nil {
				t.Fatalf("decode: %s", fault.Line(err))
			}
			if diff := cmp.Diff(test.want, strings.Join(got, "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	orders, value := table("orders"), with(table("orders"), func(o *plain.Options) { o.Key.From = plain.Value })
	halt := with(orders, func(o *plain.Options) { o.Absent = plain.Halt })
	marked := with(orders, func(o *plain.Options) { o.DeleteField = "gone" })
	renamed := with(orders, func(o *plain.Options) { o.Columns = map[string]string{"title": "name", "head": "header"} })
	ignoring := with(renamed, func(o *plain.Options) { o.UnknownField = plain.Ignore })
	for _, test := range []struct {
		name       string
		options    plain.Options
		key, value string
		class      fault.Class
		want       string
	}{
		{"AnEmptyValue", orders, `1`, ``, fault.Poison, "record value: empty"},
		{"BlankValue", orders, `1`, ` `, fault.Poison, "record value: the JSON text ends early"},
		{"ANullInJSON", orders, `1`, `null`, fault.Poison, "record value: null where an object"},
		{"AnArray", orders, `1`, `[{"id":1}]`, fault.Poison, "an array where an object"},
		{"HalfADocument", orders, `1`, `{"name":"secret"`, fault.Poison, "ends early"},
		{"TwoDocuments", orders, `1`, `{} {"name":"secret"}`, fault.Poison, "more than one JSON value"},
		{"ADoubledName", orders, `1`, `{"name":"secret","name":"b"}`, fault.Poison, "stands twice"},
		{"ADoubledNameInside", orders, `1`, `{"name":{"secret":1,"secret":2}}`, fault.Poison, "stands twice"},
		{"BrokenUTF8", orders, `1`, "{\"name\":\"secret\xff\"}", fault.Poison, "not valid JSON"},
		{"ALoneSurrogate", orders, `1`, `{"name":"secret\ud800"}`, fault.Poison, "not valid JSON"},
		{
			"AZeroByte", orders, `1`, `{"name":"secret\u0000"}`, fault.Poison,
			"table public.orders: column name: a zero byte",
		},
		{
			"AnObjectInAText", orders, `1`, `{"name":{"secret":1}}`, fault.Poison,
			"column name: an object where a string; jsonb",
		},
		{
			"AnUnknownField", orders, `1`, `{"strange":"secret"}`, fault.Misconfigured,
			`field "strange": no column of the target table public.orders; on_unknown_column`,
		},
		{"AnUnknownColumn", renamed, `1`, `{"head":"secret"}`, fault.Misconfigured, `field "head": the column header`},
		{"AnUnknownColumnThoughIgnoring", ignoring, `1`, `{"head":"secret"}`, fault.Misconfigured, `column header`},
		{
			"TwoFieldsOfAColumn", renamed, `1`, `{"title":"secret","name":"secret"}`, fault.Poison,
			"column name: two fields",
		},
		{"AnAbsentColumn", halt, `1`, `{"name":"secret"}`, fault.Poison, "column note: no field"},
		{"AMissingTable", table("none"), `1`, `{}`, fault.Misconfigured, "find relation of public.none"},
		{"AStrangeMark", marked, `1`, `{"gone":"secret"}`, fault.Poison, "field gone: a string where true or false"},
		{"AMarkOfANumber", marked, `1`, `{"gone":1}`, fault.Poison, "field gone: a number where true or false"},
		{"ATombstoneWithoutATablesKey", table("log"), `1`, none, fault.Poison, "no key; tombstones: ignore"},
		{
			"AMarkWithoutATablesKey", with(table("log"), func(o *plain.Options) { o.DeleteField = "gone" }), none,
			`{"gone":true}`, fault.Poison, "no key; delete_field",
		},
		{
			"ATombstoneWithTheKeyInTheValue", value, `1`, none, fault.Misconfigured,
			"a tombstone; record_key; tombstones: ignore",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := decode(t, test.options, &record.Record{Key: data(test.key), Value: data(test.value)})
			refused(t, err, test.class, test.want)
		})
	}
}

func TestDecodeSharesTheRecordsBytes(t *testing.T) {
	t.Parallel()
	value := []byte(`{"name":"a"}`)
	var set change.Set
	rec := record.Record{Key: data(`1`), Value: record.Present(value)}
	if err := decoder(t, shop(), table("orders")).Decode(t.Context(), &rec, &set); err != nil {
		t.Fatalf("decode: %v", err)
	}
	value[9] = 'z'
	if got := set.Changes[0].Row[1].String(); got != "z" {
		t.Errorf("got %q, want the record's own bytes", got)
	}
}

func TestDecodeFollowsTheCatalog(t *testing.T) {
	t.Parallel()
	tables := shop()
	d := decoder(t, tables, table("orders"))
	rec := record.Record{Key: data(`1`), Value: data(`{"more":"a"}`)}
	var set change.Set
	if err := d.Decode(t.Context(), &rec, &set); !fault.Is(err, fault.Misconfigured) {
		t.Fatalf("got %v, want a column that is not there", err)
	}
	tables["public.orders"] = relation("orders", []int{1},
		column("more", change.KindOther), column("id", change.KindOther))
	if err := d.Decode(t.Context(), &rec, &set); err != nil {
		t.Fatalf("decode: %v", err)
	}
	if got, want := show(&set.Changes[0]), "insert orders [1] (a|1)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
