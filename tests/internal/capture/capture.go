// Package capture owns the recorded Debezium records in tests/testdata, the rows that they must lead to, and the values
// that the wire had lost before anybody recorded it.
//
// The lost values are pinned in docs/formats.md by table, column and row; Compare accepts these and nothing else.
package capture

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"tidemark/shared/position"
	"tidemark/shared/record"
)

// The captures: the same workload through three connectors.
const (
	NoSchema = "debezium-json-noschema.jsonl"
	Schema   = "debezium-json-schema.jsonl"
	AltModes = "debezium-json-noschema-altmodes.jsonl"
)

// Root is the root of the module's source.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "..")
}

// Dir is where the recordings lie.
func Dir() string { return filepath.Join(Root(), "tests", "testdata", "debezium") }

// Record is one recorded record with its partition.
type Record struct {
	Partition position.Partition
	record.Record

	// LSN and Order place the change in the source's own order.
	LSN, Order int64
}

type line struct {
	Topic     string
	Partition int32
	Offset    int64
	Timestamp int64
	Headers   []struct {
		Key   string
		Value []byte
	}
	Key, Value *[]byte
}

// Load reads a capture in the order of the file: topic by topic.
func Load(name string) ([]Record, error) {
	file, err := os.Open(filepath.Join(Dir(), name)) //nolint:gosec // a name of this package
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // read only
	var records []Record
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		var l line
		if err := json.Unmarshal(scanner.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", name, len(records)+1, err)
		}
		records = append(records, l.record())
	}
	return records, scanner.Err()
}

func (l line) record() Record {
	r := Record{Partition: position.Partition{Topic: l.Topic, Number: l.Partition}}
	r.Offset, r.Time = position.Offset(l.Offset), time.UnixMilli(l.Timestamp).UTC()
	r.Key, r.Value = data(l.Key), data(l.Value)
	for _, h := range l.Headers {
		r.Headers = append(r.Headers, record.Header{Name: h.Key, Value: record.Present(h.Value)})
	}
	r.LSN, r.Order = l.place()
	return r
}

func data(bytes *[]byte) record.Data {
	if bytes == nil {
		return record.Null()
	}
	return record.Present(*bytes)
}

// place reads where the source had the change. Tombstones and transaction markers have no place of their own.
func (l line) place() (lsn, order int64) {
	if l.Value == nil {
		return 0, 0
	}
	type event struct {
		Source      struct{ LSN int64 }
		Transaction *struct {
			TotalOrder int64 `json:"total_order"`
		}
	}
	var wrapped struct {
		event
		Payload *event
	}
	if err := json.Unmarshal(*l.Value, &wrapped); err != nil {
		return 0, 0
	}
	found := wrapped.event
	if wrapped.Payload != nil {
		found = *wrapped.Payload
	}
	if found.Transaction != nil {
		order = found.Transaction.TotalOrder
	}
	return found.Source.LSN, order
}

// Topics lists the topics of records, sorted, with the number of partitions that each needs.
func Topics(records []Record) (names []string, partitions map[string]int32) {
	partitions = map[string]int32{}
	for _, r := range records {
		partitions[r.Partition.Topic] = max(partitions[r.Partition.Topic], r.Partition.Number+1)
	}
	for name := range partitions {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, partitions
}

// Table is one table of the capture's source.
type Table struct {
	Name  string // without its schema, which is shop
	Order string // the columns that the truth is sorted by
}

// Tables lists the tables with a truth.
func Tables() []Table {
	return []Table{
		{"OrderLines", `"OrderId", "LineNo"`},
		{"all_types", "id"},
		{"kv", "id"},
		{"marker", "id"},
		{"nopk", "a, b, c"},
		{"only_key", "a, b"},
		{"orders", "id"},
		{"special", "id"},
		{"toasty", "id"},
		{"toasty_full", "id"},
		{"trunc_me", "id"},
	}
}

// CopySQL is the COPY statement that gave the table's truth.
func (t Table) CopySQL() string {
	return fmt.Sprintf(`COPY (SELECT * FROM shop.%q ORDER BY %s) TO STDOUT WITH (HEADER)`, t.Name, t.Order)
}

// Truth is the final content of the source's table, as CopySQL printed it.
func (t Table) Truth() (string, error) {
	text, err := os.ReadFile(filepath.Join(Dir(), "truth", t.Name+".txt"))
	return string(text), err
}

// DDL makes the source's final schema, for the target.
func DDL() (string, error) {
	text, err := os.ReadFile(filepath.Join(Dir(), "truth", "schema-final.sql"))
	if err != nil {
		return "", err
	}
	// The dump empties the search path for the session that loads it.
	ddl := strings.ReplaceAll(string(text), "SELECT pg_catalog.set_config('search_path', '', false);", "")
	return "CREATE EXTENSION hstore SCHEMA public;\n" + ddl, nil
}
