package connect_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/format/debezium/connect"
	"tidemark/shared/format/jsonnode"
)

func read(t *testing.T, text string) (connect.Schema, error) {
	t.Helper()
	n, err := jsonnode.Parse([]byte(text))
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	return connect.ReadSchema(n)
}

func TestReadSchema(t *testing.T) {
	t.Parallel()
	got, err := read(t, `{"type":"struct","optional":false,"name":"dbs.shop.t.Value","fields":[
		{"type":"bytes","field":"n","name":"org.apache.kafka.connect.data.Decimal","version":1,
		 "parameters":{"scale":"2","connect.decimal.precision":"10"}},
		{"type":"array","field":"a","items":{"type":"bytes","name":"io.debezium.data.Bits","parameters":{"length":"16"}}}]}`)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	want := connect.Schema{Basic: "struct", Means: "dbs.shop.t.Value", Fields: []connect.Schema{
		{Field: "n", Basic: "bytes", Means: "org.apache.kafka.connect.data.Decimal", Scale: 2},
		{Field: "a", Basic: "array", Items: &connect.Schema{Basic: "bytes", Means: "io.debezium.data.Bits", Length: 16}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("schema differs (-want +got):\n%s", diff)
	}
	if got.Member("a") != &got.Fields[1] || got.Member("b") != nil {
		t.Error("got another member than asked for")
	}
}

func TestReadSchemaRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"AString":     `"struct"`,
		"Fields":      `{"fields":{}}`,
		"AScale":      `{"parameters":{"scale":"two"}}`,
		"GreatDepths": strings.Repeat(`{"items":`, 100) + `{}` + strings.Repeat(`}`, 100),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := read(t, text); err == nil {
				t.Errorf("got %v, want a refusal", got)
			}
		})
	}
}
