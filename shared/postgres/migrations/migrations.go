// Package migrations owns the ledger's schema in the target: the SQL of each version and the act of bringing a database
// up to this release's version.
//
// An operator runs it (tidemark migrate); no function does so at run time. Versions only grow. Two runs at once wait for
// each other on a lock in the database.
package migrations

import (
	"bytes"
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"regexp"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"tidemark/shared/fault"
	"tidemark/shared/postgres"
)

//go:embed sql/*.sql
var files embed.FS

// VersionTable is the table in the ledger's schema that holds the applied versions.
const VersionTable = "schema_version"

// Result says what a run changed.
type Result struct {
	From, To int64
	Applied  []string // file names, in order
}

var schemaPattern = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

// Up brings the ledger in schema to this release's version, making the schema where it is missing. It changes nothing
// when the ledger is there already.
// Errors: fault.Misconfigured for a schema name beside [a-z_][a-z0-9_]*, for missing rights and for a ledger newer than
// this release; fault.Retryable when the database cannot be reached.
func Up(ctx context.Context, config *pgx.ConnConfig, schema string) (Result, error) {
	if !schemaPattern.MatchString(schema) {
		return Result{}, fault.New(fault.Misconfigured, "ledger schema %q: want a-z, 0-9 and '_', not a digit first", schema).
			WithHint("correct TIDEMARK_LEDGER_SCHEMA")
	}
	db := stdlib.OpenDB(*config)
	result, err := alone(ctx, db, func() (Result, error) { return up(ctx, db, schema) })
	if closeErr := db.Close(); err == nil && closeErr != nil {
		err = closeErr
	}
	return result, postgres.Classify(err)
}

// alone runs do while no other run is under way on the database. The lock also covers what comes before the first version:
// IF NOT EXISTS does not save two sessions that make one schema at once. It ends with its session, when db is closed.
func alone(ctx context.Context, db *sql.DB, do func() (Result, error)) (Result, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = conn.Close() }() // back to the pool, with the lock
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock(hashtextextended('tidemark migrate', 0))"); err != nil {
		return Result{}, fmt.Errorf("wait for another run: %w", err)
	}
	return do()
}

func up(ctx context.Context, db *sql.DB, schema string) (Result, error) {
	if _, err := db.ExecContext(ctx, "CREATE SCHEMA IF NOT EXISTS "+postgres.QuoteName(schema)); err != nil {
		return Result{}, fmt.Errorf("create schema %s: %w", schema, err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, schemaFS{postgres.QuoteName(schema)},
		goose.WithTableName(schema+"."+VersionTable), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return Result{}, fault.New(fault.Bug, "read the migrations: %w", err)
	}
	before, err := provider.GetDBVersion(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("read the ledger's version: %w", err)
	}
	result := Result{From: before, To: before}
	sources := provider.ListSources()
	if newest := sources[len(sources)-1].Version; before > newest {
		return result, fault.New(fault.Misconfigured, "the ledger has version %d, this release knows up to %d", before, newest).
			WithHint("run a newer tidemark")
	}
	applied, err := provider.Up(ctx)
	if err != nil {
		return result, fmt.Errorf("migrate the ledger: %w", err)
	}
	for _, m := range applied {
		result.Applied = append(result.Applied, m.Source.Path)
		result.To = m.Source.Version
	}
	return result, nil
}

// schemaFS is the embedded files with the ledger's schema put in.
type schemaFS struct{ quotedSchema string }

// Open opens a file, for fs.FS.
func (s schemaFS) Open(name string) (fs.File, error) {
	sub, err := fs.Sub(files, "sql")
	if err != nil {
		return nil, err
	}
	file, err := sub.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil || info.IsDir() {
		return file, err
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	text = bytes.ReplaceAll(text, []byte("{{schema}}"), []byte(s.quotedSchema))
	return &memoryFile{Reader: bytes.NewReader(text), info: info}, nil
}

type memoryFile struct {
	*bytes.Reader
	info fs.FileInfo
}

func (m *memoryFile) Stat() (fs.FileInfo, error) { return m.info, nil }
func (m *memoryFile) Close() error               { return nil }
