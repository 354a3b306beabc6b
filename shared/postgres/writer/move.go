package writer

import (
	"slices"

	"tidemark/shared/change"
	"tidemark/shared/postgres"
	"tidemark/shared/postgres/catalog"
)

// A changed key comes as a delete of the old key and an insert of the new one, perhaps through two partitions, in
// either order and at the same time. Each half touches only the row of its own key, so every key still follows its own
// partition. What the insert does not carry lies in the deleted row, so the delete leaves that row in moved_row;
// whichever half comes second takes the entry away.
//
// An entry without values is the word of an insert that came first; one with an empty text, of a delete that met no
// row: the row was moved before, and the source repeats itself. Each half first leaves its word and only then looks for
// the other's, in a statement of its own. The key of moved_row makes the later of two concurrent transactions wait with
// its word for the earlier, whose entry it then sees; looking first, neither would see the other's.

// noRow is the word of a delete that met no row.
const noRow = "''"

// The new key may be the old one to the target, a and A as citext for instance. Then an insert that comes first changes
// the row that the delete is about to remove, so it also gives the row its new key's text, and such a delete removes
// nothing that looks different.

// lookalikes lists the key columns whose equal values may look different.
func lookalikes(table *catalog.Table) []int {
	var out []int
	for _, i := range table.Key {
		column := &table.Relation.Columns[i]
		if !column.Generated && !column.Fixed && mayLookDifferent(column.Type) {
			out = append(out, i)
		}
	}
	return out
}

// mayLookDifferent says whether the target can hold two equal values of a type whose texts differ.
func mayLookDifferent(t change.Type) bool {
	switch t.Kind {
	case change.KindNumeric:
		return !t.HasScale // with one, equal numbers are stored alike
	case change.KindFloat, change.KindInterval, change.KindJSON, change.KindHStore, change.KindArray, change.KindOther:
		return t.Equality == change.EqualityUnknown
	case change.KindBool, change.KindInteger, change.KindMoney, change.KindBytea, change.KindBit, change.KindVarBit,
		change.KindDate, change.KindTime, change.KindTimeTZ, change.KindTimestamp, change.KindTimestampTZ, change.KindPoint:
	}
	return false
}

// deleteMoved removes the row of the old key and keeps its values, unless the other half came first and had all cells.
func (w Writer) deleteMoved(table *catalog.Table, c *change.Change) []postgres.Statement {
	var s sql
	s.write("WITH met AS (").takeMove(w, table, c, "row_values IS NULL").write(" RETURNING 1), gone AS (DELETE FROM ",
		table.Own, " AS t").whereKey(table, c)
	if alike := lookalikes(table); len(alike) > 0 {
		s.write(" AND (NOT EXISTS (SELECT FROM met) OR ").list(alike, " AND ", func(i int) {
			s.sameText(table.Columns[i], c.Key[slices.Index(table.Key, i)])
		}).write(")")
	}
	s.write(" RETURNING (t.*)::text AS row_values) UPDATE ", w.schema,
		".moved_row AS m SET row_values = gone.row_values, moved_at = pg_catalog.now() FROM gone WHERE ")
	s.thisMove(w, table, c).write(" AND NOT EXISTS (SELECT FROM met)")
	return []postgres.Statement{w.leaveWord(table, c, noRow), s.statement()}
}

// insertMoved makes the row of the new key from what the change carries and the values that the other half left, or if
// that met no row, those that the row of the new key has. It raises when the other half has not come: the record is
// delivered again until it has.
func (w Writer) insertMoved(table *catalog.Table, c *change.Change) postgres.Statement {
	var s sql
	var columns []int
	for i := range table.Columns {
		if !table.Relation.Columns[i].Generated {
			columns = append(columns, i)
		}
	}
	s.write("WITH met AS (").takeMove(w, table, c, "row_values IS NOT NULL").write(" RETURNING row_values), ")
	s.write("kept AS (SELECT CASE WHEN row_values OPERATOR(pg_catalog.<>) ", noRow, " THEN row_values::", table.Quoted,
		" ELSE (SELECT (t.*)::", table.Quoted, " FROM ", table.Own, " AS t").whereKey(table, c)
	s.write(") END AS old FROM met), ")
	if !table.Arbiter {
		s.write("cleared AS (DELETE FROM ", table.Own).whereKey(table, c).write("), ")
	}
	s.write("done AS (").into(table, columns).write(" SELECT ").list(columns, ", ", func(i int) {
		switch n := slices.Index(table.Key, i); {
		case n >= 0:
			s.value(c.Key[n], table.Columns[i].Cast)
		case c.Row[i].IsMissing():
			s.write("(kept.old).", table.Columns[i].Quoted)
		default:
			s.value(c.Row[i], table.Columns[i].Cast)
		}
	})
	s.write(" FROM kept WHERE old IS DISTINCT FROM NULL") // IS NULL is also true of a row of NULLs
	s.onConflict(table, append(settable(table, columns), lookalikes(table)...), nil).write(") SELECT ", w.schema,
		".expect_move((SELECT count(*) FROM met), ").text(table.Name.String()).write("), ", w.schema,
		".expect((SELECT count(*) FROM kept WHERE old IS DISTINCT FROM NULL), 1, ")
	return s.text(table.Name.String()).write(")").statement()
}

// meetMove follows the insert of a new key that carried every cell: it leaves word that this half came first, or takes
// the other half's entry.
func (w Writer) meetMove(table *catalog.Table, c *change.Change) []postgres.Statement {
	var s sql
	s.takeMove(w, table, c, "row_values IS NOT NULL")
	return []postgres.Statement{w.leaveWord(table, c, "NULL"), s.statement()}
}

// leaveWord makes the move's entry, unless there is one.
func (w Writer) leaveWord(table *catalog.Table, c *change.Change, values string) postgres.Statement {
	var s sql
	s.write("INSERT INTO ", w.schema, ".moved_row (flow, source_table, source_move, old_key, new_key, row_values)")
	s.write(" VALUES (")
	s.text(w.flow).write(", ").text(table.Name.String()).write(", ").text(c.Move.ID).write(", ")
	s.text(c.Move.From).write(", ").text(c.Move.To).write(", ", values, ") ON CONFLICT DO NOTHING")
	return s.statement()
}

func (s *sql) takeMove(w Writer, table *catalog.Table, c *change.Change, which string) *sql {
	s.write("DELETE FROM ", w.schema, ".moved_row AS m WHERE ")
	return s.thisMove(w, table, c).write(" AND ", which)
}

func (s *sql) thisMove(w Writer, table *catalog.Table, c *change.Change) *sql {
	const is = " OPERATOR(pg_catalog.=) "
	s.write("m.flow", is).text(w.flow).write(" AND m.source_table", is).text(table.Name.String())
	return s.write(" AND m.source_move", is).text(c.Move.ID)
}
