package capture_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/goleak"

	"tidemark/localstack/services/servicestest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres/capture"
	"tidemark/shared/postgres/postgrestest"
)

func TestMain(m *testing.M) {
	code := servicestest.Run(m)
	if err := goleak.Find(); code == 0 && err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		code = 1
	}
	os.Exit(code)
}

// read captures the database as a backup does.
func read(t *testing.T, db *postgrestest.Database) capture.Schema {
	t.Helper()
	tx, err := db.Conn.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		t.Fatalf("begin: %v", err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	schema, err := capture.Read(t.Context(), tx)
	if err != nil {
		t.Fatalf("capture: %v", err)
	}
	return schema
}

// rebuild runs the definitions in an empty database, and load after those that come before the rows.
func rebuild(t *testing.T, schema capture.Schema, load func(*postgrestest.Database)) *postgrestest.Database {
	t.Helper()
	db := postgrestest.Empty(t)
	tx, err := db.Conn.Begin(t.Context())
	if err != nil {
		t.Fatalf("begin: %v", err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := tx.Exec(t.Context(), capture.Session, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatalf("session: %v", err)
	}
	loaded := false
	for _, d := range schema.Definitions {
		if !loaded && d.Phase != body.BeforeData {
			load(db)
			loaded = true
		}
		if _, err := tx.Exec(t.Context(), d.SQL, pgx.QueryExecModeExec); err != nil {
			t.Fatalf("%s %s of %s: %v\n%s", d.Kind, d.Name, d.Table, err, d.SQL)
		}
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatalf("commit: %v", err)
	}
	return db
}

// unusual makes the session print names and values in ways that no other session needs to read.
func unusual(t *testing.T, db *postgrestest.Database) {
	t.Helper()
	db.Exec(t, `SET search_path = shop, public; SET quote_all_identifiers = on; SET DateStyle = 'German'; SET TimeZone = 'Asia/Tokyo';
		SET IntervalStyle = 'sql_standard'; SET extra_float_digits = -5; SET bytea_output = 'escape';
		SET standard_conforming_strings = off; SET xmloption = document; SET default_table_access_method = 'heap'`)
}

// noRows leaves the tables empty.
func noRows(*postgrestest.Database) {}

// made is a live target with what the files make.
func made(t *testing.T, paths ...string) *postgrestest.Database {
	t.Helper()
	db := postgrestest.Live(t, "")
	for _, path := range paths {
		content, err := os.ReadFile(filepath.Clean(path))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Conn.PgConn().Exec(t.Context(), string(content)).ReadAll(); err != nil {
			at := 0
			if server, ok := errors.AsType[*pgconn.PgError](err); ok {
				at = min(max(int(server.Position)-1, 0), len(content))
			}
			t.Fatalf("%s: %v, at %.80q", path, err, content[at:])
		}
	}
	return db
}
