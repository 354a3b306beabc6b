package debezium_test

import (
	"bytes"
	"strings"
	"testing"

	"tidemark/shared/change"
	"tidemark/shared/fault"
	"tidemark/shared/format/debezium"
	"tidemark/shared/record"
)

// samples are records of a capture that differ in kind, none of them large.
func samples(tb testing.TB, name string) []captured {
	tb.Helper()
	var few []captured
	seen := map[string]int{}
	for _, c := range capture(tb, name) {
		if len(c.Value.Bytes()) < 12_000 && !c.IsTombstone() && seen[c.topic] < 1 {
			seen[c.topic]++
			few = append(few, c)
		}
	}
	return few
}

// places is how many places of a record are damaged.
const places = 80

// checkClassified decodes and demands that an error says what to do, and that a change has the shape of its relation.
func checkClassified(tb testing.TB, d *debezium.Decoder, set *change.Set, key, value record.Data) {
	tb.Helper()
	set.Changes = set.Changes[:0]
	r := record.Record{Key: key, Value: value}
	r.Headers = []record.Header{{Name: "__debezium.oldkey", Value: key}}
	err := d.Decode(tb.Context(), &r, set)
	if err != nil && fault.ClassOf(err) == fault.Unclassified {
		tb.Fatalf("got an error without a class: %v", err)
	}
	for i := range set.Changes {
		c := &set.Changes[i]
		columns := len(c.Relation.Columns)
		if len(c.Row)%columns != 0 || len(c.Old)%columns != 0 || c.Key != nil && len(c.Key) != len(c.Relation.Key) {
			tb.Fatalf("got a change of another shape than its relation: %s", show(c))
		}
		for _, cell := range append(append(append([]change.Value{}, c.Row...), c.Key...), c.Old...) {
			if bytes.IndexByte(cell.Bytes(), 0) >= 0 {
				tb.Fatal("got a cell with a zero byte")
			}
		}
	}
}

func TestDecodeSurvives(t *testing.T) {
	t.Parallel()
	for name, options := range captures() {
		t.Run("EveryPrefixOf/"+name, func(t *testing.T) {
			t.Parallel()
			d, set := decoder(t, shop(), options), new(change.Set)
			for _, c := range samples(t, name) {
				step := max(1, len(c.Value.Bytes())/places)
				for n := 0; n < len(c.Value.Bytes()); n += step {
					checkClassified(t, d, set, c.Key, record.Present(c.Value.Bytes()[:n]))
				}
				for n := range len(c.Key.Bytes()) {
					checkClassified(t, d, set, record.Present(c.Key.Bytes()[:n]), c.Value)
				}
			}
		})
		t.Run("FlippedBitsIn/"+name, func(t *testing.T) {
			t.Parallel()
			d, set := decoder(t, shop(), options), new(change.Set)
			for _, c := range samples(t, name) {
				value := bytes.Clone(c.Value.Bytes())
				step := max(1, len(value)/places)
				for i := 0; i < len(value); i += step {
					for _, bit := range []byte{1, 4, 0x20, 0x80} {
						value[i] ^= bit
						checkClassified(t, d, set, c.Key, record.Present(value))
						value[i] ^= bit
					}
				}
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	for name := range captures() {
		for _, c := range samples(f, name) {
			f.Add(c.Key.Bytes(), c.Value.Bytes(), uint8(0))
		}
	}
	f.Add([]byte(`{"id":7}`), []byte(`{"id":7,"v":"x","__op":"c","__table":"kv","__schema":"shop"}`), uint8(1))
	for _, table := range []string{"all_types", "nopk", "kv"} {
		f.Add([]byte(`{"id":7}`), []byte(envelope("u", table, `{"a":1}`,
			`{"id":7,"c_hstore":"{}","c_num":{"scale":1,"value":"AQ=="}}`)), uint8(2))
	}
	tables := shop()
	f.Fuzz(func(t *testing.T, key, value []byte, mode uint8) {
		options := debezium.Options{UnknownColumn: debezium.Ignore}
		names := strings.Fields("debezium-json-noschema.jsonl debezium-json-noschema-altmodes.jsonl")
		options.Modes = captures()[names[int(mode)%len(names)]].Modes
		if mode%4 == 3 {
			options.Table = change.Name{Schema: "shop", Table: "all_types"}
		}
		checkClassified(t, decoder(t, tables, options), new(change.Set), data(key), data(value))
	})
}
