// Package claim owns how a database belongs to one try of a recovery: from the empty database that is claimed to the act that
// makes the target live.
//
// It refuses a database that holds anything else, and another try's. What a try has done it keeps in a schema of its own
// beside the ledger's, which the settling act drops; it does not know what the steps do.
//
// Invariants: from the claim on until the settling act, the ledger's target never shows another state than restoring, in its
// next life. Every step commits together with its mark, and the mark is written first: a step is done once, whoever comes
// second waits for it and goes on behind it, also when the first is the session of a process that was killed. Commits of
// steps need not reach the disk at once, because a lost one loses its mark too; those of the claim, of the hold and of the
// settling act do.
//
// A Database may be shared; a Session belongs to one goroutine.
package claim

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/postgres"
)

// Options configures a Database. LedgerSchema is required.
type Options struct {
	LedgerSchema string
	// ConnectTimeout bounds the making of a connection; 0 means 10 s.
	ConnectTimeout time.Duration
	// LockTimeout is how long another process with the same database is waited for; 0 means 10 s. A killed one's sessions end
	// within that time.
	LockTimeout time.Duration
	// Reached is called, by tests, before and after every commit. An error stands for a reply that was lost.
	Reached func(ctx context.Context, at Moment) error
}

// Moment is before or after a commit.
type Moment struct {
	Step      string
	PID       uint32 // of the server's process
	Committed bool
}

func (o Options) withDefaults() Options {
	if o.ConnectTimeout == 0 {
		o.ConnectTimeout = 10 * time.Second
	}
	if o.LockTimeout == 0 {
		o.LockTimeout = 10 * time.Second
	}
	if o.Reached == nil {
		o.Reached = func(context.Context, Moment) error { return nil }
	}
	return o
}

// Database is a database that is, or will be, a try's.
type Database struct {
	address *pgx.ConnConfig
	options Options
	ledger  string // the ledger's schema, quoted
	schema  string // that keeps the try
}

// New returns the database at an address. It connects when it is called, and leaves address as it is.
func New(address *pgx.ConnConfig, options Options) *Database {
	return &Database{
		address: address.Copy(), options: options.withDefaults(), ledger: postgres.QuoteName(options.LedgerSchema),
		schema: schemaFor(options.LedgerSchema),
	}
}

// schemaFor is the name of the schema that keeps the try. A name has 63 bytes at most.
func schemaFor(ledger string) string {
	const ending, longest = "_recovery", 63
	return ledger[:min(len(ledger), longest-len(ending))] + ending
}

// Schema is the name of the schema that keeps the try.
func (d *Database) Schema() string { return d.schema }

// table is the quoted name of a table there.
func (d *Database) table(name string) string { return postgres.QuoteTable(d.schema, name) }
