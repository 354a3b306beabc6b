package snapshot

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/backup"
	"tidemark/shared/fault"
	"tidemark/shared/postgres"
	"tidemark/shared/postgres/snapshot/part"
)

// reader sees a snapshot from a session of its own.
type reader struct {
	view *view // keeps the exporter's session from the garbage collector
	conn *pgx.Conn
}

// Copy writes the rows of a part in COPY's binary form: the table's columns as t names them, in the key's order unless t
// has no key or the part is one of pages. A row is in memory as a whole, on the server and here, and reaches to in one
// piece; nothing else grows with the rows.
// Errors: those of to as they are, and the reader is of no more use then.
func (r *reader) Copy(ctx context.Context, t backup.Table, of backup.Range, to io.Writer) (int64, error) {
	table, err := r.table(t)
	if err != nil {
		return 0, err
	}
	query, err := rowsOf(t, table, of)
	if err != nil {
		return 0, err
	}
	s := &sink{to: to}
	tag, err := r.conn.PgConn().CopyTo(ctx, s, way(of)+"COPY ("+query+") TO STDOUT (FORMAT binary)")
	if s.err != nil {
		return 0, about(t.Name, s.err)
	}
	if err != nil {
		return 0, about(t.Name, classify(err))
	}
	return tag.RowsAffected(), r.same(ctx, table)
}

// way tells the planner how to come by a part. It takes two bounds of a key of several columns for a fifth of the table,
// however near to each other they are, and would read the whole table for each of a thousand parts.
func way(of backup.Range) string {
	if of.From == nil && of.Until == nil {
		return "SET LOCAL enable_seqscan = on; "
	}
	return "SET LOCAL enable_seqscan = off; "
}

// rowsOf is the query for a part's rows. Columns are named: generated ones would not be taken back.
func rowsOf(t backup.Table, table readable, of backup.Range) (string, error) {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = c.Name
	}
	from, err := table.From(of)
	if err != nil {
		return "", err
	}
	query := "SELECT " + part.Columns(names) + from
	if len(t.Key) > 0 && of.FirstPage == 0 && of.UntilPage == 0 {
		query += " ORDER BY " + table.Order()
	}
	return query, nil
}

// sink keeps the error of the writer behind it apart from those of the database.
type sink struct {
	to  io.Writer
	err error
}

// Write hands on.
func (s *sink) Write(data []byte) (int, error) {
	n, err := s.to.Write(data)
	if err != nil {
		s.err = err
	}
	return n, err
}

// KeyAt is the key of the nth row of a part, from 0 on. Errors: fault.Bug where the part has no such row.
func (r *reader) KeyAt(ctx context.Context, t backup.Table, of backup.Range, n int64) ([]string, error) {
	table, err := r.table(t)
	if err != nil {
		return nil, err
	}
	from, err := table.From(of)
	if err != nil {
		return nil, err
	}
	if len(table.Key) == 0 {
		return nil, keyless(table)
	}
	rows, err := r.ask(ctx, table, way(of)+"SELECT "+table.KeyColumns()+from+" ORDER BY "+table.Order()+
		" OFFSET "+strconv.FormatInt(n, 10)+" LIMIT 1")
	if err == nil && len(rows) != 1 {
		err = about(t.Name, fault.New(fault.Bug, "the part has no row %d", n))
	}
	if err != nil {
		return nil, err
	}
	return rows[0], nil
}

// Count is how many rows the table has.
func (r *reader) Count(ctx context.Context, t backup.Table) (int64, error) {
	table, err := r.table(t)
	if err != nil {
		return 0, err
	}
	rows, err := r.ask(ctx, table, way(backup.Range{})+"SELECT count(*) FROM ONLY "+table.SQL())
	if err != nil {
		return 0, err
	}
	count, err := strconv.ParseInt(rows[0][0], 10, 64)
	if err != nil {
		return 0, fault.New(fault.Bug, "the count of table %s is no number", t.Name)
	}
	return count, nil
}

// Split proposes bounds from the keys on some of the table's pages, at most parts-1. The choice of pages is the same
// whenever the table is.
func (r *reader) Split(ctx context.Context, t backup.Table, parts int) ([][]string, error) {
	table, err := r.table(t)
	switch {
	case err != nil:
		return nil, err
	case len(table.Key) == 0:
		return nil, keyless(table)
	case parts < 2:
		return nil, nil
	}
	names, sampled := table.KeyColumns(), min(100, 100*float64(sampledPages(parts))/float64(max(table.pages, 1)))
	query := fmt.Sprintf(`SELECT %[1]s FROM (
	  SELECT %[1]s, row_number() OVER (ORDER BY %[2]s) - 1 AS "row", count(*) OVER () AS "rows"
	    FROM ONLY %[3]s TABLESAMPLE SYSTEM (%[4]g) REPEATABLE (0)) AS "sample"
	 WHERE "row" > 0 AND "row" * %[5]d / "rows" <> ("row" - 1) * %[5]d / "rows" ORDER BY "row"`,
		names, table.Order(), table.SQL(), sampled, parts)
	return r.ask(ctx, table, query)
}

func keyless(table readable) error {
	return fault.New(fault.Bug, "table %s has no key", table.Name)
}

// sampledPages is how many pages tell enough about where so many parts begin: some for each, never fewer than tell
// anything, and not so many that asking takes long.
func sampledPages(parts int) int {
	const perPart, least, most = 10, 200, 1000
	return min(max(parts*perPart, least), most)
}

// Close leaves the session to the next reader, or ends it.
func (r *reader) Close(ctx context.Context) error {
	if conn := r.conn; conn != nil {
		r.conn = nil
		r.view.leave(ctx, conn)
	}
	return nil
}

// table is what the snapshot knows of a table. A key that t has is the snapshot's: another would order nothing.
func (r *reader) table(t backup.Table) (readable, error) {
	table, ok := r.view.readable[t.Name]
	switch {
	case r.conn == nil:
		return table, fault.New(fault.Bug, "the reader was closed")
	case !ok:
		return table, fault.New(fault.Bug, "the snapshot has no table %s", t.Name)
	case len(t.Key) > 0 && !table.order.is(t.Key):
		return table, fault.New(fault.Bug, "table %s has another key in the snapshot", t.Name)
	}
	return table, nil
}

// ask asks about one table and returns the texts that PostgreSQL writes.
func (r *reader) ask(ctx context.Context, table readable, query string) ([][]string, error) {
	results, err := r.conn.PgConn().Exec(ctx, query).ReadAll()
	if err != nil {
		return nil, about(table.Name, classify(err))
	}
	if err := r.same(ctx, table); err != nil {
		return nil, err
	}
	var rows [][]string
	for _, values := range results[len(results)-1].Rows {
		row := make([]string, len(values))
		for i, value := range values {
			row[i] = string(value)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// same makes sure that the name led to the table that the snapshot means. A lock keeps a table from being renamed, and
// nothing keeps its schema from it: a new schema under the old name holds tables without a row that the snapshot sees.
func (r *reader) same(ctx context.Context, table readable) error {
	results, err := r.conn.PgConn().Exec(ctx, "SELECT to_regclass("+postgres.QuoteText(table.SQL())+")::oid").ReadAll()
	if err != nil {
		return about(table.Name, classify(err))
	}
	if string(results[0].Rows[0][0]) != strconv.FormatUint(uint64(table.oid), 10) {
		return fault.New(fault.Retryable, "table %s is another one by now: its schema was renamed during the backup", table.Name).
			WithHint("back up again")
	}
	return nil
}

var _ backup.Reader = (*reader)(nil)
