package jsonnode_test

import (
	"testing"

	"tidemark/shared/format/jsonnode"
)

const envelope = `{"before":null,"after":{"id":4711,"name":"a customer's name","n":5000000000,"price":"SZYC0g==","ok":true,` +
	`"day":19782,"placed":"2024-06-30T22:00:00.123456Z"},"source":{"version":"3.6.1.Final","connector":"postgresql",` +
	`"name":"dbn","ts_ms":1795970865491,"snapshot":null,"db":"src","sequence":"[\"26882560\",\"26883024\"]",` +
	`"ts_us":1795970865491849,"schema":"shop","table":"plain","txId":776,"lsn":26883024,"xmin":null},` +
	`"transaction":{"id":"776:26883024","total_order":4},"op":"u","ts_ms":1795970865758,"ts_ns":1795970865758794757}`

func BenchmarkParse(b *testing.B) {
	text := []byte(envelope)
	b.Run("Document", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		d := new(jsonnode.Document)
		for b.Loop() {
			if _, err := d.Parse(text); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Node", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := jsonnode.Parse(text); err != nil {
				b.Fatal(err)
			}
		}
	})
}
