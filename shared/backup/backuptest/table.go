package backuptest

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tidemark/shared/backup"
	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
)

// Rows are a table's rows by their key. A nil value is NULL.
type Rows map[int64][]byte

// Table is a table of a key and a value.
type Table struct {
	Rows
	// Text makes the key a text: another type, in which 10 is before 9.
	Text bool
	// Collation is the version of the text's collation, empty where nobody tells. Under "2" all order is turned round.
	Collation string
	Unordered bool // reading by the key is dear
	Keyless   bool // there is no key: rows stand in pages, in the order of their numbers
	// What the server counts, and what it says that it sent, beside the rows that there are.
	CountLie, SentLie int64
}

func (t *Table) clone() *Table {
	other := *t
	other.Rows = maps.Clone(t.Rows)
	return &other
}

// order compares two keys as the server does.
func (t *Table) order(a, b int64) int {
	switch {
	case !t.Text:
		return cmp.Compare(a, b)
	case t.Collation == "2":
		return strings.Compare(text(b), text(a))
	}
	return strings.Compare(text(a), text(b))
}

func text(key int64) string { return strconv.FormatInt(key, 10) }

// describe is what a snapshot says of the table.
func (t *Table) describe(name body.Name) backup.Table {
	described := backup.Table{
		Table: body.Table{Name: name, Columns: []body.Column{
			{Name: "id", Type: "bigint", OID: 20}, {Name: "value", Type: "bytea", OID: 17},
		}},
		Pages: (t.bytes() + pageSize - 1) / pageSize, Bytes: t.bytes(), Ordered: !t.Unordered,
	}
	if t.Text {
		described.Columns[0].Type, described.Columns[0].OID = "text", 25
		if t.Collation != "" {
			described.Collations = []string{t.Collation}
		}
	}
	if !t.Keyless {
		described.Key = []string{"id"}
	}
	return described
}

func (t *Table) bytes() (size int64) {
	for key, value := range t.Rows {
		size += int64(len(t.encode(nil, key, value)))
	}
	return size
}

// sorted is the keys of a part in their order.
func (t *Table) sorted(keyed bool, r backup.Range) ([]int64, error) {
	if !keyed {
		return t.ofPages(r)
	}
	keys := slices.SortedFunc(maps.Keys(t.Rows), t.order)
	first, end := 0, len(keys)
	for _, bound := range []struct {
		at  []string
		set *int
	}{{r.From, &first}, {r.Until, &end}} {
		if bound.at == nil {
			continue
		}
		if len(bound.at) != 1 {
			return nil, fault.New(fault.Bug, "a bound of %d values", len(bound.at))
		}
		key, err := strconv.ParseInt(bound.at[0], 10, 64)
		if err != nil {
			return nil, fault.Wrap(fault.Bug, err)
		}
		*bound.set, _ = slices.BinarySearchFunc(keys, key, t.order)
	}
	return keys[first:max(first, end)], nil
}

const pageSize = 8 << 10

// ofPages gives the rows of some pages. A row stands in the page in which it begins.
func (t *Table) ofPages(r backup.Range) (in []int64, err error) {
	at := int64(0)
	for _, key := range slices.Sorted(maps.Keys(t.Rows)) {
		if page := at / pageSize; page >= r.FirstPage && (r.UntilPage == 0 || page < r.UntilPage) {
			in = append(in, key)
		}
		at += int64(len(t.encode(nil, key, t.Rows[key])))
	}
	return in, nil
}

func (t *Table) encode(to []byte, key int64, value []byte) []byte {
	if t.Text {
		return AppendRow(to, []byte(text(key)), value)
	}
	return AppendRow(to, binary.BigEndian.AppendUint64(nil, uint64(key)), value) //nolint:gosec // as the server sends it
}

// decode reads the rows of a chunk.
func decode(t body.Table, plain []byte, into Rows) ([]int64, error) {
	rows, err := ReadCopy(plain)
	if err != nil {
		return nil, err
	}
	var keys []int64
	for _, row := range rows {
		if len(row) != 2 {
			return nil, fault.New(fault.Bug, "a row of %d fields", len(row))
		}
		key, err := decodeKey(t.Columns[0].Type, row[0])
		if err != nil {
			return nil, err
		}
		if _, twice := into[key]; twice {
			return nil, fault.New(fault.Bug, "row %d stands in two chunks", key)
		}
		into[key], keys = row[1], append(keys, key)
	}
	return keys, nil
}

func decodeKey(kind string, field []byte) (int64, error) {
	if kind == "text" {
		return strconv.ParseInt(string(field), 10, 64)
	}
	if len(field) != 8 {
		return 0, fmt.Errorf("a bigint of %d bytes", len(field))
	}
	return int64(binary.BigEndian.Uint64(field)), nil //nolint:gosec // as the server sent it
}
