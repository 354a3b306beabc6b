// Package snapshot owns how one state of the target is held still and read: locks before the snapshot, the cut and the
// schema in it, and readers that see it from sessions of their own.
//
// It implements backup.Source. It refuses what would be read as less than it is: a table that changed its identity on the
// way, rows that a policy hides, a table without the right to read it. It writes nothing and decides nothing about chunks.
//
// Invariants: nothing but SET and LOCK comes before the snapshot, so that no TRUNCATE is taken for an empty table; every
// table that is read was locked under the number that the snapshot has for it, by its reader too; texts of keys hang on no
// setting of the role or the database. All that is read is in UTF-8, whatever the database's encoding.
//
// A Source may be shared. A snapshot may be: its readers are opened by any goroutine and belong to one each.
package snapshot

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/backup"
	"tidemark/shared/fault"
)

// Options configures a Source.
type Options struct {
	LedgerSchema string // "" means tidemark
	// LockTimeout is how long a table's lock is waited for; 0 means 5 s. Whoever changes the table meanwhile waits behind.
	LockTimeout time.Duration
	// Tries is how often a snapshot is begun when the tables change under way; 0 means 5.
	Tries int
	// ConnectTimeout bounds the making of a connection; 0 means 10 s.
	ConnectTimeout time.Duration
}

func (o Options) withDefaults() Options {
	if o.LedgerSchema == "" {
		o.LedgerSchema = "tidemark"
	}
	if o.LockTimeout == 0 {
		o.LockTimeout = 5 * time.Second
	}
	if o.Tries == 0 {
		o.Tries = 5
	}
	if o.ConnectTimeout == 0 {
		o.ConnectTimeout = 10 * time.Second
	}
	return o
}

// Source is a database that snapshots are taken of.
type Source struct {
	address *pgx.ConnConfig
	options Options
}

// New returns the source at an address. It connects when a snapshot is taken, and leaves address as it is.
func New(address *pgx.ConnConfig, options Options) *Source {
	return &Source{address: address.Copy(), options: options.withDefaults()}
}

// Snapshot locks every table for reading, shows one state of the database and reads everything but rows in it.
// Errors: fault.Misconfigured for rights that are missing, hidden rows and a database without a ledger; fault.Retryable
// when tables keep changing or their locks are not to be had.
func (s *Source) Snapshot(ctx context.Context) (backup.Snapshot, error) {
	conn, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	v, err := s.take(ctx, conn)
	if err != nil {
		giveUp(ctx, conn)
		return nil, fmt.Errorf("take a snapshot: %w", err)
	}
	return v, nil
}

// take begins again when the tables changed between the list and the snapshot.
func (s *Source) take(ctx context.Context, conn *pgx.Conn) (*view, error) {
	for try := 1; ; try++ {
		v, err := s.try(ctx, conn)
		switch {
		case err == nil || !isChange(err):
			return v, err
		case try == s.options.Tries:
			return nil, fault.New(fault.Retryable, "the tables changed, or were locked, in each of %d tries: %w", try, err).
				WithHint("another session changes the schema: let it end, then back up again")
		}
	}
}

func (s *Source) try(ctx context.Context, conn *pgx.Conn) (_ *view, err error) {
	before, err := s.listed(ctx, conn)
	if err != nil {
		return nil, err
	}
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, classify(err)
	}
	defer func() {
		if err != nil {
			_ = tx.Rollback(ctx) // the error before it is the one that counts; a broken session is given up by the caller
		}
	}()
	if err := s.set(ctx, conn); err != nil {
		return nil, err
	}
	if err := lock(ctx, conn.PgConn(), before); err != nil {
		return nil, err
	}
	// From here on: the first query is what takes the snapshot.
	facts, err := readFacts(ctx, tx, s.options.LedgerSchema)
	if err != nil {
		return nil, err
	}
	after, err := list(ctx, tx)
	if err != nil {
		return nil, err
	}
	if err := after.sameAs(before); err != nil {
		return nil, err
	}
	v := &view{source: s, exporter: &exporter{conn: conn, tx: tx}, tables: after}
	return v, v.read(ctx, tx, facts)
}

var _ backup.Source = (*Source)(nil)
