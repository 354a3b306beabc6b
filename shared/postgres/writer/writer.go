// Package writer owns how changes become SQL: which statement writes a group of changes into a table so that the result
// is that of the changes one by one, in order.
//
// Every value travels as text and is cast by the target's own catalog type without its modifier, so that what is too
// long raises instead of being cut. Names are always quoted. A statement that has to meet a row says so inside the
// database, because a COMMIT may already be on its way behind it. The package builds statements only; it opens no
// connection, and a Writer may be shared.
package writer

import (
	"strconv"
	"strings"

	"tidemark/shared/apply/reduction"
	"tidemark/shared/change"
	"tidemark/shared/fault"
	"tidemark/shared/postgres"
	"tidemark/shared/postgres/catalog"
)

// Writer builds statements for one flow whose ledger lies in one schema.
type Writer struct {
	schema string // of the ledger, quoted
	flow   string
}

// New returns a writer.
func New(ledgerSchema, flow string) Writer {
	return Writer{schema: postgres.QuoteName(ledgerSchema), flow: flow}
}

// Append appends the statements of a group to statements.
// Errors: fault.Bug for changes that a decoder must not make.
func (w Writer) Append(
	statements []postgres.Statement, table *catalog.Table, group reduction.Group,
) ([]postgres.Statement, error) {
	if isBulk(table, group) {
		for i := range group.Changes {
			if err := check(table, &group.Changes[i]); err != nil {
				return nil, err
			}
		}
		return append(statements, w.bulk(table, group)), nil
	}
	for i := range group.Changes {
		made, err := w.one(table, &group.Changes[i])
		if err != nil {
			return nil, err
		}
		statements = append(statements, made...)
	}
	return statements, nil
}

// isBulk says whether one statement writes the group: also a single change, when only the group says what it means.
func isBulk(table *catalog.Table, group reduction.Group) bool {
	if !group.Bulk || group.Op == change.Insert && len(written(table, group.Changes[0].Row)) == 0 {
		return false
	}
	return len(group.Changes) > 1 || group.Reset || group.Strict || group.Op == change.Update
}

func (w Writer) one(table *catalog.Table, c *change.Change) ([]postgres.Statement, error) {
	keyed := len(table.Key) > 0
	if err := check(table, c); err != nil {
		return nil, err
	}
	moves := c.Move != nil && keyed && len(table.Key) < len(table.Columns)
	switch c.Op {
	case change.Insert:
		if moves && c.HasMissing() {
			return []postgres.Statement{w.insertMoved(table, c)}, nil
		}
		statements := []postgres.Statement{upsert(table, c)}
		if moves {
			statements = append(statements, w.meetMove(table, c)...)
		}
		return statements, nil
	case change.Update:
		if keyed && !c.HasMissing() {
			return []postgres.Statement{upsert(table, c)}, nil
		}
		return []postgres.Statement{w.update(table, c)}, nil
	case change.Delete:
		switch {
		case !keyed:
			return []postgres.Statement{w.deleteEqual(table, c)}, nil
		case moves:
			return w.deleteMoved(table, c), nil
		}
		return []postgres.Statement{deleteKey(table, c)}, nil
	case change.Truncate:
		return []postgres.Statement{w.clear(table)}, nil
	}
	return nil, fault.New(fault.Bug, "table %s: a change with operation %d", table.Name, c.Op)
}

// check refuses changes whose cells do not fit the table: SQL made of them would name the wrong columns.
func check(table *catalog.Table, c *change.Change) error {
	wantRow := c.Op == change.Insert || c.Op == change.Update
	wantOld := len(table.Key) == 0 && (c.Op == change.Update || c.Op == change.Delete)
	wantKey := len(table.Key) > 0 && c.Op != change.Truncate
	switch {
	case wantRow && len(c.Row) != len(table.Columns),
		wantOld && len(c.Old) != len(table.Columns),
		wantKey && len(c.Key) != len(table.Key):
		return fault.New(fault.Bug, "table %s: a change to %s with %d, %d and %d cells of row, old row and key",
			table.Name, c.Op, len(c.Row), len(c.Old), len(c.Key))
	}
	if wantOld && len(table.Columns) > 0 && len(written(table, c.Old)) == 0 {
		return fault.New(fault.Poison, "table %s: the row before has no cell that could tell which row to %s",
			table.Name, c.Op)
	}
	for i := range c.Key {
		if wantKey && (c.Key[i].IsMissing() || c.Key[i].IsNull()) {
			return fault.New(fault.Poison, "table %s: key column %s is null or missing in the record",
				table.Name, table.Relation.Columns[table.Key[i]].Name)
		}
	}
	return nil
}

// sql builds one statement: text and parameters side by side.
type sql struct {
	strings.Builder

	params [][]byte
}

func (s *sql) write(parts ...string) *sql {
	for _, p := range parts {
		_, _ = s.WriteString(p) // a Builder never fails
	}
	return s
}

// value writes a parameter with its cast.
func (s *sql) value(cell change.Value, cast string) *sql {
	s.params = append(s.params, cell.Bytes())
	return s.write("$", strconv.Itoa(len(s.params)), "::", cast)
}

func (s *sql) text(value string) *sql { return s.value(change.Text([]byte(value)), "text") }

func (s *sql) statement() postgres.Statement {
	return postgres.Statement{SQL: s.String(), Params: s.params}
}

// list writes one item for each index, with a separator between.
func (s *sql) list(indexes []int, separator string, item func(i int)) *sql {
	for n, i := range indexes {
		if n > 0 {
			s.write(separator)
		}
		item(i)
	}
	return s
}

// written lists the columns that a row brings.
func written(table *catalog.Table, row []change.Value) []int {
	columns := make([]int, 0, len(row))
	for i := range row {
		if !row[i].IsMissing() && !table.Relation.Columns[i].Generated {
			columns = append(columns, i)
		}
	}
	return columns
}

// settable lists those of columns that an update may set: not the key, which finds the row, and no identity column.
func settable(table *catalog.Table, columns []int) []int {
	out := make([]int, 0, len(columns))
	for _, i := range columns {
		if !table.IsKey(i) && !table.Relation.Columns[i].Fixed {
			out = append(out, i)
		}
	}
	return out
}
