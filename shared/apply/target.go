package apply

import (
	"context"
	"errors"
	"time"

	"tidemark/shared/apply/reduction"
	"tidemark/shared/change"
	"tidemark/shared/position"
	"tidemark/shared/record"
)

// Target is the database that is written.
type Target interface {
	change.Catalog

	// Begin opens a transaction, makes the checkpoint rows that are missing, locks those of the opening in order and
	// reads what the ledger says. The transaction holds the locks until Commit or Rollback.
	// Errors: fault.Retryable when the database cannot be reached or a lock is held too long, fault.Misconfigured when
	// the ledger is absent or of a version that this release does not know.
	Begin(ctx context.Context, opening Opening) (Transaction, error)

	// Forget drops what was cached of the catalog, so that the next question asks the database again.
	Forget()
}

// Transaction is one open transaction of a target. It belongs to one goroutine.
type Transaction interface {
	// Ledger is what Begin read under the locks.
	Ledger() Ledger

	// Commit writes work, moves the checkpoints and commits, all in one round trip. It ends the transaction whatever
	// it returns. Nil means that the server answered COMMIT, and only that.
	// Errors: fault.UnknownOutcome when the reply to COMMIT was lost; a *WorkError when the server refused what was
	// written, so that a smaller piece may pass; anything else means that nothing was applied.
	Commit(ctx context.Context, work Work) error

	// Rollback ends the transaction without applying anything.
	Rollback(ctx context.Context)
}

// Decoder turns a record into changes.
type Decoder interface {
	// Decode appends the changes of rec to set; a record without effect appends none.
	// Errors: fault.Poison for a record that nobody can read, fault.Misconfigured for a table or column that the target
	// lacks, whatever the catalog returns for the rest.
	Decode(ctx context.Context, rec *record.Record, set *change.Set) error
}

// ErrOtherTarget says that the database is another target than the configuration means.
var ErrOtherTarget = errors.New("the database is another target")

// ErrIdentityTaken says that another transaction recorded one of the work's identities first. Nothing was applied; what
// Begin says of the identities is out of date.
var ErrIdentityTaken = errors.New("an identity was recorded by another transaction")

// ErrStale says that the transaction failed for what its session had kept of a schema that has changed. Nothing was applied;
// another session has nothing of it.
var ErrStale = errors.New("what the session kept is out of date")

// ErrWaits says that a record needs another one that has not been applied yet, perhaps of another partition or flow.
var ErrWaits = errors.New("a record waits for another one")

// Opening names what a transaction will work on.
type Opening struct {
	Flow       string
	Partitions []position.Partition // in lock order, each once
	// Identities are those of the records that may be written, for the ledger to say which it knows.
	Identities []string
}

// Ledger is the ledger's word on an opening, read under the locks.
type Ledger struct {
	TargetID    position.TargetID
	Incarnation position.Incarnation
	State       State
	// Parked says that the flow has parked records.
	Parked bool
	// Checkpoints has one entry for each partition of the opening whose row was locked.
	Checkpoints map[position.Partition]Checkpoint
	// Known are those of the opening's identities whose effect the target has.
	Known map[string]bool
}

// Checkpoint is the ledger's row for one flow and partition.
type Checkpoint struct {
	Next        position.Offset
	Incarnation position.Incarnation
	// Generation counts how often an operator moved the checkpoint.
	Generation int64
	// RecordTime is the highest time of a record applied so far; zero when none was.
	RecordTime time.Time
}

// State is where a target stands in its life.
type State string

// The states of a target. Only a live one is written by apply.
const (
	StateNew       State = "new"
	StateLive      State = "live"
	StateRestoring State = "restoring"
	StateHeld      State = "held"
	StateFenced    State = "fenced"
)

// Work is what one transaction writes: groups in the order in which they take effect, and the checkpoints' moves.
type Work struct {
	Flow        string
	Incarnation position.Incarnation
	Groups      []reduction.Group
	Identities  []Identity
	Advances    []Advance
}

// Identity is what a record's producer calls it: two records of one identity are one event, whatever their offsets.
type Identity struct {
	Name      string
	Partition position.Partition
	Offset    position.Offset
	Time      time.Time // of the record
}

// Advance moves one checkpoint. The server refuses it unless the row stands at From.
type Advance struct {
	Partition  position.Partition
	From, Next position.Offset
	RecordTime time.Time // the highest time among the records between; zero when they have none
}

// WorkError says that the server refused what a transaction wrote, over an intact connection: the same records in
// smaller pieces may pass, down to the one that cannot.
type WorkError struct {
	Err error
	// Group is the index in Work.Groups of what was refused; -1 when it was the commit, or is not known.
	Group int
}

// Error is the message of the refusal.
func (e *WorkError) Error() string { return e.Err.Error() }

// Unwrap gives the refusal, which has the class.
func (e *WorkError) Unwrap() error { return e.Err }
