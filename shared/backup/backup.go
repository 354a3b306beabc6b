// Package backup owns how one state of the target becomes a manifest: what is read by whom, where a table is cut into
// chunks, and what is done when time runs out.
//
// It declares what it needs of a database (Target, Snapshot, Reader) and writes through package archive/writer, whose order
// of writes makes the signed statement the commit. The cut is read in the same snapshot as the rows: it is the state of the
// log that they correspond to. Bounds of chunks come from the manifest before, so that unchanged ranges upload nothing, and are
// not even compressed: their plain bytes are hashed first. It refuses a target that is not live, and to leave anything out in
// silence.
//
// A table whose key orders it at little cost is cut by ranges of the key, and an unchanged range is an unchanged chunk wherever
// its rows lie. Any other is cut by ranges of its pages. Of such a table, too, the chunks are those of before as long as rows
// stay in their pages; rows that are added change the last pages, or those that a vacuum made room in. What changes all of
// them: VACUUM FULL, CLUSTER, a restore, a rewriting ALTER TABLE.
//
// Each worker reads, packs and stores side by side. Its memory is bounded: see press.
package backup

import (
	"errors"
	"fmt"

	"tidemark/shared/manifest"
)

// Errors of a backup.
var (
	// ErrRunning says that another process is backing up this target now.
	ErrRunning = errors.New("another backup is running")
	// ErrDone says that the scheduled time has its backup already.
	ErrDone = errors.New("this scheduled time is backed up already")
	// ErrPrefixShared says that the archive's newest manifest of this life is not known to this database: it is a clone.
	ErrPrefixShared = errors.New("another database writes to this archive as this target")
	// ErrUncaptured says that the database has what a restore would not bring back, and nobody has said that this is right.
	ErrUncaptured = errors.New("not everything can be captured")
	// ErrOutOfTime says that the time ran out. What was stored is found by the next run.
	ErrOutOfTime = errors.New("the time ran out")
)

// DoneError says which run backed a scheduled time up. It is ErrDone, and no fault: whoever retries has succeeded.
type DoneError struct {
	Run       Claimed
	Statement manifest.Digest
}

// Error says which run it was.
func (e *DoneError) Error() string {
	return fmt.Sprintf("%v: by run %s as %s/%d", ErrDone, e.Run.RunID, e.Run.Lineage, e.Run.Seq)
}

// Unwrap gives ErrDone.
func (e *DoneError) Unwrap() error { return ErrDone }
