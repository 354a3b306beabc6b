package ddl

import (
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"tidemark/shared/postgres"
)

// Explain is the server's reason for refusing a definition. Unlike what it says of rows, what it says of names, features and
// files holds nothing that a row does, unless a function of the target's words it.
func Explain(err error) string {
	const class = 2 // characters of a SQLSTATE
	server, ok := errors.AsType[*pgconn.PgError](err)
	if ok && server.Routine != "exec_stmt_raise" && len(server.Code) > class &&
		slices.Contains([]string{"0A", "2B", "42", "58"}, server.Code[:class]) {
		return server.Message + " (SQLSTATE " + server.Code + ")"
	}
	return postgres.Classify(err).Error()
}

// RefusalError prints a server's error as Explain does.
type RefusalError struct{ Err error }

// Error is the reason.
func (r *RefusalError) Error() string { return Explain(r.Err) }

// Unwrap gives the driver's error.
func (r *RefusalError) Unwrap() error { return r.Err }

// AboutRows says whether the server refuses values or what they are to each other.
func AboutRows(err error) bool {
	state := postgres.StateOf(err)
	return strings.HasPrefix(state, "22") || strings.HasPrefix(state, "23")
}
