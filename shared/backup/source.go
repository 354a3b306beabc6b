package backup

import (
	"context"
	"io"
	"time"

	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/position"
)

// Runs is the target's own record of its backups.
type Runs interface {
	// Begin claims a run for this process, until it is closed: nobody else backs up meanwhile, and nobody takes a run for
	// alive whose process died. Errors: ErrRunning, ErrDone, ErrPrefixShared; fault.Fenced when the target is not live.
	Begin(ctx context.Context, r Request) (Claim, error)
}

// Source is the database that is backed up.
type Source interface {
	// Snapshot shows one state of the database. Locks come before it, so that no TRUNCATE is taken for an empty table.
	Snapshot(ctx context.Context) (Snapshot, error)
}

// Request is what a claim asks for.
type Request struct {
	Target    position.TargetID
	Scheduled time.Time // the time that the run stands for; zero: it was not scheduled
	// Newest is the newest manifest that the archive lists of a life; 0 when there is none.
	Newest func(ctx context.Context, lineage position.Lineage) (seq int64, run manifest.RunID, err error)
	Actor  string
}

// Claim is a run that this process holds.
type Claim interface {
	// Run says which run it is.
	Run() Claimed
	// Finish says how it ended and lets it go. Closing without it leaves the run for its next attempt.
	Finish(ctx context.Context, outcome string, statement manifest.Digest) error
	// Fence makes a target that lives the claimed life change nothing any more: a later life was found. The claim is over then.
	Fence(ctx context.Context, why string) error
	Close(ctx context.Context) error
}

// Claimed is what a claim has fixed.
type Claimed struct {
	RunID       manifest.RunID
	Lineage     position.Lineage
	Incarnation position.Incarnation
	Seq         int64
	Attempt     int
}

// Snapshot is one state of the target. Readers see it until it is closed.
type Snapshot interface {
	Content() Content
	// Reader opens one more view of the same state, for one goroutine.
	Reader(ctx context.Context) (Reader, error)
	Close(ctx context.Context) error
}

// Content is what a snapshot holds beside rows, and its tables without chunks.
type Content struct {
	Life        Life
	Database    body.Snapshot
	Cut         body.Cut
	Gaps        []body.Gap
	Definitions []body.Definition
	Tables      []Table
	Sequences   []body.Sequence
	Uncaptured  []string
}

// Life is whose state it is, as the snapshot has it.
type Life struct {
	TargetID    position.TargetID
	Lineage     position.Lineage
	Incarnation position.Incarnation
	State       string
}

// Table is a table that is to be read.
type Table struct {
	body.Table
	Pages int64 // of its rows, without those of their large values
	Bytes int64 // what all its pages take, about
	// Ordered says that reading it by its key costs little more than reading its pages.
	Ordered bool
}

// Range is a part of a table: from one key, included, to another, excluded, or from one page to another. Nil bounds are open.
type Range struct {
	From, Until          []string // of the key, as PostgreSQL writes it
	FirstPage, UntilPage int64    // of tables that are read by their pages; 0: open
}

// Reader reads a snapshot's rows. It belongs to one goroutine.
type Reader interface {
	// Split proposes bounds that cut a table into about so many parts with as many rows each, in the order of its key.
	Split(ctx context.Context, t Table, parts int) ([][]string, error)
	// Copy writes the rows of a part in COPY's binary form, in the order of the key where there is one, and says how many.
	Copy(ctx context.Context, t Table, r Range, to io.Writer) (rows int64, err error)
	// KeyAt is the key of the nth row of a part, from 0 on.
	KeyAt(ctx context.Context, t Table, r Range, n int64) ([]string, error)
	// Count is how many rows the table has.
	Count(ctx context.Context, t Table) (int64, error)
	Close(ctx context.Context) error
}
