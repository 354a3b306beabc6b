package plain_test

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"tidemark/shared/change"
	"tidemark/shared/fault"
	"tidemark/shared/format/plain"
	"tidemark/shared/format/plain/cell"
	"tidemark/shared/record"
)

// every has a column of every kind.
func every() catalog {
	columns := []change.Column{
		column("id", change.KindInteger), generated(column("made", change.KindOther)),
		fixed(column("fixed", change.KindInteger)),
	}
	for i, name := range kinds() {
		kind := change.KindOther + change.Kind(i)
		columns = append(columns, column(name, kind), array(name+"s", kind))
	}
	all := relation("all", []int{0}, columns...)
	return catalog{"public.all": all, "public.log": change.NewRelation(all.Name, all.Columns, nil)}
}

// kinds are names in the order of the kinds, without the array.
func kinds() []string {
	return []string{
		"text", "bool", "integer", "float", "numeric", "money", "bytea", "date", "time", "timetz", "timestamp", "timestamptz",
		"interval", "json", "hstore", "bit", "varbit", "point",
	}
}

const sample = `{"id":7,"text":"a \"b\" \u00e9","bool":true,"integer":1e3,"float":-0.0,"numeric":"1.50","money":3,` +
	`"bytea":"AP8Q3q2+7w==","date":"2024-02-29","time":"12:00","timestamp":1719784800.123,"timestamptz":-1,` +
	`"json":{"a":[1,"\\u0000"]},"jsons":[[1],{"a":"b"},null],"hstore":{"a":"b","c":null},"texts":["a","b c",null,["d"]],` +
	`"byteas":["AA=="],"integers":[1.0,2],"timestamps":["2024-01-01 00:00",5],"bit":"101","point":"(1,2)",` +
	`"interval":"1 day","kind":"all","gone":false}`

func modes(n uint8) plain.Options {
	o := plain.Options{
		Topic: "all", Table: "public.${topic}", DeleteField: "gone",
		Modes: cell.Modes{Epoch: []cell.Epoch{"", "s", "ms", "us"}[n%4]},
	}
	o.Key.From = []plain.Source{plain.RecordKey, plain.RecordKeyText, plain.Value, plain.Headers}[n/4%4]
	o.Absent = []plain.Policy{plain.Keep, plain.Update, plain.Null, plain.Halt}[n/16%4]
	if n&64 != 0 {
		o.Table, o.UnknownField = "public.${field:kind}", plain.Ignore
	}
	if n&128 != 0 {
		o.Modes.Binary, o.Modes.JSON, o.Tombstone = cell.BinaryHex, cell.JSONText, plain.Ignore
	}
	return o
}

// checkClassified decodes and demands that an error says what to do, and that a change has the shape of its relation.
func checkClassified(tb testing.TB, d *plain.Decoder, key, value record.Data) (changes int) {
	tb.Helper()
	var set change.Set
	rec := record.Record{Key: key, Value: value, Headers: []record.Header{{Name: "id", Value: key}}}
	err := d.Decode(tb.Context(), &rec, &set)
	class := fault.ClassOf(err)
	if err != nil && (len(set.Changes) > 0 || class != fault.Poison && class != fault.Misconfigured) {
		tb.Fatalf("got %d changes and an error of class %s: %v", len(set.Changes), class, err)
	}
	for i := range set.Changes {
		c := &set.Changes[i]
		columns, keys := len(c.Relation.Columns), len(c.Relation.Key)
		if c.Op == change.Delete == (len(c.Row) == columns) || len(c.Key) != keys || c.Old != nil {
			tb.Fatalf("got a change of another shape than its relation: %s", show(c))
		}
		for _, v := range append(append([]change.Value{}, c.Row...), c.Key...) {
			if bytes.IndexByte(v.Bytes(), 0) >= 0 || !utf8.Valid(v.Bytes()) {
				tb.Fatal("got a cell that is no text")
			}
		}
	}
	return len(set.Changes)
}

func TestDecodeSurvives(t *testing.T) {
	t.Parallel()
	t.Run("TheWholeSample", func(t *testing.T) {
		t.Parallel()
		if checkClassified(t, decoder(t, every(), modes(1|64)), data(`7`), data(sample)) != 1 {
			t.Error("got no change of the sample that the other tests damage")
		}
	})
	t.Run("EveryPrefix", func(t *testing.T) {
		t.Parallel()
		d := decoder(t, every(), modes(1|64))
		for n := range len(sample) {
			if checkClassified(t, d, data(`7`), data(sample[:n])) != 0 {
				t.Fatalf("got a change of the first %d bytes", n)
			}
		}
	})
	t.Run("FlippedBits", func(t *testing.T) {
		t.Parallel()
		d, value := decoder(t, every(), modes(1|64)), []byte(sample)
		for i := range value {
			for bit := range 8 {
				value[i] ^= 1 << bit
				checkClassified(t, d, data(`7`), record.Present(value))
				value[i] ^= 1 << bit
			}
		}
	})
}

func FuzzDecode(f *testing.F) {
	for n := range uint8(16) {
		f.Add([]byte(`{"id":7}`), []byte(sample), n*17)
	}
	f.Add([]byte(`7`), []byte(nil), uint8(0))
	f.Add([]byte("\x00"), []byte(`{"gone":true,"kind":"log"}`), uint8(64))
	tables := every()
	f.Fuzz(func(t *testing.T, key, value []byte, mode uint8) {
		given := record.Present(value)
		if value == nil {
			given = record.Null()
		}
		checkClassified(t, decoder(t, tables, modes(mode)), record.Present(key), given)
	})
}
