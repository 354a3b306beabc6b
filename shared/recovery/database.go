package recovery

import (
	"context"
	"errors"

	"tidemark/shared/apply"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/position"
)

// Database is the database that is recovered into.
type Database interface {
	// Look says what is there: nothing, an earlier try of a recovery, or something else, which is ErrNotEmpty.
	Look(ctx context.Context) (Found, error)
	// Claim is the first act, in one transaction: the ledger's schema and a target in state restoring, in its next life. From
	// then on a function that still applies to this database is refused. ErrNotEmpty unless the database is empty.
	Claim(ctx context.Context, t Try) error
	// Restore brings the base in and goes on where an earlier call stopped. Restored checkpoints have the new incarnation, and
	// those of Try.Starts stand where it says, once: replay has not begun then.
	Restore(ctx context.Context, b Base) (Restored, error)
	// Settle sets the sequences anew, to what the tables have, and makes the target live, or held with the ranges of Try.Held,
	// with an audit row. Called again it changes nothing.
	Settle(ctx context.Context, s Settlement) error
}

// Checkpoints are where the restored database stands in the log.
type Checkpoints interface {
	// Positions are where the flow's partitions stand now: replay's progress. A partition that is not there stands at 0. Asked
	// only when the base is in.
	Positions(ctx context.Context, flow string) (position.Cut, error)
	// Pass gives each gap a row among the ledger's gaps and moves the flow's checkpoint to the gap's end, all in one transaction:
	// everything below the gap is in, or is the mark of a transaction. A checkpoint that is missing stands at 0 and is made; none
	// moves back. Called again it changes nothing. One without a How gets no row: the base has what lies in it.
	Pass(ctx context.Context, t Try, gaps []body.Gap) error
}

// ErrNotEmpty says that the database holds something that this recovery did not put there.
var ErrNotEmpty = errors.New("the database is not empty")

// Found is what a database holds before a recovery.
type Found struct {
	Try      *Try // an earlier try that has not ended; nil: none
	Restored bool // the base is in, as far as that try says
	Settled  bool // the target is live, or held, by that try
	// State is the target's as it is now, when it is settled: what a try left held may have been resumed since.
	State apply.State
}

// Base is what is restored.
type Base struct {
	Body body.Body
	// Fetch gives the plain bytes of an object after every check.
	Fetch      func(ctx context.Context, object manifest.Object) ([]byte, error)
	Try        Try
	Jobs       int
	OnProgress func(done, of int64) // of plain bytes; called from several goroutines, one at a time
}

// Restored says what a restore did.
type Restored struct {
	Rows, Bytes int64 // that this call loaded
	Warnings    []string
}

// Settlement is how a recovery ends.
type Settlement struct {
	Try    Try
	State  apply.State // live or held
	Report any         // for the audit row, as JSON
}
