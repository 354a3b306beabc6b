package extract

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres"
	"tidemark/shared/recovery"
)

// Check refuses a database of another encoding than the base, one that has the schema, and one that lacks types. Problems are
// what is known of types already. It writes nothing.
//
// Errors: fault.Misconfigured with names; recovery.ErrNotEmpty for the schema.
func (p *Plan) Check(ctx context.Context, conn *pgx.Conn, base body.Snapshot, problems []string) error {
	var encoding string
	var taken bool
	err := conn.QueryRow(ctx, "SELECT pg_catalog.pg_encoding_to_char(d.encoding), EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1::text)"+
		" FROM pg_catalog.pg_database AS d WHERE d.datname = pg_catalog.current_database()", p.into).Scan(&encoding, &taken)
	switch {
	case err != nil:
		return postgres.Classify(err)
	case encoding != base.Encoding:
		return fault.New(fault.Misconfigured, "the base is of encoding %s, the database of %s", base.Encoding, encoding).
			WithHint("restore into a database of that encoding")
	case taken:
		return fault.New(fault.Misconfigured, "schema %s is there: %w", p.into, recovery.ErrNotEmpty).
			WithHint("nothing was written: name another schema, or drop that one when nobody needs it")
	}
	if len(problems) == 0 {
		if problems, err = p.unknownTypes(ctx, conn); err != nil {
			return postgres.Classify(err)
		}
	}
	if len(problems) > 0 {
		return fault.New(fault.Misconfigured, "the tables' types are not in this database: %s", strings.Join(problems, "; ")).
			WithHint("nothing was written: make the types as the base has them, or restore into another database")
	}
	return nil
}

// unknownTypes names types that the server does not know, as those of an extension that is not there. Modifiers name none.
func (p *Plan) unknownTypes(ctx context.Context, conn *pgx.Conn) ([]string, error) {
	rows, err := conn.Query(ctx, "SELECT DISTINCT 'type ' || t || ' is not there' FROM unnest($1::text[]) AS t"+
		" WHERE pg_catalog.to_regtype(pg_catalog.regexp_replace(t, '\\([0-9, -]*\\)', '')) IS NULL ORDER BY 1", p.Types)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
