// Package original owns what the benchmark backs up and recovers: databases of their own on a server that the caller
// names, filled with tables of several kinds, and archives in folders of the disk that temporary files are on.
//
// A backup is what the operator's command makes, put together by package wiring. It measures nothing and judges nothing.
package original

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/position"
	"tidemark/shared/postgres/ledger"
	"tidemark/shared/postgres/migrations"
	"tidemark/tests/bench/result"
)

// Target is the target of every database, and Schema that of its ledger.
const (
	Target = position.TargetID("bench")
	Schema = "tidemark"
)

// Database is a database of its own.
type Database struct {
	URL    string
	Tables []Table // the largest first
	Bytes  int64   // of all tables in COPY's binary form

	server string // the address of its server
	name   string
}

// Table is a table and what COPY says of it.
type Table struct {
	Name, Columns, About string
	Rows, Bytes          int64
}

// New makes an empty database. The caller drops it.
func New(ctx context.Context, server string) (*Database, error) {
	d := &Database{server: server, name: "bench_" + strings.ToLower(rand.Text())}
	address, err := url.Parse(server)
	if err != nil {
		return nil, errors.New("the server's address is no URL")
	}
	address.Path = "/" + d.name
	d.URL = address.String()
	return d, d.onServer(ctx, "CREATE DATABASE "+d.name+" TEMPLATE template0")
}

// Open makes a live target of about so many bytes. The caller drops it.
func Open(ctx context.Context, server string, seed uint64, size int) (*Database, error) {
	return fill(ctx, server, func(d *Database, conn *pgx.Conn) error { return d.fill(ctx, conn, seed, size) })
}

// Live makes a live target of what statements say. The caller drops it.
func Live(ctx context.Context, server, statements string) (*Database, error) {
	return fill(ctx, server, func(_ *Database, conn *pgx.Conn) error { return Execute(ctx, conn, statements) })
}

// fill makes a database with a ledger, and fills it.
func fill(ctx context.Context, server string, do func(*Database, *pgx.Conn) error) (*Database, error) {
	d, err := New(ctx, server)
	if err != nil {
		return nil, err
	}
	err = d.With(ctx, func(conn *pgx.Conn) error {
		if _, err := migrations.Up(ctx, conn.Config(), Schema); err != nil {
			return err
		}
		if _, _, err := ledger.NewOperator(conn, Schema, "bench").Init(ctx, Target); err != nil {
			return err
		}
		return do(d, conn)
	})
	if err != nil {
		return nil, errors.Join(err, d.Drop(ctx))
	}
	return d, nil
}

// Drop takes the database away, also when ctx has ended.
func (d *Database) Drop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	return d.onServer(ctx, "DROP DATABASE IF EXISTS "+d.name+" WITH (FORCE)")
}

func (d *Database) onServer(ctx context.Context, statement string) error {
	return using(ctx, d.server, func(conn *pgx.Conn) error { return Execute(ctx, conn, statement) })
}

// With does something with a connection of its own.
func (d *Database) With(ctx context.Context, do func(*pgx.Conn) error) error {
	return using(ctx, d.URL, do)
}

func using(ctx context.Context, address string, do func(*pgx.Conn) error) (err error) {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	return do(conn)
}

// Execute runs statements, whatever they return.
func Execute(ctx context.Context, conn *pgx.Conn, statements string) error {
	if _, err := conn.PgConn().Exec(ctx, statements).ReadAll(); err != nil {
		return fmt.Errorf("%.80s: %w", statements, err)
	}
	return nil
}

// fill makes tables and rows, and has the server do what it does once after so many.
func (d *Database) fill(ctx context.Context, conn *pgx.Conn, seed uint64, size int) error {
	for i, k := range kinds() {
		if err := Execute(ctx, conn, "CREATE TABLE "+k.name+" ("+k.columns+")"); err != nil {
			return err
		}
		lines := newRows(k, seed+uint64(i), int64(k.share*float64(size))/int64(k.rowBytes)+1)
		if _, err := conn.PgConn().CopyFrom(ctx, lines, "COPY "+k.name+" FROM STDIN"); err != nil {
			return fmt.Errorf("fill %s: %w", k.name, err)
		}
		d.Tables = append(d.Tables, Table{Name: k.name, Columns: k.columns, About: k.about, Rows: lines.next})
	}
	for _, statement := range []string{"VACUUM (FREEZE, ANALYZE)", "CHECKPOINT"} {
		if err := Execute(ctx, conn, statement); err != nil {
			return err
		}
	}
	for i := range d.Tables {
		t := &d.Tables[i]
		var err error
		if t.Bytes, err = t.Copy(ctx, conn); err != nil {
			return err
		}
		d.Bytes += t.Bytes
	}
	slices.SortFunc(d.Tables, func(a, b Table) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return nil
}

// Copy reads the table to nowhere and counts its bytes.
func (t Table) Copy(ctx context.Context, conn *pgx.Conn) (int64, error) {
	var to nowhere
	tag, err := conn.PgConn().CopyTo(ctx, &to, "COPY "+t.Name+" TO STDOUT (FORMAT binary)")
	if err == nil && tag.RowsAffected() != t.Rows {
		err = fmt.Errorf("%d rows, want %d", tag.RowsAffected(), t.Rows)
	}
	if err != nil {
		return 0, fmt.Errorf("copy %s: %w", t.Name, err)
	}
	return int64(to), nil
}

// nowhere counts what it forgets.
type nowhere int64

// Write forgets.
func (n *nowhere) Write(data []byte) (int, error) {
	*n += nowhere(len(data))
	return len(data), nil
}

// Describe says what the tables are.
func (d *Database) Describe() []result.BackupTable {
	described := make([]result.BackupTable, 0, len(d.Tables))
	for _, t := range d.Tables {
		described = append(described, result.BackupTable{
			Name: t.Name, Columns: t.Columns, About: t.About, Rows: int(t.Rows), MB: result.Round(float64(t.Bytes) / 1e6),
		})
	}
	return described
}
