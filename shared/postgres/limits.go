package postgres

import (
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Unlimited are the settings that lift what a server may end a transaction for: how long it takes is decided by the data.
func Unlimited(conn *pgconn.PgConn) string {
	limits := "SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0"
	if hasTransactionTimeout(conn.ParameterStatus("server_version")) {
		limits += "; SET LOCAL transaction_timeout = 0"
	}
	return limits
}

// hasTransactionTimeout says whether a server of this version can end a transaction for its age.
func hasTransactionTimeout(version string) bool {
	const since = 17
	digits := len(version) - len(strings.TrimLeft(version, "0123456789"))
	major, err := strconv.Atoi(version[:digits])
	return err == nil && major >= since
}
