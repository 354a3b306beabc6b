package restore

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"tidemark/shared/postgres"
)

// isAboutRows says whether the server refuses values or what they are to each other.
func isAboutRows(sqlstate string) bool {
	return strings.HasPrefix(sqlstate, "22") || strings.HasPrefix(sqlstate, "23")
}

// explain is the server's reason for refusing a definition. Unlike what it says of rows, what it says of names, features and
// files holds nothing that a row does, unless a function of the target's words it.
func explain(err error) string {
	server, ok := errors.AsType[*pgconn.PgError](err)
	if ok && server.Routine != "exec_stmt_raise" {
		for _, class := range []string{"0A", "2B", "42", "58"} {
			if strings.HasPrefix(server.Code, class) {
				return server.Message + " (SQLSTATE " + server.Code + ")"
			}
		}
	}
	return postgres.Classify(err).Error()
}

// refusal prints a server's error as explain does.
type refusal struct{ err error }

// Error is the reason.
func (r *refusal) Error() string { return explain(r.err) }

// Unwrap gives the driver's error.
func (r *refusal) Unwrap() error { return r.err }
