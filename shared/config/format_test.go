package config_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/change"
	"tidemark/shared/config"
	"tidemark/shared/config/setting"
)

func debeziumLimits() []limit {
	return []limit{
		{"debezium.unavailable_value", []string{"a", strings.Repeat("a", 255), `"a b"`}, map[string]string{
			`""`: "has 0 bytes", strings.Repeat("a", 256): "has 256 bytes", "1": "in quotes",
		}},
		closed("debezium.decimal", "", "precise", "string", "double"),
		closed("debezium.binary", "", "base64", "base64-url-safe", "hex"),
		closed("debezium.time", "", "adaptive", "adaptive_time_microseconds", "connect", "microseconds", "nanoseconds",
			"isostring"),
		{"debezium.table", []string{"shop.orders", "a.b.c"}, map[string]string{
			"orders": "is not a table name", "1.5": "in quotes", "[a.b]": "is a list", `""`: "is not a table name",
		}},
		{"debezium.unrepresentable", []string{"halt", "null", `"null"`}, map[string]string{
			"": "is missing", "~": "is not an allowed value", "ignore": "is not an allowed value",
			"Null": "is not an allowed value",
		}},
	}
}

func plainLimits() []limit {
	long := strings.Repeat("a", 63)
	names := map[string]string{
		"[]": "is a list", "a": "is text", "": "is missing behind the colon", pairList(1001, "a"): "has 1001 pairs",
		"{a: b, a: c}": "is set twice", `{"": b}`: "has 0 bytes", `{a: ""}`: "is not a column's name",
		"{a: " + long + "a}": "is not a column's name", "{a: 1}": "in quotes", "{a: [b]}": "is a list",
		"{a: }": "is missing behind the colon", "{" + strings.Repeat("a", 256) + ": b}": "has 256 bytes",
	}
	return []limit{
		{"plain", []string{"{}", "{absent: null}"}, map[string]string{
			"[]": "is a list", "x": "is text", "": "is missing behind the colon", "{tabel: a.b}": "did you mean plain.table?",
			"{table: a.b, table: a.b}": "plain.table is set twice",
		}},
		{"plain.table", []string{"a.b", `"public.${topic:-1}"`, strings.Repeat("a", 255)}, map[string]string{
			`""`: "has 0 bytes", strings.Repeat("a", 256): "has 256 bytes", "1.5": "in quotes", "[a.b]": "is a list",
		}},
		{"plain.tables", []string{"{}", "{web.orders: public.orders}", `{"web.orders": "a.b.c"}`}, map[string]string{
			"[]": "is a list", "a.b": "is text", "": "is missing behind the colon", pairList(1001, "a.b"): "has 1001 pairs",
			"{web.orders: a.b, web.orders: c.d}": `plain.tables."web.orders" is set twice`,
			"{web.orders: orders}":               `plain.tables."web.orders": "orders" is not a table name; want SCHEMA.TABLE`,
			"{web.orders: 1.5}":                  "in quotes", "{web.orders: {a: b}}": "is a map",
			"{a/b: c.d}":        `plain.tables: "a/b" is not a topic name; want a topic name`,
			"{web.order: a.b}":  `has a table for "web.order", which is none of the topics; correct plain.tables or topics`,
			"{web.orders: a.b,": "is not YAML",
		}},
		{"plain.key", []string{"{}", "{from: value}"}, map[string]string{
			"[]": "is a list", "value": "is text", "{form: value}": "did you mean plain.key.from?",
		}},
		closed("plain.key.from", "", "record_key", "record_key_text", "value", "headers"),
		{"plain.key.columns", []string{"{}", "{a: b, c: d}", "{a: " + long + "}", pairList(1000, "b%d")}, merged(names, map[string]string{
			"{a: b, c: b}": "plain.key.columns lead two names to one column",
		})},
		{"plain.columns", []string{"{}", "{a: b, c: b}", "{a b: C d, 1: x}", pairList(1000, "b")}, names},
		closed("plain.absent", "", "keep", "update", "null", "halt"),
		closed("plain.tombstones", "", "delete", "ignore"),
		{"plain.delete_field", []string{"deleted", strings.Repeat("a", 255)}, map[string]string{
			`""`: "has 0 bytes", strings.Repeat("a", 256): "has 256 bytes", "true": "in quotes",
		}},
		closed("plain.epoch", "", "none", "s", "ms", "us"),
		closed("plain.binary", "", "base64", "hex"),
		closed("plain.json", "", "value", "text"),
	}
}

func merged(maps ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, m := range maps {
		for key, value := range m {
			all[key] = value
		}
	}
	return all
}

// pairList is n pairs. A %d in value is the number of the pair.
func pairList(n int, value string) string {
	pairs := make([]string, n)
	for i := range pairs {
		pairs[i] = fmt.Sprintf("k%d: ", i) + strings.ReplaceAll(value, "%d", fmt.Sprint(i))
	}
	return "{" + strings.Join(pairs, ", ") + "}"
}

func TestParseFlowOfFormats(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ file, says string }{
		"PlainForDebezium": {
			leastFlow + "plain: {table: a.b}\n",
			"f:5:9: plain is for format: plain, and this flow has format: debezium; remove the section or correct format",
		},
		"DebeziumForPlain": {
			leastPlain + "debezium:\n  binary: hex\n",
			"f:6:3: debezium is for format: debezium, and this flow has format: plain; remove the section or correct format",
		},
		"AnEmptySectionOfTheOther": {leastFlow + "plain: {}\n", "plain is for format: plain"},
		"OneTableForTwoTopics": {
			"flow: a\nformat: debezium\nlog: dense\ntopics: [a, b]\ndebezium: {table: shop.orders}\n",
			"f:5:12: debezium names one table for the records of 2 topics; give each topic a flow of its own",
		},
		"ColumnsOfAKeyWithoutNames": {
			leastPlain + "plain: {key: {from: value, columns: {a: b}}}\n",
			"plain.key.columns are for a key from record_key or headers: one from value has no names",
		},
		"ColumnsOfAKeyThatIsText": {
			leastPlain + "plain: {key: {columns: {a: b}, from: record_key_text}}\n", "one from record_key_text has no names",
		},
	} {
		t.Run("Refuses"+name, func(t *testing.T) {
			t.Parallel()
			_, err := config.ParseFlow("f", []byte(test.file))
			refused(t, err, test.says)
		})
	}
	t.Run("DefaultsWhatIsNotSet", func(t *testing.T) {
		t.Parallel()
		got, err := config.ParseFlow("f", []byte(leastPlain))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(defaultPlain(), got.Plain); diff != "" || got.Format != config.FormatPlain {
			t.Error(got.Format, diff)
		}
	})
	t.Run("TakesWhatIsSet", func(t *testing.T) {
		t.Parallel()
		got, err := config.ParseFlow("f", []byte(leastPlain+`
identity: {header: event-id, horizon: 24h}
plain:
  table: public.${topic:-1}
  tables:
    web.orders: public.orders
  key:
    from: headers
    columns: {order-id: id}
  columns:
    custId: customer_id
    "a b": note
  absent: null
  tombstones: ignore
  delete_field: gone
  epoch: ms
  binary: hex
  json: text
`))
		if err != nil {
			t.Fatal(err)
		}
		want := config.Plain{
			Table: "public.${topic:-1}", Tables: map[string]change.Name{"web.orders": {Schema: "public", Table: "orders"}},
			Key:     config.PlainKey{From: "headers", Columns: map[string]string{"order-id": "id"}},
			Columns: map[string]string{"custId": "customer_id", "a b": "note"},
			Absent:  "null", Tombstones: "ignore", DeleteField: "gone", Epoch: "ms", Binary: "hex", JSON: "text",
		}
		if diff := cmp.Diff(want, got.Plain); diff != "" {
			t.Error(diff)
		}
	})
}

func defaultPlain() config.Plain {
	return config.Plain{
		Key: config.PlainKey{From: "record_key"}, Absent: "keep", Tombstones: "delete", Binary: "base64", JSON: "value",
	}
}

// TestReferenceOfPlain holds the section on plain in docs/formats.md to the keys that the flow file has.
func TestReferenceOfPlain(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	_, page, _ := strings.Cut(string(content), "## Plain JSON\n")
	t.Run("HasARowForEveryKey", func(t *testing.T) {
		t.Parallel()
		for _, s := range (config.Plain{}).Settings() {
			if row := rowOf(s); !strings.Contains(page, row) {
				t.Errorf("the page lacks the row\n%s", row)
			}
		}
		if got, want := strings.Count(page, "| `plain"), len(config.Plain{}.Settings()); got != want {
			t.Errorf("the page has %d rows of keys, want %d", got, want)
		}
	})
	t.Run("HasAnExampleThatIsTaken", func(t *testing.T) {
		t.Parallel()
		_, after, _ := strings.Cut(page, "```yaml\n")
		example, _, found := strings.Cut(after, "```")
		if !found {
			t.Fatal("the page has no example")
		}
		got, err := config.ParseFlow("docs/formats.md", []byte(example))
		if err != nil {
			t.Fatal(err)
		}
		if got.Format != config.FormatPlain || got.Plain.Table == "" {
			t.Errorf("got %+v, want a flow of plain records", got)
		}
	})
}

// rowOf is a setting's row in a table.
func rowOf(s setting.Setting) string {
	fallback := ""
	if s.Default != "" {
		fallback = "`" + s.Default + "`"
	}
	meaning := s.Meaning
	if s.Example != "" {
		meaning += " Example: `" + s.Example + "`"
	}
	return "| `" + s.Name + "` | " + fallback + " | " + s.Takes + " | " + meaning + " |\n"
}
