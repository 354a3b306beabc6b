package debezium_test

import (
	"testing"

	"tidemark/shared/change"
	"tidemark/shared/format/debezium"
	"tidemark/shared/record"
)

const plainValue = `{"before":null,"after":{"id":4711,"name":"a customer's name","n":5000000000,"price":"SZYC0g==",` +
	`"ok":true,"day":19782,"placed":"2024-06-30T22:00:00.123456Z"},"source":{"version":"3.6.1.Final","connector":"postgresql",` +
	`"name":"dbn","ts_ms":1795970865491,"snapshot":null,"db":"src","sequence":"[\"26882560\",\"26883024\"]",` +
	`"ts_us":1795970865491849,"ts_ns":1795970865491849000,"schema":"shop","table":"plain","txId":776,"lsn":26883024,` +
	`"xmin":null,"origin":null,"origin_lsn":null},"transaction":{"id":"776:26883024","total_order":4,` +
	`"data_collection_order":2},"op":"u","ts_ms":1795970865758,"ts_us":1795970865758794,"ts_ns":1795970865758794757}`

func BenchmarkDecode(b *testing.B) {
	tables := catalog{"plain": relation("plain", []int{0},
		column("id", change.KindInteger), column("name", change.KindOther), column("n", change.KindInteger),
		numeric("price", 2), column("ok", change.KindBool), column("day", change.KindDate),
		column("placed", change.KindTimestampTZ))}
	d := decoder(b, tables, debezium.Options{})
	rec := record.Record{Key: record.Present([]byte(`{"id":4711}`)), Value: record.Present([]byte(plainValue))}
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
