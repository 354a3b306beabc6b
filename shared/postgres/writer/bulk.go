package writer

import (
	"encoding/binary"
	"slices"
	"strconv"

	"tidemark/shared/apply/reduction"
	"tidemark/shared/change"
	"tidemark/shared/postgres"
	"tidemark/shared/postgres/catalog"
)

// A bulk statement carries each column as one text[] and casts every element as a single value would be cast, so no type
// needs a form of its own: an array column's values are texts like all others. The number of parameters is that of
// the columns, whatever the number of rows.

// bulk is the statement that writes all changes of a group at once.
func (w Writer) bulk(table *catalog.Table, group reduction.Group) postgres.Statement {
	switch group.Op {
	case change.Update:
		return w.bulkUpdate(table, group.Changes)
	case change.Delete:
		return w.bulkDelete(table, group)
	case change.Insert, change.Truncate: // a Truncate is never in bulk
	}
	return bulkUpsert(table, group)
}

func bulkUpsert(table *catalog.Table, group reduction.Group) postgres.Statement {
	var s sql
	columns := written(table, group.Changes[0].Row)
	s.into(table, columns).write(" SELECT ").elements(table, columns)
	s.write(" FROM ").arrays(rowCells(group.Changes, columns))
	var absent []int
	if group.Reset {
		absent = settable(table, missing(table, columns))
	}
	return stable(s.onConflict(table, settable(table, columns), absent).binary())
}

// missing lists the columns that could be written and are not among columns.
func missing(table *catalog.Table, columns []int) []int {
	var out []int
	for i := range table.Columns {
		if !table.Relation.Columns[i].Generated && !slices.Contains(columns, i) {
			out = append(out, i)
		}
	}
	return out
}

func (w Writer) bulkUpdate(table *catalog.Table, changes []change.Change) postgres.Statement {
	var s sql
	set := settable(table, written(table, changes[0].Row))
	if len(set) == 0 {
		s.write("WITH met AS (SELECT 1 FROM ", table.Own, " AS t, ")
		s.keys(table, changes)
		return w.expect(s.write(")"), table, len(changes))
	}
	s.write("WITH met AS (UPDATE ", table.Own, " AS t SET ")
	n := len(table.Key)
	s.list(set, ", ", func(i int) {
		n++
		s.write(table.Columns[i].Quoted, " = u.a", strconv.Itoa(n), "::", table.Columns[i].FromText)
	})
	s.write(" FROM ")
	cells := append(keyCells(table, changes), rowCells(changes, set)...)
	s.arrays(cells).whereKeys(table)
	return w.expect(s.write(" RETURNING 1)"), table, len(changes))
}

func (w Writer) bulkDelete(table *catalog.Table, group reduction.Group) postgres.Statement {
	var s sql
	if !group.Strict {
		s.write("DELETE FROM ", table.Own, " AS t USING ")
		return s.keys(table, group.Changes).binary()
	}
	s.write("WITH met AS (DELETE FROM ", table.Own, " AS t USING ")
	s.keys(table, group.Changes)
	return w.expect(s.write(" RETURNING 1)"), table, len(group.Changes))
}

func (w Writer) expect(s *sql, table *catalog.Table, rows int) postgres.Statement {
	s.write(" SELECT ", w.schema, ".expect((SELECT count(*) FROM met), ")
	s.text(strconv.Itoa(rows)).write("::bigint, ")
	return s.text(table.Name.String()).write(")").binary()
}

// keys joins the rows of the changes' keys, for a statement that calls its table t.
func (s *sql) keys(table *catalog.Table, changes []change.Change) *sql {
	return s.arrays(keyCells(table, changes)).whereKeys(table)
}

func (s *sql) whereKeys(table *catalog.Table) *sql {
	n := 0
	return s.write(" WHERE ").list(table.Key, " AND ", func(i int) {
		n++
		s.write("t.").equals(table.Columns[i]).write("u.a", strconv.Itoa(n), "::", table.Columns[i].FromText)
	})
}

// elements writes the values of columns as what unnest calls a1, a2 and so on.
func (s *sql) elements(table *catalog.Table, columns []int) *sql {
	n := 0
	return s.list(columns, ", ", func(i int) {
		n++
		s.write("u.a", strconv.Itoa(n), "::", table.Columns[i].FromText)
	})
}

// arrays writes the arrays as a table u with the columns a1, a2 and so on.
func (s *sql) arrays(cells []column) *sql {
	s.write("unnest(")
	for n, c := range cells {
		if n > 0 {
			s.write(", ")
		}
		s.params = append(s.params, c)
		s.write("$", strconv.Itoa(len(s.params)), "::text[]")
	}
	s.write(") AS u (")
	for n := range cells {
		if n > 0 {
			s.write(", ")
		}
		s.write("a", strconv.Itoa(n+1))
	}
	return s.write(")")
}

// binary is the statement with its parameters in binary form, which for a text are its bytes.
func (s *sql) binary() postgres.Statement {
	return postgres.Statement{SQL: s.String(), Params: s.params, Binary: true}
}

// column is a text[] in binary form.
type column []byte

const (
	arrayHeader = 20
	textOID     = 25
)

// newColumn encodes one cell of each of n changes.
func newColumn(n int, cell func(i int) change.Value) column {
	size, nulls := arrayHeader+4*n, uint32(0)
	for i := range n {
		size += len(cell(i).Bytes())
	}
	out := make([]byte, arrayHeader, size)
	for i := range n {
		value := cell(i)
		if value.IsNull() || value.IsMissing() {
			nulls = 1
			out = binary.BigEndian.AppendUint32(out, ^uint32(0)) // a length of -1
			continue
		}
		text := value.Bytes()
		out = binary.BigEndian.AppendUint32(out, uint32(len(text))) //nolint:gosec // a cell is smaller than a record
		out = append(out, text...)
	}
	binary.BigEndian.PutUint32(out[0:], 1) // dimensions
	binary.BigEndian.PutUint32(out[4:], nulls)
	binary.BigEndian.PutUint32(out[8:], textOID)
	binary.BigEndian.PutUint32(out[12:], uint32(n)) //nolint:gosec // rows of a batch
	binary.BigEndian.PutUint32(out[16:], 1)         // lower bound
	return out
}

func rowCells(changes []change.Change, columns []int) []column {
	cells := make([]column, 0, len(columns))
	for _, c := range columns {
		cells = append(cells, newColumn(len(changes), func(i int) change.Value { return changes[i].Row[c] }))
	}
	return cells
}

func keyCells(table *catalog.Table, changes []change.Change) []column {
	cells := make([]column, 0, len(table.Key))
	for n := range table.Key {
		cells = append(cells, newColumn(len(changes), func(i int) change.Value { return changes[i].Key[n] }))
	}
	return cells
}
