package writer

import (
	"tidemark/shared/change"
	"tidemark/shared/postgres"
	"tidemark/shared/postgres/catalog"
)

// upsert makes the row of a key what the change says, whether or not it is there; in a table without a key it adds a row.
// Where ON CONFLICT cannot infer the key, because its constraint is deferrable, it updates first and inserts what was
// not met; the partition's lock keeps others from the key meanwhile.
func upsert(table *catalog.Table, c *change.Change) postgres.Statement {
	var s sql
	columns := written(table, c.Row)
	set := settable(table, columns)
	if c.Move != nil {
		set = append(set, lookalikes(table)...)
	}
	if len(table.Key) > 0 && !table.Arbiter {
		s.write("WITH met AS (")
		if len(set) > 0 {
			s.write("UPDATE ", table.Own, " SET ")
			s.assign(table, set, c.Row).whereKey(table, c).write(" RETURNING 1) ")
		} else {
			s.write("SELECT 1 FROM ", table.Own).whereKey(table, c).write(") ")
		}
		s.into(table, columns).write(" SELECT ").cells(table, columns, c.Row)
		return s.write(" WHERE NOT EXISTS (SELECT FROM met)").statement()
	}
	if len(columns) == 0 {
		return s.write("INSERT INTO ", table.Quoted, " DEFAULT VALUES").statement()
	}
	s.into(table, columns).write(" VALUES (").cells(table, columns, c.Row).write(")")
	return stable(s.onConflict(table, set, nil).statement())
}

// into begins an insert. The table is called t, because its own name may be excluded.
// stable marks a statement that reads no table: an insert finds the row that is in its way through the index alone.
func stable(s postgres.Statement) postgres.Statement {
	s.Stable = true
	return s
}

func (s *sql) into(table *catalog.Table, columns []int) *sql {
	s.write("INSERT INTO ", table.Quoted, " AS t (").list(columns, ", ", func(i int) { s.write(table.Columns[i].Quoted) })
	return s.write(") OVERRIDING SYSTEM VALUE")
}

func (s *sql) cells(table *catalog.Table, columns []int, row []change.Value) *sql {
	return s.list(columns, ", ", func(i int) { s.value(row[i], table.Columns[i].Cast) })
}

// onConflict makes an insert an upsert: on a row that is there it sets the columns of set, and puts those of reset back
// to their default.
func (s *sql) onConflict(table *catalog.Table, set, reset []int) *sql {
	if len(table.Key) == 0 || !table.Arbiter {
		return s
	}
	s.write(" ON CONFLICT (").list(table.Key, ", ", func(i int) { s.write(table.Columns[i].Quoted) }).write(")")
	if len(set)+len(reset) == 0 {
		return s.write(" DO NOTHING")
	}
	s.write(" DO UPDATE SET ").list(set, ", ", func(i int) {
		s.write(table.Columns[i].Quoted, " = EXCLUDED.", table.Columns[i].Quoted)
	})
	if len(set) > 0 && len(reset) > 0 {
		s.write(", ")
	}
	return s.list(reset, ", ", func(i int) { s.write(table.Columns[i].Quoted, " = DEFAULT") })
}

func (s *sql) assign(table *catalog.Table, set []int, row []change.Value) *sql {
	return s.list(set, ", ", func(i int) {
		s.write(table.Columns[i].Quoted, " = ").value(row[i], table.Columns[i].Cast)
	})
}

func (s *sql) whereKey(table *catalog.Table, c *change.Change) *sql {
	n := 0
	return s.write(" WHERE ").list(table.Key, " AND ", func(i int) {
		s.equals(table.Columns[i]).value(c.Key[n], table.Columns[i].Cast)
		n++
	})
}

// equals writes the left side of a comparison with a value of the column's type.
func (s *sql) equals(column catalog.Column) *sql {
	s.write(column.Quoted)
	if column.Domain {
		s.write("::", column.Cast)
	}
	return s.write(" ", column.Operator, " ")
}

// sameText compares a column with a cell by what they look like.
func (s *sql) sameText(column catalog.Column, cell change.Value) {
	s.write(column.Quoted, "::text OPERATOR(pg_catalog.=) (").value(cell, column.Cast).write(")::text")
}

// whereOne finds one row that equals old, NULLs included. ctid alone is not enough in a partitioned table. Of rows that
// are equal to the target and yet look different, such as 1.0 and 1.00 or a month and thirty days, it takes the one
// that looks like old.
func (s *sql) whereOne(table *catalog.Table, old []change.Value) *sql {
	s.write(" WHERE (tableoid, ctid) = (SELECT tableoid, ctid FROM ", table.Own, " WHERE true")
	var alike []int
	for _, i := range written(table, old) {
		switch column := table.Columns[i]; {
		case old[i].IsNull():
			s.write(" AND ", column.Quoted, " IS NOT DISTINCT FROM NULL") // IS NULL is also true of a row of NULLs
		case column.Equal:
			s.write(" AND ").equals(column).value(old[i], column.Cast)
			if table.Relation.Columns[i].Type.Equality == change.EqualityUnknown {
				alike = append(alike, i)
			}
		default:
			s.write(" AND ").sameText(column, old[i])
		}
	}
	if len(alike) > 0 {
		s.write(" ORDER BY (").list(alike, " AND ", func(i int) { s.sameText(table.Columns[i], old[i]) }).write(") DESC")
	}
	return s.write(" LIMIT 1)")
}

func deleteKey(table *catalog.Table, c *change.Change) postgres.Statement {
	var s sql
	return s.write("DELETE FROM ", table.Own).whereKey(table, c).statement()
}

// update changes some cells of a row that must be there: an insert would invent what the record does not carry.
func (w Writer) update(table *catalog.Table, c *change.Change) postgres.Statement {
	var s sql
	keyed := len(table.Key) > 0
	columns := settable(table, written(table, c.Row))
	where := func() *sql {
		if keyed {
			return s.whereKey(table, c)
		}
		return s.whereOne(table, c.Old)
	}
	s.write("WITH met AS (")
	if len(columns) > 0 {
		s.write("UPDATE ", table.Own, " SET ").assign(table, columns, c.Row)
		where().write(" RETURNING 1)")
	} else {
		s.write("SELECT 1 FROM ", table.Own)
		where().write(")")
	}
	return w.expectOne(&s, table)
}

// deleteEqual removes exactly one of the rows that equal the old one.
func (w Writer) deleteEqual(table *catalog.Table, c *change.Change) postgres.Statement {
	var s sql
	s.write("WITH met AS (DELETE FROM ", table.Own).whereOne(table, c.Old).write(" RETURNING 1)")
	return w.expectOne(&s, table)
}

func (w Writer) expectOne(s *sql, table *catalog.Table) postgres.Statement {
	s.write(" SELECT ", w.schema, ".expect((SELECT count(*) FROM met), 1, ")
	return s.text(table.Name.String()).write(")").statement()
}

func (w Writer) clear(table *catalog.Table) postgres.Statement {
	var s sql
	s.write("SELECT ", w.schema, ".clear_table(")
	return s.text(table.Quoted).write("::regclass)").statement()
}
