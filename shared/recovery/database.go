package recovery

import (
	"context"
	"encoding/json"
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
	// Restore brings the base in and goes on where an earlier call stopped. Restored checkpoints have the new incarnation, and
	// those of Try.Starts stand where it says, once: replay has not begun then.
	Restore(ctx context.Context, b Base) (Restored, error)
	// Positions are where the flow's partitions stand now: replay's progress. A partition that is not there stands at 0. Asked
	// only when the base is in.
	Positions(ctx context.Context, flow string) (position.Cut, error)
	// Pass gives each gap a row among the ledger's gaps and moves the flow's checkpoint to the gap's end, all in one transaction:
	// everything below the gap is in, or is the mark of a transaction. A checkpoint that is missing stands at 0 and is made; none
	// moves back. Called again it changes nothing.
	Pass(ctx context.Context, t Try, gaps []body.Gap) error
	// Settle sets the sequences anew, to what the tables have, and makes the target live, or held with the ranges of Try.Held,
	// with an audit row. Called again it changes nothing.
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
	// Starts are the partitions whose replay begins below the base's cut, and where.
	Starts   body.Cut   `json:"starts,omitempty"`
	Accepted []body.Gap `json:"accepted"` // what an operator said may be missing; what Look gives is as of the claim
	// Held is what lies behind a point in time or offsets that were asked for: nobody applies it before an operator says how.
	// Nil: nothing was asked for, and the target goes live.
	Held  []Held    `json:"held,omitempty"`
	Asked string    `json:"asked,omitempty"` // how the command named the start and the end of the replay
	Began time.Time `json:"began"`
	Actor string    `json:"actor"`
	// Existing says that the base is loaded into tables that were there.
	Existing bool `json:"existing,omitempty"`
	// Switch is what the caller must not forget about functions that it stops: it is kept before the first one is.
	Switch json.RawMessage `json:"switch,omitempty"`
	// Rehearsal says that no life was taken and nothing will ever be live.
	Rehearsal bool `json:"rehearsal,omitempty"`
}

// Held is a range of the log that a recovery stopped before.
type Held struct {
	Flow      string          `json:"flow"`
	Topic     string          `json:"topic"`
	TopicID   string          `json:"topic_id,omitempty"`
	Partition int32           `json:"partition"`
	From      position.Offset `json:"from,string"`  // where the checkpoint stands
	Until     position.Offset `json:"until,string"` // where the log ended when the recovery began
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
