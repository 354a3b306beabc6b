//go:build drill

package backup_test

import (
	"encoding/json"
	"strconv"
	"time"

	"tidemark/shared/position"
	"tidemark/shared/record"
)

const flowName = "drill"

// topicOf is the topic of a table of schema public.
func topicOf(table string) string { return "drill.public." + table }

// object is a row as Debezium writes it: numbers where the text is one.
func object(columns, cells []string) map[string]any {
	out := map[string]any{}
	for i, column := range columns {
		if n, err := strconv.ParseInt(cells[i], 10, 64); err == nil {
			out[column] = n
		} else {
			out[column] = cells[i]
		}
	}
	return out
}

// event is one change of a table as Debezium writes it. Nil rows are absent; a table without keys has a nil key.
func event(table, op string, at position.Offset, key, before, after map[string]any) record.Record {
	value := map[string]any{
		"op": op, "before": before, "after": after, "ts_ms": 1, "source": map[string]any{
			"name": "drill", "db": "src", "schema": "public", "table": table, "txId": 700 + at, "lsn": 9000 + at,
		},
	}
	rec := record.Record{
		Offset: at, Time: time.UnixMilli(1_700_000_000_000 + int64(at)).UTC(), Key: record.Null(), Value: record.Present(encoded(value)),
	}
	if key != nil {
		rec.Key = record.Present(encoded(key))
	}
	return rec
}

func encoded(value map[string]any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // texts and numbers
	}
	return text
}
