package claim

import (
	"context"
	_ "embed" // the question is a file
	"fmt"

	"github.com/jackc/pgx/v5"
)

//go:embed sql/filled.sql
var filledQuestion string

// filled is a column that a sequence fills, with quoted names.
type filled struct {
	sequence, table, column   string
	increment, least, largest int64
}

// raise moves every sequence beyond what the tables have: rows that came by replay took no number from it. It never moves one
// back. What lies outside of a sequence's range it did not give out.
func (s *Session) raise(ctx context.Context) error {
	rows, err := s.conn.Query(ctx, filledQuestion)
	if err != nil {
		return err
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (filled, error) {
		var f filled
		err := row.Scan(&f.sequence, &f.table, &f.column, &f.increment, &f.least, &f.largest)
		return f, err
	})
	if err != nil {
		return err
	}
	for _, f := range all {
		if _, err := s.conn.Exec(ctx, f.statement()); err != nil {
			return fmt.Errorf("set sequence %s to what %s of %s has: %w", f.sequence, f.column, f.table, Classify(err))
		}
	}
	return nil
}

func (f filled) statement() string {
	furthest, whole, beyond := "max", "floor", ">"
	if f.increment < 0 {
		furthest, whole, beyond = "min", "ceil", "<"
	}
	return fmt.Sprintf("SELECT setval('%[1]s', r.value, true) FROM (SELECT %[4]s(%[5]s(%[3]s)::numeric)::bigint AS value FROM %[2]s"+
		" WHERE %[3]s BETWEEN %[7]d AND %[8]d) AS r, %[1]s AS s"+
		" WHERE r.value %[6]s s.last_value OR r.value = s.last_value AND NOT s.is_called",
		f.sequence, f.table, f.column, whole, furthest, beyond, f.least, f.largest)
}
