package postgres

import (
	"errors"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"tidemark/shared/fault"
)

// SQLSTATEs that Tidemark's own functions in the ledger's schema raise.
const (
	StateNotMoved   = "TM001" // advance: a checkpoint did not stand where the caller said
	StateRowMissing = "TM002" // a partial update or a keyless delete met no row
	StateNotOwner   = "TM003" // advance: the target is not live or lives another life
	StateMoveWaits  = "TM004" // the half of a key change that holds the row's values has not been applied yet
)

// Class gives a SQLSTATE its fault class (PROTOCOLS A15). What is not listed is Unclassified: whoever meets it halts.
// Poison is a closed list.
func Class(sqlstate string) fault.Class {
	if class, ok := classOfState(sqlstate); ok {
		return class
	}
	if len(sqlstate) != sqlstateLength {
		return fault.Unclassified
	}
	switch sqlstate[:2] {
	case "08", "40", "53", "57":
		return fault.Retryable
	case "22":
		return fault.Poison
	case "28", "42":
		return fault.Misconfigured
	}
	return fault.Unclassified
}

func classOfState(sqlstate string) (fault.Class, bool) {
	switch sqlstate {
	case StateNotMoved:
		return fault.Bug, true
	case StateNotOwner:
		return fault.Fenced, true
	case "23502", "23514", "23505", "23P01", "54000", "P0001", StateRowMissing:
		return fault.Poison, true
	case "55P03", "25006", "25P03", "26000", "23503", StateMoveWaits:
		return fault.Retryable, true
	case "3D000", "3F000":
		return fault.Misconfigured, true
	case "25P02":
		return fault.Bug, true
	case "XX001", "XX002":
		return fault.Corrupt, true
	}
	return fault.Unclassified, false
}

// Classify gives an error of the driver its class and, where an operator can do something, a hint. An error that is not
// the server's word is a broken connection: Retryable. Callers that sent COMMIT decide for themselves before they ask.
func Classify(err error) error {
	if err == nil {
		return nil
	}
	if fault.ClassOf(err) != fault.Unclassified {
		return err
	}
	server, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return classifyConnection(err)
	}
	classified := fault.New(Class(server.Code), "%w", &serverError{server})
	if hint := hintOf(server); hint != "" {
		return classified.WithHint("%s", hint)
	}
	return classified
}

func classifyConnection(err error) error {
	if _, ok := errors.AsType[*pgconn.ParseConfigError](err); ok {
		// The driver's own message quotes the address, and with it what may be a password.
		return fault.New(fault.Misconfigured, "the database's address does not parse").WithHint("correct TIDEMARK_DATABASE_URL")
	}
	class := fault.New(fault.Retryable, "%w", err)
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return class.WithHint("the database's host name is not known here: check TIDEMARK_DATABASE_URL and the network")
	}
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return class.WithHint("the database cannot be reached: check its address, that it runs, and the network between")
	}
	return class
}

func hintOf(server *pgconn.PgError) string {
	switch {
	case strings.HasPrefix(server.Code, "28"):
		return "the database refuses the login: check user, password and pg_hba.conf; TIDEMARK_DATABASE_URL and " +
			"TIDEMARK_DATABASE_PASSWORD, or the secret in TIDEMARK_DATABASE_SECRET, hold what was sent"
	case server.Code == "3D000":
		return "the database does not exist: create it, or correct TIDEMARK_DATABASE_URL"
	case server.Code == "42501":
		return "grant the function's role what docs/operations.md lists, then run it again"
	case server.Code == StateRowMissing:
		return "an update names columns that the record does not carry and the row it belongs to is not there: " +
			"the target lost it, or the flow began after the row was made"
	case server.Code == "26000":
		return "the session lost its prepared statements: behind a pooler set TIDEMARK_PREPARED_STATEMENTS=false"
	case server.Code == "23503":
		return "the row that it points to is not there yet; it is delivered again until then. If it lasts: does the flow, or " +
			"another, write the other table?"
	case server.Code == StateMoveWaits:
		return "the other half of the key change is still ahead in another partition; it is delivered again until then"
	}
	return ""
}

// serverError prints a server's error without its detail line, which quotes the row: payload stays out of logs.
type serverError struct{ err *pgconn.PgError }

// Error is severity, message and SQLSTATE, with table, column and constraint where the server names them.
func (e *serverError) Error() string {
	var b strings.Builder
	b.WriteString(safeMessage(e.err))
	b.WriteString(" (SQLSTATE " + e.err.Code)
	for _, part := range []struct{ name, value string }{
		{"table", e.err.TableName},
		{"column", e.err.ColumnName},
		{"constraint", e.err.ConstraintName},
	} {
		if part.value != "" {
			b.WriteString(", " + part.name + " " + part.value)
		}
	}
	b.WriteString(")")
	return b.String()
}

// Unwrap gives the driver's error.
func (e *serverError) Unwrap() error { return e.err }

// safeMessage is the server's message where it is known to hold no value of a row. Messages about data quote what they
// choke on, and an input function may do so under any code; those about the text of a statement point into it, and that
// text is ours. What a function of the target raises may say anything, under any code.
func safeMessage(err *pgconn.PgError) string {
	class := ""
	if len(err.Code) == sqlstateLength {
		class = err.Code[:2]
	}
	switch {
	case class == "TM":
		return err.Message
	case err.Routine == "exec_stmt_raise" || err.Code == "P0001":
		return "a trigger or function of the target raised an exception"
	case class == "22":
		return "the server refuses a value"
	case err.Position > 0 || err.Code == "42501":
		return err.Message
	}
	switch class {
	case "08", "23", "25", "28", "3D", "40", "53", "54", "57":
		return err.Message
	case "55":
		if err.Code != "55P04" { // that one quotes an enum's new value
			return err.Message
		}
	}
	return "the server refuses the statement"
}

const sqlstateLength = 5

// StateOf is the server's code for what went wrong, empty when it was not the server that said so.
func StateOf(err error) string {
	if server, ok := errors.AsType[*pgconn.PgError](err); ok {
		return server.Code
	}
	return ""
}

// Waits says whether what was written needs a row that is not there yet: the parent that a foreign key points to, or the
// other half of a key change.
func Waits(err error) bool {
	state := StateOf(err)
	return state == "23503" || state == StateMoveWaits
}

// IsRefusal says whether the server refused what was written, so that a smaller piece of the same work may pass. Time
// limits, locks, serialization, lost rights of the session and the ledger's own word are about the whole.
func IsRefusal(err error) bool {
	server, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return false
	}
	switch server.Code {
	case StateNotMoved, StateNotOwner, "25006", "25P02", "25P03", "26000", "55P03":
		return false
	}
	if len(server.Code) != sqlstateLength {
		return true
	}
	switch server.Code[:2] {
	case "08", "40", "53", "57":
		return false
	}
	return true
}
