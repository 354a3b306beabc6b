package claim

import (
	"context"
	_ "embed" // the question is a file
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tidemark/shared/fault"
	"tidemark/shared/recovery"
)

//go:embed sql/holders.sql
var holdersQuestion string

// mostNamed is how much is named of what a database holds: enough to see whose it is.
const mostNamed = 5

// refuse says why a database is not empty, and whether somebody made its tables and put nothing into them: those may be loaded.
func (s *Session) refuse(ctx context.Context, objects []string) error {
	var taken bool
	err := s.conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname IN ($1::text, $2::text))",
		s.db.options.LedgerSchema, s.db.schema).Scan(&taken)
	if err != nil {
		return err
	}
	if taken {
		return notEmpty(objects, "").WithHint("nothing was written: it is a target, or was to become one; create an empty database and " +
			"name it. Where migrations made the tables, let them make no ledger, or drop it: the base brings its own")
	}
	filled, err := s.filled(ctx)
	_, refused := errors.AsType[*pgconn.PgError](err)
	switch {
	case refused: // who may not look into a table, or would have to wait, finds it as good as full
		return notEmpty(objects, "")
	case err != nil:
		return err
	case len(filled) > 0:
		return notEmpty(objects, "; rows are in "+named(filled)).WithHint("nothing was written: create an empty database and name it; " +
			"where migrations made the tables, empty them all, that of the migrations too: the base brings its rows")
	}
	return fault.New(fault.Misconfigured, "%w: it has %s, %w", recovery.ErrNotEmpty, named(objects), recovery.ErrOnlyTables).
		WithHint("nothing was written: create an empty database and name it, or load into these tables by --schema existing")
}

// notEmpty names the first objects.
func notEmpty(objects []string, more string) *fault.Error {
	return fault.New(fault.Misconfigured, "%w: it has %s%s", recovery.ErrNotEmpty, named(objects), more).
		WithHint("nothing was written: create an empty database and name it, or drop what this one holds")
}

func named(things []string) string {
	if len(things) > mostNamed {
		return strings.Join(things[:mostNamed], ", ") + " and more"
	}
	return strings.Join(things, ", ")
}

// filled names what has rows, as far as it is to be named.
func (s *Session) filled(ctx context.Context) ([]string, error) {
	if err := s.Run(ctx, "SET LOCAL lock_timeout = '2s'"); err != nil {
		return nil, err
	}
	rows, err := s.conn.Query(ctx, holdersQuestion)
	if err != nil {
		return nil, err
	}
	questions, err := pgx.CollectRows(rows, pgx.RowTo[string])
	var filled []string
	for len(questions) > 0 && err == nil && len(filled) <= mostNamed {
		const atOnce = 100
		part := questions[:min(len(questions), atOnce)]
		questions = questions[len(part):]
		var found []string
		if rows, err = s.conn.Query(ctx, strings.Join(part, " UNION ALL ")); err == nil {
			found, err = pgx.CollectRows(rows, pgx.RowTo[string])
			filled = append(filled, found...)
		}
	}
	return filled, err
}
