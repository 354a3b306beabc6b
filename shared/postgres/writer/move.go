package writer

import (
	"slices"

	"tidemark/shared/change"
	"tidemark/shared/postgres"
	"tidemark/shared/postgres/catalog"
)

// A changed key comes as a delete of the old key and an insert of the new one, perhaps through two partitions and in
// either order. Each half touches only the row of its own key, so every key still follows its own partition. What the
// insert does not carry lies in the deleted row, so the delete leaves that row in moved_row; whichever half comes second
// takes the entry away.

// deleteMoved removes the row of the old key and keeps its values, unless the other half came first and had all cells.
func (w Writer) deleteMoved(table *catalog.Table, c *change.Change) postgres.Statement {
	var s sql
	s.write("WITH met AS (").takeMove(w, table, c, "row_values IS NULL")
	s.write("), gone AS (DELETE FROM ", table.Quoted, " AS t")
	s.whereKey(table, c).write(" RETURNING t::text AS row_values) ")
	s.addMove(w, table, c, "gone.row_values").write(" FROM gone WHERE NOT EXISTS (SELECT FROM met)")
	s.write(" ON CONFLICT (flow, source_table, source_move) DO UPDATE SET row_values = EXCLUDED.row_values, moved_at = now()")
	return s.statement()
}

// insertMoved makes the row of the new key from what the change carries and the values that the other half left. It
// raises when that half has not come: the record is delivered again until it has.
func (w Writer) insertMoved(table *catalog.Table, c *change.Change) postgres.Statement {
	var s sql
	var columns []int
	for i := range table.Columns {
		if !table.Relation.Columns[i].Generated {
			columns = append(columns, i)
		}
	}
	s.write("WITH met AS (").takeMove(w, table, c, "row_values IS NOT NULL").write("), done AS (").into(table, columns).write(" SELECT ")
	s.list(columns, ", ", func(i int) {
		switch n := slices.Index(table.Key, i); {
		case n >= 0:
			s.value(c.Key[n], table.Columns[i].Cast)
		case c.Row[i].IsMissing():
			s.write("(kept.old).", table.Columns[i].Quoted)
		default:
			s.value(c.Row[i], table.Columns[i].Cast)
		}
	})
	s.write(" FROM (SELECT row_values::", table.Quoted, " AS old FROM met) AS kept")
	s.onConflict(table, settable(table, columns), nil).write(" RETURNING 1) SELECT ", w.schema,
		".expect_move((SELECT count(*) FROM met), ")
	return s.text(table.Name.String()).write(")").statement()
}

// meetMove follows the insert of a new key that carried every cell: it takes the other half's entry, or leaves word that
// this half came first.
func (w Writer) meetMove(table *catalog.Table, c *change.Change) postgres.Statement {
	var s sql
	s.write("WITH met AS (").takeMove(w, table, c, "true").write(") ")
	s.addMove(w, table, c, "NULL").write(" WHERE NOT EXISTS (SELECT FROM met) ON CONFLICT DO NOTHING")
	return s.statement()
}

func (s *sql) takeMove(w Writer, table *catalog.Table, c *change.Change, which string) *sql {
	s.write("DELETE FROM ", w.schema, ".moved_row WHERE flow = ").text(w.flow)
	s.write(" AND source_table = ").text(table.Name.String()).write(" AND source_move = ").text(c.Move.ID)
	return s.write(" AND ", which, " RETURNING row_values")
}

func (s *sql) addMove(w Writer, table *catalog.Table, c *change.Change, values string) *sql {
	s.write("INSERT INTO ", w.schema, ".moved_row (flow, source_table, source_move, old_key, new_key, row_values) SELECT ")
	s.text(w.flow).write(", ").text(table.Name.String()).write(", ").text(c.Move.ID).write(", ")
	return s.text(c.Move.From).write(", ").text(c.Move.To).write(", ", values)
}
