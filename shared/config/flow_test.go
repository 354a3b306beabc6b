package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/change"
	"tidemark/shared/config"
)

const (
	leastFlow  = "flow: shop\nformat: debezium\ntopics: [dbn.shop.orders]\nlog: dense\n"
	leastPlain = "flow: shop\nformat: plain\ntopics: [web.orders]\nlog: dense\n"
)

// flowWith is the least flow file with one key set to a value as it would be written.
func flowWith(key, value string) string {
	section, below, nested := strings.Cut(key, ".")
	switch {
	case section == "routes[]":
		ends := map[string]string{"from": "a.b", "to": "c.d"}
		ends[below] = value
		return leastFlow + fmt.Sprintf("routes: [{from: %s, to: %s}]\n", ends["from"], ends["to"])
	case key == "identity.horizon":
		return leastFlow + "identity: {header: id, horizon: " + value + "}\n"
	case section == "plain":
		inner, last, deeper := strings.Cut(below, ".")
		switch {
		case deeper:
			value = "{" + inner + ": {" + last + ": " + value + "}}"
		case nested:
			value = "{" + below + ": " + value + "}"
		}
		return leastPlain + "plain: " + value + "\n"
	case nested:
		return leastFlow + section + ": {" + below + ": " + value + "}\n"
	}
	lines := []string{}
	for line := range strings.Lines(leastFlow) {
		if !strings.HasPrefix(line, key+":") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "") + key + ": " + value + "\n"
}

// closed is the limits of a choice.
func closed(key, later string, takes ...string) limit {
	refuses := map[string]string{
		"other": "is not an allowed value; want " + takes[0], "Halt": "is not an allowed value", "true": "in quotes",
		"1": "in quotes", "[halt]": "is a list", "{a: b}": "is a map", "": "is missing behind the colon",
	}
	if later != "" {
		refuses[later] = "is not offered by this release: "
	}
	return limit{key, takes, refuses}
}

func flowLimits() []limit {
	long := strings.Repeat("a", 63)
	return []limit{
		{"flow", []string{"a", `"0"`, "a.b_c-d", long, "'a'"}, map[string]string{
			long + "a": "is not a flow name", "A": "is not a flow name", "-a": "is not a flow name", `""`: "is not a flow name",
			"1": "in quotes", "1.5": "in quotes", "true": "in quotes", "null": "in quotes", "[a]": "is a list",
		}},
		closed("format", "", "debezium", "plain"),
		{
			"topics",
			[]string{"[a]", topicList(1000), "[" + strings.Repeat("a", 249) + "]", "\n  - a\n  - B.c_d-0\n"},
			map[string]string{
				"[]": "has 0 items", topicList(1001): "has 1001 items", "a": "is text", "{a: b}": "is a map",
				"[" + strings.Repeat("a", 250) + "]": "is not a topic name", "[.]": "is not a topic name",
				"[a/b]":     "is not a topic name",
				"[a, b, a]": `topics[2] repeats "a" of topics[0]`, "[1]": "in quotes", "[[a]]": "is a list",
				"[a, ]x": "is not YAML",
				"":       "is missing behind the colon", `[""]`: "is not a topic name",
			},
		},
		closed("log", "brokers", "dense"),
		closed("producers", "transactional", "plain"),
		closed("gaps", "heal", "refuse"),
		closed("on_poison", "park", "halt"),
		closed("on_unknown_table", "", "halt", "ignore"),
		closed("on_unknown_column", "", "halt", "ignore"),
		{"max_transaction_rows", []string{"1", "1000000"}, map[string]string{
			"0": "is below the range", "1000001": "is above the range", "-1": "is below the range", `"5"`: "is text",
			"1.5": "is a fraction", "1_000": "is not a whole number", "0x10": "is not a whole number", "many": "is text",
			"99999999999999999999": "is text",
		}},
		{"max_transaction_bytes", []string{"1024", "1KiB", "1GiB", "1073741824", "1024MiB", "32MiB"}, map[string]string{
			"1023": "is below the range", "0KiB": "is below the range", "1073741825": "is above the range",
			"1025MiB": "is above",
			"2GiB":    "is above the range", "9223372036854775807": "is above the range", "9007199254740992KiB": "is above",
			"-1": "is not a whole number", "32MB": "is not a whole number", "1.5MiB": "is not a whole number",
			"1.5": "is a fraction", "32 MiB": "is not a whole number",
			"MiB": "is not a whole number", "true": "in quotes", "[1KiB]": "is a list",
		}},
		{"deadline_reserve", []string{"100ms", "0.1s", "60s", "1m"}, map[string]string{
			"99ms": "is below the range", "61s": "is above the range", "2": "is not a duration", "1.5": "is not a duration",
			"later": "is not a duration", "true": "in quotes",
		}},
		{"identity", []string{"{header: id}"}, map[string]string{
			"[]": "is a list", "x": "is text", "": "is missing behind the colon",
			"{}": "identity names no header, so it would do nothing", "{horizon: 2h}": "names no header",
			"{head: id}": "did you mean identity.header?",
		}},
		{"identity.header", []string{"a", strings.Repeat("a", 255), "'event id'"}, map[string]string{
			`""`: "has 0 bytes", strings.Repeat("a", 256): "has 256 bytes", "1": "in quotes",
		}},
		{"identity.horizon", []string{"1h", "60m", "168h", "8760h"}, map[string]string{
			"59m59s": "is below the range; want a duration from 1h to 8760h", "8760h1s": "is above the range",
			"7d": "is not a duration", "168": "is not a duration",
		}},
		{"routes", []string{"[]", "[{from: a.b, to: c.d}, {from: c.d, to: a.b}]", routeList(1000)}, map[string]string{
			routeList(1001): "has 1001 items", "{from: a.b, to: c.d}": "is a map", "[a.b]": "routes[0]",
			"[{from: a.b}]":                                   "routes[0].to is not set",
			"[{from: a.b, to: c.d, via: e}]":                  `"routes[0].via" is unknown; did you mean routes[0].`,
			"[{from: a.b, to: c.d}, {from: a.b, to: e.f}]":    "routes[1] repeats from: a.b of routes[0]",
			"[{from: a.b, to: c.d}, {from: e.f, to: c.d}]":    "routes[1] repeats to: c.d of routes[0]",
			"[{from: a.b, from: a.c, to: c.d}]":               "routes[0].from is set twice",
			"[{from: a.b, to: c.d}, {from: 1, to: [{a: b}]}]": "routes[1].to: the value is a list",
		}},
		{"routes[].from", []string{"a.b", "a.b.c", long + "." + long, "'A b.ü'"}, map[string]string{
			"a": "is not a table name", ".a": "is not a table name", "a.": "is not a table name",
			long + "a.b": "is not a table name",
			"1.5":        "in quotes",
		}},
		{"routes[].to", []string{"a.b"}, map[string]string{
			"a":               "is not a table name",
			"a." + long + "a": "is not a table name",
		}},
		{"debezium", []string{"{}", "{decimal: string}"}, map[string]string{
			"{decimal: other, tme: connect}": "did you mean debezium.time?",
			"[]":                             "is a list", "x": "is text", "": "is missing behind the colon",
			"{binry: hex}":               "did you mean debezium.binary?",
			"{binary: hex, binary: hex}": "debezium.binary is set twice",
		}},
	}
}

func topicList(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("topic-%d", i)
	}
	return "[" + strings.Join(names, ", ") + "]"
}

func routeList(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "\n  - {from: a.t%d, to: b.t%d}", i, i)
	}
	return b.String()
}

func TestParseFlow(t *testing.T) {
	t.Parallel()
	t.Run("KeepsLimits", func(t *testing.T) {
		t.Parallel()
		limits := slices.Concat(flowLimits(), debeziumLimits(), plainLimits())
		covered(t, limits, slices.Concat(config.FlowSettings(), config.Plain{}.Settings()))
		for _, l := range limits {
			for _, value := range l.takes {
				if _, err := config.ParseFlow("flow.yaml", []byte(flowWith(l.setting, value))); err != nil {
					t.Errorf("%s: %.80s: %v", l.setting, value, err)
				}
			}
			key := strings.Replace(l.setting, "[]", "[0]", 1)
			for value, why := range l.refuses {
				_, err := config.ParseFlow("flow.yaml", []byte(flowWith(l.setting, value)))
				refused(t, err, "flow.yaml:", why)
				if err != nil && !strings.Contains(err.Error(), "is not YAML") && !strings.Contains(err.Error(), key) {
					t.Errorf("%s: %.80s: the key is not named: %v", l.setting, value, err)
				}
			}
		}
	})
	t.Run("DefaultsWhatIsNotSet", func(t *testing.T) {
		t.Parallel()
		got, err := config.ParseFlow("flow.yaml", []byte(leastFlow))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(defaultFlow(), got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("TakesWhatIsSet", func(t *testing.T) {
		t.Parallel()
		got, err := config.ParseFlow("flow.yaml", []byte(leastFlow+`
on_unknown_table: ignore
on_unknown_column: ignore
identity: {header: event-id, horizon: 24h}
max_transaction_rows: 7
max_transaction_bytes: 2KiB
deadline_reserve: 1.5s
routes:
  - {from: shop.orders, to: public.orders}
  - from: shop.Order Lines
    to: public.lines.v2
debezium:
  unavailable_value: "n/a"
  decimal: double
  binary: hex
  time: connect
  unrepresentable: null
  table: shop.orders
`))
		if err != nil {
			t.Fatal(err)
		}
		want := defaultFlow()
		want.IgnoreUnknownTables, want.IgnoreUnknownColumns = true, true
		want.MaxTransactionRows, want.MaxTransactionBytes, want.DeadlineReserve = 7, 2048, 1500*time.Millisecond
		want.Routes = []config.Route{
			{From: change.Name{Schema: "shop", Table: "orders"}, To: change.Name{Schema: "public", Table: "orders"}},
			{From: change.Name{Schema: "shop", Table: "Order Lines"}, To: change.Name{Schema: "public", Table: "lines.v2"}},
		}
		want.Debezium = config.Debezium{
			UnavailableValue: "n/a", Decimal: "double", Binary: "hex", Time: "connect", NullUnrepresentable: true,
			Table: change.Name{Schema: "shop", Table: "orders"},
		}
		want.Identity = config.Identity{Header: "event-id", Horizon: 24 * time.Hour}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("TakesTheExampleOfTheReference", func(t *testing.T) {
		t.Parallel()
		page, err := os.ReadFile("../../docs/configuration.md")
		if err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(string(page), "```yaml\n")
		example, _, found := strings.Cut(after, "```")
		if !found {
			t.Fatal("the reference has no example")
		}
		got, err := config.ParseFlow("docs/configuration.md", []byte(example))
		if err != nil {
			t.Fatal(err)
		}
		want := defaultFlow()
		want.Routes = []config.Route{
			{From: change.Name{Schema: "shop", Table: "orders"}, To: change.Name{Schema: "public", Table: "orders"}},
		}
		want.Identity.Header = "event-id"
		want.Debezium.Table = change.Name{Schema: "shop", Table: "orders"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func defaultFlow() config.Flow {
	return config.Flow{
		Name: "shop", Format: config.FormatDebezium, Topics: []string{"dbn.shop.orders"},
		Log: "dense", Producers: "plain", Gaps: "refuse", OnPoison: "halt",
		MaxTransactionRows: 10_000, MaxTransactionBytes: 32 << 20, DeadlineReserve: 2 * time.Second,
		Debezium: config.Debezium{
			UnavailableValue: "__debezium_unavailable_value", Decimal: "precise", Binary: "base64", Time: "adaptive",
		},
		Identity: config.Identity{Horizon: 168 * time.Hour}, Plain: defaultPlain(),
	}
}

func TestReadFlow(t *testing.T) {
	t.Parallel()
	t.Run("ReadsFromDisk", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "flow.yaml")
		if err := os.WriteFile(path, []byte(leastFlow), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := config.ReadFlow(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(defaultFlow(), got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("NamesAPathThatItCannotRead", func(t *testing.T) {
		t.Parallel()
		directory := t.TempDir()
		missing := filepath.Join(directory, "none.yaml")
		_, err := config.ReadFlow(missing)
		refused(t, err, "read flow file: open "+missing+": no such file")
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the cause is lost: %v", err)
		}
		_, err = config.ReadFlow(directory)
		refused(t, err, "read flow file: ", directory)
	})
	t.Run("StopsAtTheLargestSize", func(t *testing.T) {
		t.Parallel()
		_, err := config.ReadFlow("/dev/zero")
		refused(t, err, "/dev/zero: is larger than 262144 bytes")
	})
}
