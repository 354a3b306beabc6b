// Package digest owns how the tables of a database are counted in one state, together with the state of the log that they
// correspond to: what a rehearsal compares.
//
// Rows come in COPY's binary form, in any order, and only their digests stay. All tables and the ledger's cut are read in one
// snapshot, REPEATABLE READ READ ONLY, after every table was locked: a TRUNCATE is taken for an empty table by older snapshots.
// Several sessions may share it. The package refuses rows that a policy hides, and writes nothing. Tables of the ledger are not
// for it: two databases never agree on them, but on the cut. It shares nothing with what backs up or restores.
//
// One row is in memory as a whole for each session, as the driver gives it; nothing else grows with the rows. A Database may be
// shared.
package digest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sync/errgroup"

	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres"
	"tidemark/shared/verify/census"
)

// Options configures a Database.
type Options struct {
	LedgerSchema   string        // "" means tidemark
	ConnectTimeout time.Duration // 0 means 10 s
	LockTimeout    time.Duration // 0 means 5 s
	Jobs           int           // sessions side by side; 0 means 1
}

func (o Options) withDefaults() Options {
	if o.LedgerSchema == "" {
		o.LedgerSchema = "tidemark"
	}
	if o.ConnectTimeout == 0 {
		o.ConnectTimeout = 10 * time.Second
	}
	if o.LockTimeout == 0 {
		o.LockTimeout = 5 * time.Second
	}
	o.Jobs = max(o.Jobs, 1)
	return o
}

// Database is a database that is counted.
type Database struct {
	address *pgx.ConnConfig
	options Options
}

// New returns the database at an address. It connects when it is asked, and leaves address as it is.
func New(address *pgx.ConnConfig, options Options) *Database {
	return &Database{address: address.Copy(), options: options.withDefaults()}
}

// State is what one snapshot shows.
type State struct {
	Tables census.Tables // of those asked for that the database has with all their columns
	// Cut is the positions of the ledger's checkpoints; without a ledger there are none.
	Cut   body.Cut
	Taken time.Time // by the database's clock, UTC
}

// Read digests tables as a body describes them, but those of the ledger. One that the database does not have, or has without
// one of the columns, is not in the state.
//
// Errors: fault.Misconfigured for rights that are missing and hidden rows; fault.Retryable when a lock was not to be had or the
// session ended.
func (d *Database) Read(ctx context.Context, tables []body.Table) (state State, err error) {
	leader, err := d.connect(ctx)
	if err != nil {
		return state, err
	}
	defer func() { leave(ctx, leader) }()
	there, err := d.existing(ctx, leader, tables)
	if err != nil {
		return state, fmt.Errorf("look for the tables: %w", postgres.Classify(err))
	}
	if err := d.begin(ctx, leader, there); err != nil {
		return state, fmt.Errorf("take a snapshot: %w", postgres.Classify(err))
	}
	if state, err = d.facts(ctx, leader); err != nil {
		return state, fmt.Errorf("read the cut: %w", postgres.Classify(err))
	}
	state.Tables, err = d.share(ctx, leader, there)
	return state, err
}

func (d *Database) connect(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.options.ConnectTimeout)
	defer cancel()
	own := d.address.Copy()
	own.RuntimeParams["client_encoding"] = "UTF8"
	if own.RuntimeParams["application_name"] == "" {
		own.RuntimeParams["application_name"] = "tidemark verify"
	}
	conn, err := postgres.Connect(ctx, own)
	if err != nil {
		return nil, fmt.Errorf("connect to the database: %w", postgres.Classify(err))
	}
	return conn, nil
}

// leave ends a session that only read.
func leave(ctx context.Context, conn *pgx.Conn) {
	const farewell = 5 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	_ = conn.Close(ctx)
}

// existing are the tables that are there with all their columns, but those of the ledger.
func (d *Database) existing(ctx context.Context, conn *pgx.Conn, tables []body.Table) (there []body.Table, err error) {
	rows, err := conn.Query(ctx, `SELECT n.nspname, c.relname, a.attname
		FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
		LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		WHERE c.relkind = 'r' AND c.oid >= 16384`)
	if err != nil {
		return nil, err
	}
	columns := map[body.Name]map[string]bool{}
	var name body.Name
	var column *string
	_, err = pgx.ForEachRow(rows, []any{&name.Schema, &name.Name, &column}, func() error {
		if columns[name] == nil {
			columns[name] = map[string]bool{}
		}
		if column != nil {
			columns[name][*column] = true
		}
		return nil
	})
	for _, t := range tables {
		has, whole := columns[t.Name]
		for _, c := range t.Columns {
			whole = whole && has[c.Name]
		}
		if whole && t.Schema != d.options.LedgerSchema {
			there = append(there, t)
		}
	}
	return there, err
}

// settings wait as long as it takes for anything but a lock, and make rows that a policy hides an error.
const settings = `SET LOCAL row_security = off; SET LOCAL search_path = pg_catalog; SET LOCAL synchronize_seqscans = off; SET LOCAL lock_timeout = `

// lockedAtOnce is how many tables one statement locks.
const lockedAtOnce = 500

// begin locks the tables before anything takes the snapshot.
func (d *Database) begin(ctx context.Context, conn *pgx.Conn, tables []body.Table) error {
	if err := d.open(ctx, conn); err != nil {
		return err
	}
	for from := 0; from < len(tables); from += lockedAtOnce {
		var names []string
		for _, t := range tables[from:min(from+lockedAtOnce, len(tables))] {
			names = append(names, "ONLY "+postgres.QuoteTable(t.Schema, t.Name.Name))
		}
		if _, err := conn.PgConn().Exec(ctx, "LOCK TABLE "+strings.Join(names, ", ")+" IN ACCESS SHARE MODE").ReadAll(); err != nil {
			return err
		}
	}
	return nil
}

func (d *Database) open(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.PgConn().Exec(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; "+postgres.Unlimited(conn.PgConn())+"; "+settings+
		strconv.FormatInt(max(1, d.options.LockTimeout.Milliseconds()), 10)).ReadAll()
	return err
}

// facts takes the snapshot: the cut, where there is a ledger, and the time.
func (d *Database) facts(ctx context.Context, conn *pgx.Conn) (state State, err error) {
	checkpoint := postgres.QuoteTable(d.options.LedgerSchema, "checkpoint")
	var isThere bool
	if err := conn.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL, statement_timestamp()", checkpoint).Scan(&isThere, &state.Taken); err != nil {
		return state, err
	}
	state.Taken = state.Taken.UTC()
	if !isThere {
		return state, nil
	}
	rows, err := conn.Query(ctx, "SELECT flow, topic, partition, next_offset, generation, coalesce(topic_id::text, '') FROM "+checkpoint)
	if err != nil {
		return state, err
	}
	state.Cut, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (p body.Partition, err error) {
		err = row.Scan(&p.Flow, &p.Topic, &p.Partition, &p.NextOffset, &p.Generation, &p.TopicID)
		return p, err
	})
	state.Cut.Sort()
	return state, err
}

// share digests the tables in several sessions, the largest rows of work left to whoever is free.
func (d *Database) share(ctx context.Context, leader *pgx.Conn, tables []body.Table) (census.Tables, error) {
	jobs := min(d.options.Jobs, max(len(tables), 1))
	snapshot := ""
	if jobs > 1 {
		if err := leader.QueryRow(ctx, "SELECT pg_export_snapshot()").Scan(&snapshot); err != nil {
			return nil, fmt.Errorf("export the snapshot: %w", postgres.Classify(err))
		}
	}
	queue, digests := make(chan int), make([]census.Digest, len(tables))
	group, inner := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(queue)
		for i := range tables {
			select {
			case queue <- i:
			case <-inner.Done():
				return context.Cause(inner)
			}
		}
		return nil
	})
	for job := range jobs {
		group.Go(func() error {
			if job == 0 {
				return readAll(inner, leader, tables, queue, digests)
			}
			return d.follow(inner, snapshot, tables, queue, digests)
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	all := census.Tables{}
	for i, t := range tables {
		all[t.Name] = digests[i]
	}
	return all, nil
}

// follow reads in one more session. The leader's locks hold until all are done.
func (d *Database) follow(ctx context.Context, snapshot string, tables []body.Table, queue <-chan int, digests []census.Digest) error {
	conn, err := d.connect(ctx)
	if err != nil {
		return err
	}
	defer func() { leave(ctx, conn) }()
	if err = d.open(ctx, conn); err == nil {
		_, err = conn.PgConn().Exec(ctx, "SET TRANSACTION SNAPSHOT '"+snapshot+"'").ReadAll()
	}
	if err != nil {
		return fmt.Errorf("join the snapshot: %w", postgres.Classify(err))
	}
	return readAll(ctx, conn, tables, queue, digests)
}

func readAll(ctx context.Context, conn *pgx.Conn, tables []body.Table, queue <-chan int, digests []census.Digest) (err error) {
	for i := range queue {
		if digests[i], err = read(ctx, conn, tables[i]); err != nil {
			return fmt.Errorf("read table %s: %w", tables[i].Name, err)
		}
	}
	return nil
}

// read digests one table. Columns are named in the body's order: it is part of what is hashed.
func read(ctx context.Context, conn *pgx.Conn, t body.Table) (census.Digest, error) {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = postgres.QuoteName(c.Name)
	}
	query := "COPY (SELECT " + strings.Join(names, ", ") + " FROM ONLY " + postgres.QuoteTable(t.Schema, t.Name.Name) +
		") TO STDOUT (FORMAT binary)"
	tally := census.NewTally(t.Columns)
	tag, err := conn.PgConn().CopyTo(ctx, tally, query)
	if err != nil {
		if _, server := errors.AsType[*pgconn.PgError](err); server || fault.ClassOf(err) == fault.Unclassified {
			err = postgres.Classify(err)
		}
		return census.Digest{}, err
	}
	digest, err := tally.Digest()
	if err == nil && digest.Rows != tag.RowsAffected() {
		err = fault.New(fault.Corrupt, "%d rows came, and the server sent %d", digest.Rows, tag.RowsAffected())
	}
	return digest, err
}
