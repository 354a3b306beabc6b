// Package address owns how the text of a connection string becomes what connections are made with.
//
// It refuses a text that does not parse, without repeating it: it may hold a password; and one that leaves this machine without
// a word on encryption. What the text leaves open comes from where PostgreSQL's own clients take it. It connects to nothing and
// keeps no state.
package address

import (
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/fault"
	"tidemark/shared/postgres"
)

// Parse reads a connection string. connectTimeout bounds the making of one connection.
//
// Errors: fault.Misconfigured.
func Parse(text string, connectTimeout time.Duration) (*pgx.ConnConfig, error) {
	parsed, err := pgx.ParseConfig(text)
	if err != nil { // the error would repeat parts of the text
		return nil, fault.New(fault.Misconfigured, "the connection string does not parse, or names a file that cannot be read").
			WithHint("want postgres://USER@HOST:PORT/DATABASE, with the password in TIDEMARK_DATABASE_PASSWORD; " +
				"sslrootcert names a file that is there")
	}
	if err := postgres.CheckEncryption(text, &parsed.Config); err != nil {
		return nil, err
	}
	parsed.ConnectTimeout = connectTimeout
	return parsed, nil
}
