// Package restore owns how a database is filled from a base: definitions, rows, keys, sequences and statistics.
//
// With package claim, which owns whose the database is, it implements recovery.Database. It refuses a base of another
// encoding, rows that do not fit their table, and to call a base restored when a step of it failed. What a database can be
// without is a warning by name.
//
// Invariants: definitions run in the base's order, except that keys of different tables are built beside each other; rows
// come when nothing acts on them yet; what is done once is never done again. How rows are cut into steps hangs on the base
// alone, so that every call finds the marks of the calls before it.
//
// A Database may be shared; one call of Restore at a time goes on with a try. Memory is bounded: each job has at most one
// chunk that is loaded and one that is fetched meanwhile.
package restore

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/postgres/capture"
	"tidemark/shared/postgres/restore/claim"
	"tidemark/shared/recovery"
)

// Options configures a Database.
type Options struct {
	LedgerSchema string // "" means tidemark
	// ConnectTimeout bounds the making of a connection; 0 means 10 s.
	ConnectTimeout time.Duration
	// LockTimeout is how long another process with the same database is waited for; 0 means 10 s.
	LockTimeout time.Duration
	// IndexMemory is what the server may use for each index that is built, in bytes; 0 means 256 MiB. A server that is set to
	// more keeps that.
	IndexMemory int64
	// LedgerFrom and LedgerTo are the versions of the ledger that this release works with; 0 means any.
	LedgerFrom, LedgerTo int64
	// Reached is called, by tests, before and after every commit.
	Reached func(ctx context.Context, at claim.Moment) error
}

func (o Options) withDefaults() Options {
	if o.LedgerSchema == "" {
		o.LedgerSchema = "tidemark"
	}
	if o.LedgerTo == 0 {
		o.LedgerTo = math.MaxInt64
	}
	if o.IndexMemory == 0 {
		o.IndexMemory = 256 << 20
	}
	return o
}

// Database is a database that is recovered into.
type Database struct {
	*claim.Database

	ledger   string // the name of the ledger's schema
	from, to int64  // its versions
	settings string // of every step
	// whole is the size in plain bytes up to which a table is loaded in one transaction. It is one number for all calls of a try.
	whole int64
}

// New returns the database at an address. It connects when it is called, and leaves address as it is.
func New(address *pgx.ConnConfig, options Options) *Database {
	options = options.withDefaults()
	memory := options.IndexMemory
	return &Database{
		Database: claim.New(address, claim.Options{
			LedgerSchema: options.LedgerSchema, ConnectTimeout: options.ConnectTimeout, LockTimeout: options.LockTimeout,
			Reached: options.Reached,
		}),
		ledger: options.LedgerSchema, from: options.LedgerFrom, to: options.LedgerTo, whole: wholeTable,
		settings: capture.Session + "; SET LOCAL jit = off; SELECT set_config('maintenance_work_mem', '" +
			strconv.FormatInt(memory>>10, 10) + "kB', true) WHERE pg_size_bytes(current_setting('maintenance_work_mem')) < " +
			strconv.FormatInt(memory, 10),
	}
}

// Restore brings the base in, each step once, and goes on where an earlier call stopped: what rows need, rows, keys,
// references, the rest, sequences, statistics. What a database can be without, and what cannot be made here (rights of a
// role that does not exist, a materialized view whose query fails) is a warning by name and tried again by the next call.
//
// Errors: fault.Fenced and recovery.ErrNotEmpty for another try's database; fault.Misconfigured for a base that cannot be
// restored here, with the definition's kind and name; fault.Corrupt for rows that do not fit their table; fault.Retryable and
// fault.UnknownOutcome when the same call may go on; those of Fetch.
func (d *Database) Restore(ctx context.Context, b recovery.Base) (recovery.Restored, error) {
	r := newRestoring(d, b)
	err := r.run(ctx)
	if err != nil {
		err = fmt.Errorf("restore the base: %w", err)
	}
	return r.restored(), err
}

var _ recovery.Database = (*Database)(nil)
