package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/localstack/services"
	"tidemark/shared/apply"
	"tidemark/shared/format/debezium"
	"tidemark/shared/position"
	"tidemark/shared/postgres/ledger"
	"tidemark/shared/postgres/migrations"
	"tidemark/shared/postgres/target"
	"tidemark/tests/bench/load"
	"tidemark/tests/bench/meter"
)

// bed is the database that everything is measured on: a durable server of its own, the table and a live ledger.
type bed struct {
	url        string
	server     *services.Postgres // nil when it is somebody else's
	conn       *pgx.Conn          // for what is not apply: COPY, resets, checks
	postmaster int                // its process, 0 where processes cannot be looked into
}

const (
	flow                         = "bench"
	targetID   position.TargetID = "bench"
	schema                       = "tidemark"
	checkpoint                   = "CREATE TABLE bare_checkpoint (id int PRIMARY KEY, next_offset bigint); " +
		"INSERT INTO bare_checkpoint VALUES (1, 0)"
)

// openBed starts a server and makes a bed on it.
func openBed(ctx context.Context) (*bed, error) {
	server, err := services.StartPostgres(ctx, services.PostgresOptions{Durable: true})
	if err != nil {
		return nil, err
	}
	b, err := newBed(ctx, server.URL())
	if err != nil {
		return nil, errors.Join(err, server.Stop())
	}
	b.server = server
	return b, nil
}

// newBed makes a bed in an empty database.
func newBed(ctx context.Context, url string) (_ *bed, err error) {
	b := &bed{url: url}
	defer func() {
		if err != nil {
			err = b.close(ctx, err)
		}
	}()
	if b.conn, err = pgx.Connect(ctx, url); err != nil {
		return nil, err
	}
	if _, err := migrations.Up(ctx, b.conn.Config(), schema); err != nil {
		return nil, err
	}
	if _, _, err := ledger.NewOperator(b.conn, schema, "bench").Init(ctx, targetID); err != nil {
		return nil, err
	}
	if err := b.exec(ctx, load.DDL+"; "+checkpoint); err != nil {
		return nil, err
	}
	return b, b.findPostmaster(ctx)
}

// findPostmaster asks for the parent of this session's process.
func (b *bed) findPostmaster(ctx context.Context) error {
	if !meter.HasProc() {
		return nil
	}
	var session int
	if err := b.conn.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&session); err != nil {
		return err
	}
	var err error
	b.postmaster, err = meter.Parent(session)
	return err
}

func (b *bed) version(ctx context.Context) (string, error) {
	var version string
	err := b.conn.QueryRow(ctx, "SHOW server_version").Scan(&version)
	version, _, _ = strings.Cut(version, " ")
	return version, err
}

func (b *bed) exec(ctx context.Context, sql string) error {
	if _, err := b.conn.PgConn().Exec(ctx, sql).ReadAll(); err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}

// reset empties the table, forgets what was applied and has the server write out what it holds.
func (b *bed) reset(ctx context.Context) error {
	for _, sql := range []string{"TRUNCATE t", "TRUNCATE " + schema + ".checkpoint", "CHECKPOINT"} {
		if err := b.exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// check compares the table's load.Totals.
func (b *bed) check(ctx context.Context, want load.Totals) error {
	var got load.Totals
	err := b.conn.QueryRow(ctx, "SELECT count(*), coalesce(sum(id), 0)::bigint, coalesce(sum(n), 0)::bigint FROM t").
		Scan(&got.Rows, &got.IDs, &got.Ns)
	if err == nil && got != want {
		err = fmt.Errorf("the table holds %+v, want %+v", got, want)
	}
	return err
}

// close stops the server, and joins what goes wrong to err.
func (b *bed) close(ctx context.Context, err error) error {
	if b.conn != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		err = errors.Join(err, b.conn.Close(ctx))
	}
	if b.server != nil {
		err = errors.Join(err, b.server.Stop())
	}
	return err
}

// openTarget returns the target at an address. The caller closes it.
func openTarget(url string) (*target.Target, error) {
	return target.New(target.Options{Database: url, Flow: flow, Now: time.Now})
}

// newApplier returns apply on a target.
func newApplier(on apply.Target) (*apply.Applier, error) {
	decoder, err := debezium.New(on, debezium.Options{})
	if err != nil {
		return nil, err
	}
	return apply.New(on, decoder, apply.Options{
		Flow: flow, TargetID: targetID, Topics: []string{load.Topic}, Now: time.Now,
	})
}
