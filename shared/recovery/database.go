package recovery

import (
	"context"
	"errors"
	"time"

	"tidemark/shared/apply"
	"tidemark/shared/archive/layout"
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
	// Restore brings the base in and goes on where an earlier call stopped. Restored checkpoints have the new incarnation.
	//
	// Replay starts where they stand, so before the base counts as restored: every partition of Try.Ends has a checkpoint, at 0
	// where the base has none; and every gap of Try.Accepted, in its order, has a row among the ledger's gaps and has moved the
	// checkpoint that stands in it to its end, both in one transaction. A checkpoint never moves back. A later call comes with
	// the gaps that were accepted since, also when the base is in: those that have no row yet are taken then.
	Restore(ctx context.Context, b Base) (Restored, error)
	// Positions are where the flow's partitions stand now: replay's progress. Asked only when the base is in.
	Positions(ctx context.Context, flow string) (position.Cut, error)
	// Settle sets the sequences anew, to what the tables have, and makes the target live, or held, with an audit row. Called
	// again it changes nothing.
	Settle(ctx context.Context, s Settlement) error
}

// ErrNotEmpty says that the database holds something that this recovery did not put there.
var ErrNotEmpty = errors.New("the database is not empty")

// Found is what a database holds before a recovery.
type Found struct {
	Try      *Try // an earlier try that has not ended; nil: none
	Restored bool // the base is in, as far as that try says
	Settled  bool // the target is live, or held, by that try
}

// Try is one recovery, from its claim to its end. The same command finds it again and goes on with it.
type Try struct {
	RunID       manifest.RunID       `json:"run_id"`
	TargetID    position.TargetID    `json:"target_id"`
	Lineage     position.Lineage     `json:"lineage,string"`
	Incarnation position.Incarnation `json:"incarnation"`
	Base        layout.ID            `json:"base"`
	Statement   manifest.Digest      `json:"statement"` // of the base
	Ends        body.Cut             `json:"ends"`      // up to where it replays, fixed once
	Accepted    []body.Gap           `json:"accepted"`  // what an operator said may be missing; what Look gives is as of the claim
	Began       time.Time            `json:"began"`
	Actor       string               `json:"actor"`
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
