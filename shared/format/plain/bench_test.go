package plain_test

import (
	"testing"

	"tidemark/shared/change"
	"tidemark/shared/format/plain"
	"tidemark/shared/record"
)

func BenchmarkDecode(b *testing.B) {
	const value = `{"id":4711,"name":"a customer's name","note":"an \"escaped\" note","n":5000000000,` +
		`"price":12345678.90,"ok":true,"day":"2024-02-29","placed":"2024-06-30T22:00:00.123456Z",` +
		`"data":{"a":[1,2,{"b":null}]},"tags":["x","y z"]}`
	tables := catalog{"public.orders": relation("orders", []int{0},
		column("id", change.KindInteger), column("name", change.KindOther), column("note", change.KindOther),
		column("n", change.KindInteger), column("price", change.KindNumeric), column("ok", change.KindBool),
		column("day", change.KindDate), column("placed", change.KindTimestampTZ), column("data", change.KindJSON),
		array("tags", change.KindOther))}
	d := decoder(b, tables, plain.Options{
		Topic: "orders", Table: "${header:schema}.${topic}", DeleteField: "gone", Columns: map[string]string{"data_": "data"},
	})
	rec := record.Record{
		Key: record.Present([]byte(`{"id":4711}`)), Value: record.Present([]byte(value)),
		Headers: []record.Header{{Name: "schema", Value: record.Present([]byte("public"))}},
	}
	set := new(change.Set)
	b.SetBytes(int64(rec.Size()))
	b.ReportAllocs()
	for b.Loop() {
		if len(set.Changes) == 1000 {
			set = &change.Set{Changes: make([]change.Change, 0, 1000)}
		}
		if err := d.Decode(b.Context(), &rec, set); err != nil {
			b.Fatal(err)
		}
	}
}
