// Package postgrestest gives tests a live target: a database of their own with the ledger in it, and short ways to fill
// and read it.
//
// It refuses to skip: where no PostgreSQL can be had the test fails.
package postgrestest

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"tidemark/localstack/services/servicestest"
	"tidemark/shared/position"
	"tidemark/shared/postgres/ledger"
	"tidemark/shared/postgres/migrations"
)

// TargetID is the id of every database that Live makes.
const TargetID position.TargetID = "test-target"

// Schema is where Live puts the ledger.
const Schema = "tidemark"

// Database is a database of one test.
type Database struct {
	URL  string
	Conn *pgx.Conn // a session of the test's own
}

// Empty is a database without a ledger.
func Empty(tb testing.TB) *Database {
	tb.Helper()
	url := servicestest.Database(tb)
	conn, err := pgx.Connect(tb.Context(), url)
	if err != nil {
		tb.Fatalf("connect to the test's database: %v", err)
	}
	tb.Cleanup(func() { _ = conn.Close(context.WithoutCancel(tb.Context())) })
	return &Database{URL: url, Conn: conn}
}

// Live is a database with a ledger and a live target, and whatever ddl makes.
func Live(tb testing.TB, ddl string) *Database {
	tb.Helper()
	db := Empty(tb)
	db.Migrate(tb)
	if _, _, err := ledger.NewOperator(db.Conn, Schema, "test").Init(tb.Context(), TargetID); err != nil {
		tb.Fatalf("init the target: %v", err)
	}
	db.Exec(tb, ddl)
	return db
}

// Migrate makes the ledger.
func (d *Database) Migrate(tb testing.TB) {
	tb.Helper()
	config, err := pgx.ParseConfig(d.URL)
	if err != nil {
		tb.Fatalf("parse the test's address: %v", err)
	}
	if _, err := migrations.Up(tb.Context(), config, Schema); err != nil {
		tb.Fatalf("migrate the ledger: %v", err)
	}
}

// Exec runs SQL, several statements if need be.
func (d *Database) Exec(tb testing.TB, sql string) {
	tb.Helper()
	if _, err := d.Conn.PgConn().Exec(tb.Context(), sql).ReadAll(); err != nil {
		tb.Fatalf("%s: %v", sql, err)
	}
}

// Copy is the text that COPY gives of a query, without a header.
func (d *Database) Copy(tb testing.TB, query string) string {
	tb.Helper()
	var out strings.Builder
	d.CopyTo(tb, &out, "COPY ("+query+") TO STDOUT")
	return out.String()
}

// CopyTo runs a COPY ... TO STDOUT under UTC into w.
func (d *Database) CopyTo(tb testing.TB, w io.Writer, statement string) {
	tb.Helper()
	d.Exec(tb, "SET timezone = 'UTC'")
	if _, err := d.Conn.PgConn().CopyTo(tb.Context(), w, statement); err != nil {
		tb.Fatalf("%s: %v", statement, err)
	}
}
