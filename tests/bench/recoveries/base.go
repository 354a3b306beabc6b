package recoveries

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"tidemark/tests/bench/meter"
	"tidemark/tests/bench/original"
)

// base is a database with tables, its backup, and the same rows as the bare side takes them: a file for each table.
type base struct {
	original *original.Database
	store    *original.Store
	folder   string
}

// newBase makes and backs up a database of about so many bytes. The caller removes it.
func (o Options) newBase(ctx context.Context, size int) (_ *base, err error) {
	b := &base{}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.remove(ctx))
		}
	}()
	if b.original, err = original.Open(ctx, o.URL, o.Seed, size); err != nil {
		return nil, err
	}
	if b.store, err = original.NewStore(); err != nil {
		return nil, err
	}
	if err := b.store.Save(ctx, b.original.URL, len(jobs())); err != nil {
		return nil, err
	}
	if b.folder, err = os.MkdirTemp("", "tidemark-bench-"); err != nil {
		return nil, err
	}
	return b, b.original.With(ctx, func(conn *pgx.Conn) error {
		for _, t := range b.original.Tables {
			if err := b.keep(ctx, conn, t); err != nil {
				return err
			}
		}
		return nil
	})
}

// keep writes a table's file.
func (b *base) keep(ctx context.Context, conn *pgx.Conn, t original.Table) error {
	file, err := os.Create(b.file(t))
	if err != nil {
		return err
	}
	_, err = conn.PgConn().CopyTo(ctx, file, "COPY "+t.Name+" TO STDOUT (FORMAT binary)")
	return errors.Join(err, file.Close())
}

func (b *base) file(t original.Table) string { return filepath.Join(b.folder, t.Name) }

func (b *base) remove(ctx context.Context) (err error) {
	if b.original != nil {
		err = b.original.Drop(ctx)
	}
	if b.store != nil {
		err = errors.Join(err, b.store.Remove())
	}
	if b.folder != "" {
		err = errors.Join(err, os.RemoveAll(b.folder))
	}
	return err
}

// settings are those of the sessions of the bare side: what a restore has, which cares for a power failure only at its end.
const settings = "SET synchronous_commit = off; SET maintenance_work_mem = '256MB'"

// bare brings all rows into new tables, the largest first, and then builds the keys, each by n connections. Rows come
// frozen, in the transaction that makes the table: the fastest way that PostgreSQL has. The seconds are those of ANALYZE,
// which the sample leaves out.
func (o Options) bare(ctx context.Context, b *base, n int) (_ meter.Sample, analyze float64, err error) {
	into, err := original.New(ctx, o.URL)
	if err != nil {
		return meter.Sample{}, 0, err
	}
	defer func() { err = errors.Join(err, into.Drop(ctx)) }()
	if err := o.checkpoint(ctx, into); err != nil {
		return meter.Sample{}, 0, err
	}
	begun, err := meter.Begin(o.Server)
	if err != nil {
		return meter.Sample{}, 0, err
	}
	for _, work := range []func(context.Context, *pgx.Conn, original.Table) error{b.load, key} {
		if err := eachTable(ctx, into.URL, n, b.original.Tables, work); err != nil {
			return meter.Sample{}, 0, err
		}
	}
	taken, err := begun.End(int(b.original.Bytes))
	if err != nil {
		return taken, 0, err
	}
	began := time.Now()
	if err := into.With(ctx, func(conn *pgx.Conn) error { return original.Execute(ctx, conn, settings+"; ANALYZE") }); err != nil {
		return taken, 0, err
	}
	return taken, time.Since(began).Seconds(), b.check(ctx, into)
}

// checkpoint has the server write out what it holds, so that no round pays for the one before.
func (Options) checkpoint(ctx context.Context, on *original.Database) error {
	return on.With(ctx, func(conn *pgx.Conn) error { return original.Execute(ctx, conn, "CHECKPOINT") })
}

// eachTable does a work for each table over n connections.
func eachTable(
	ctx context.Context, url string, n int, tables []original.Table, work func(context.Context, *pgx.Conn, original.Table) error,
) error {
	queue := make(chan original.Table, len(tables))
	for _, t := range tables {
		queue <- t
	}
	close(queue)
	group, ctx := errgroup.WithContext(ctx)
	for range n {
		group.Go(func() (err error) {
			conn, err := pgx.Connect(ctx, url)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
			if err := original.Execute(ctx, conn, settings); err != nil {
				return err
			}
			for t := range queue {
				if err := work(ctx, conn, t); err != nil {
					return fmt.Errorf("%s: %w", t.Name, err)
				}
			}
			return nil
		})
	}
	return group.Wait()
}

const keyMark = " PRIMARY KEY"

// load makes a table without its key, and loads it.
func (b *base) load(ctx context.Context, conn *pgx.Conn, t original.Table) error {
	columns := strings.Replace(t.Columns, keyMark, " NOT NULL", 1)
	if err := original.Execute(ctx, conn, "BEGIN; CREATE TABLE "+t.Name+" ("+columns+")"); err != nil {
		return err
	}
	file, err := os.Open(b.file(t))
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // read only: nothing is lost
	if _, err := conn.PgConn().CopyFrom(ctx, file, "COPY "+t.Name+" FROM STDIN (FORMAT binary, FREEZE)"); err != nil {
		return err
	}
	return original.Execute(ctx, conn, "COMMIT")
}

func key(ctx context.Context, conn *pgx.Conn, t original.Table) error {
	return original.Execute(ctx, conn, "ALTER TABLE "+t.Name+" ADD PRIMARY KEY (id)")
}

// check holds a copy of the database against it.
func (b *base) check(ctx context.Context, into *original.Database) error {
	return into.With(ctx, func(conn *pgx.Conn) error {
		for _, t := range b.original.Tables {
			var rows int64
			if err := conn.QueryRow(ctx, "SELECT count(*) FROM "+t.Name).Scan(&rows); err != nil {
				return err
			}
			if rows != t.Rows {
				return fmt.Errorf("%s has %d rows, want %d", t.Name, rows, t.Rows)
			}
		}
		return nil
	})
}
