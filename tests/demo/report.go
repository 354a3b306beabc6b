package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/jackc/pgx/v5"

	"tidemark/tests/internal/capture"
)

// report prints what happened, for a person.
type report struct{ out io.Writer }

func (r *report) line(text string) {
	_, _ = fmt.Fprintln(r.out, text) // a closed terminal does not change the result
}

func (r *report) pass(title string, p pass) {
	r.line("")
	r.line(title)
	r.line(fmt.Sprintf("  events            %6d, with %d records", p.events, p.delivered))
	r.line(fmt.Sprintf("  applied           %6d", p.applied))
	r.line(fmt.Sprintf("  already applied   %6d, skipped", p.skipped))
	if p.killed > 0 {
		r.line(fmt.Sprintf("  killed                 1 process, after it committed %d records and before its reply arrived", p.killed))
	}
}

// compared is one table of the target beside the source's.
type compared struct {
	table     string
	rows      int
	different []capture.Difference
	lost      []capture.Lost
}

// equal compares every table with the source's and prints that.
func (s *stage) equal(ctx context.Context, report *report) (bool, error) {
	tables, err := s.compare(ctx)
	if err != nil {
		return false, err
	}
	return report.tables(tables), nil
}

// compare reads every table of the target as the source's own COPY printed it.
func (s *stage) compare(ctx context.Context) (tables []compared, err error) {
	lost, err := capture.LostValues()
	if err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, s.postgres.URL())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	if _, err := conn.Exec(ctx, "SET timezone = 'UTC'"); err != nil {
		return nil, err
	}
	for _, table := range capture.Tables() {
		truth, err := table.Truth()
		if err != nil {
			return nil, err
		}
		var got strings.Builder
		if _, err := conn.PgConn().CopyTo(ctx, &got, table.CopySQL()); err != nil {
			return nil, err
		}
		c := compared{table: table.Name, rows: strings.Count(got.String(), "\n") - 1}
		c.different, c.lost = capture.Compare(capture.NoSchema, table, truth, got.String(), lost)
		tables = append(tables, c)
	}
	return tables, nil
}

// tables prints the comparison and says whether all tables are equal.
func (r *report) tables(tables []compared) bool {
	equal, lost := true, 0
	r.line("")
	r.line("target beside source, byte for byte")
	for _, c := range tables {
		verdict := "equal"
		if len(c.lost) > 0 {
			verdict = fmt.Sprintf("equal, but for %d values that the wire had lost", len(c.lost))
		}
		if len(c.different) > 0 {
			equal, verdict = false, "DIFFERENT"
		}
		lost += len(c.lost)
		r.line(fmt.Sprintf("  %-12s %4d rows   %s", c.table, c.rows, verdict))
		for _, d := range c.different {
			r.line("      " + d.String())
		}
	}
	if lost > 0 {
		r.line("  docs/formats.md lists the lost values, with the reasons")
	}
	return equal
}
