package copies

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
	"golang.org/x/sync/errgroup"

	"tidemark/shared/position"
	"tidemark/shared/postgres/ledger"
	"tidemark/shared/postgres/migrations"
	"tidemark/tests/bench/result"
)

const target position.TargetID = "bench"

const schema = "tidemark"

// database is a live target with tables of all kinds.
type database struct {
	server string // the address of its server
	name   string
	url    string
	tables []table // the largest first
	bytes  int64   // of all tables in COPY's binary form
}

// table is a table and what COPY says of it.
type table struct {
	kind

	rows, bytes int64
}

// open makes a database of about so many bytes. The caller drops it.
func open(ctx context.Context, server string, seed uint64, size int) (_ *database, err error) {
	d := &database{server: server, name: "bench_" + strings.ToLower(rand.Text())}
	if err := d.onServer(ctx, "CREATE DATABASE "+d.name+" TEMPLATE template0"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.drop(ctx))
		}
	}()
	address, err := url.Parse(server)
	if err != nil {
		return nil, errors.New("the server's address is no URL")
	}
	address.Path = "/" + d.name
	d.url = address.String()
	return d, d.with(ctx, func(conn *pgx.Conn) error { return d.fill(ctx, conn, seed, size) })
}

// drop takes the database away, also when ctx has ended.
func (d *database) drop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	return d.onServer(ctx, "DROP DATABASE IF EXISTS "+d.name+" WITH (FORCE)")
}

func (d *database) onServer(ctx context.Context, statement string) error {
	return using(ctx, d.server, func(conn *pgx.Conn) error { return execute(ctx, conn, statement) })
}

func (d *database) with(ctx context.Context, do func(*pgx.Conn) error) error {
	return using(ctx, d.url, do)
}

// using does something with a connection of its own.
func using(ctx context.Context, address string, do func(*pgx.Conn) error) (err error) {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	return do(conn)
}

func execute(ctx context.Context, conn *pgx.Conn, statement string) error {
	if _, err := conn.PgConn().Exec(ctx, statement).ReadAll(); err != nil {
		return fmt.Errorf("%.80s: %w", statement, err)
	}
	return nil
}

// fill makes ledger, tables and rows, and has the server do what it does once after so many.
func (d *database) fill(ctx context.Context, conn *pgx.Conn, seed uint64, size int) error {
	if _, err := migrations.Up(ctx, conn.Config(), schema); err != nil {
		return err
	}
	if _, _, err := ledger.NewOperator(conn, schema, "bench").Init(ctx, target); err != nil {
		return err
	}
	for i, k := range kinds() {
		if err := execute(ctx, conn, "CREATE TABLE "+k.name+" ("+k.columns+")"); err != nil {
			return err
		}
		lines := newRows(k, seed+uint64(i), int64(k.share*float64(size))/int64(k.rowBytes)+1)
		if _, err := conn.PgConn().CopyFrom(ctx, lines, "COPY "+k.name+" FROM STDIN"); err != nil {
			return fmt.Errorf("fill %s: %w", k.name, err)
		}
		d.tables = append(d.tables, table{kind: k, rows: lines.next})
	}
	for _, statement := range []string{"VACUUM (FREEZE, ANALYZE)", "CHECKPOINT"} {
		if err := execute(ctx, conn, statement); err != nil {
			return err
		}
	}
	for i := range d.tables {
		t := &d.tables[i]
		var err error
		if t.bytes, err = t.copy(ctx, conn); err != nil {
			return err
		}
		d.bytes += t.bytes
	}
	slices.SortFunc(d.tables, func(a, b table) int { return cmp.Compare(b.bytes, a.bytes) })
	return nil
}

// copy reads a table to nowhere and counts its bytes.
func (t table) copy(ctx context.Context, conn *pgx.Conn) (int64, error) {
	var to nowhere
	tag, err := conn.PgConn().CopyTo(ctx, &to, "COPY "+t.name+" TO STDOUT (FORMAT binary)")
	if err == nil && tag.RowsAffected() != t.rows {
		err = fmt.Errorf("%d rows, want %d", tag.RowsAffected(), t.rows)
	}
	if err != nil {
		return 0, fmt.Errorf("copy %s: %w", t.name, err)
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

// copyAll reads all tables to nowhere over n connections, the largest first: what the server can do at best.
func (d *database) copyAll(ctx context.Context, n int) error {
	queue := make(chan table, len(d.tables))
	for _, t := range d.tables {
		queue <- t
	}
	close(queue)
	group, ctx := errgroup.WithContext(ctx)
	for range n {
		group.Go(func() error {
			return d.with(ctx, func(conn *pgx.Conn) error {
				for t := range queue {
					if _, err := t.copy(ctx, conn); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
	return group.Wait()
}

func (d *database) describe() []result.BackupTable {
	described := make([]result.BackupTable, 0, len(d.tables))
	for _, t := range d.tables {
		described = append(described, result.BackupTable{
			Name: t.name, Columns: t.columns, About: t.about, Rows: int(t.rows), MB: megabytes(t.bytes),
		})
	}
	return described
}
