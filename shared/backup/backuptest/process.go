package backuptest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"tidemark/shared/archive/archivetest/faulty"
	"tidemark/shared/archive/packing"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/backup"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
)

// ErrReplyLost is in the error of a call of the database whose effect stands.
var ErrReplyLost = errors.New("the reply was lost")

// Process is one process that makes a backup. All its calls have one sequence of numbers, those of the database and those of
// both buckets, and one plan. Once it was killed no call has an effect, and the database lets go what it held.
type Process struct {
	*writertest.Sequence

	world *World

	mu   sync.Mutex
	open int
}

// Process is a process in this world. A nil plan breaks nothing.
func (w *World) Process(plan writertest.Plan) *Process {
	return &Process{Sequence: writertest.NewSequence(plan), world: w}
}

// Options are those of a backup by this process. Its packers are the world's, so one backup runs at a time.
func (p *Process) Options(t *testing.T) backup.Options {
	t.Helper()
	dies := func() { p.world.Database.release(p) }
	archive := p.world.Archive(t, faulty.New(p.world.Primary, p.Bucket("primary", dies)),
		faulty.New(p.world.Secondary, p.Bucket("secondary", dies)))
	packers := 0
	return backup.Options{
		Runs: p, Source: p, Writer: p.world.World.Options(t, archive), Actor: "test", Tool: "test", Now: p.world.Now,
		NewPacker: func() (*packing.Packer, error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			packers++
			return p.world.packer(packers)
		},
	}
}

// Open is how many claims, snapshots and readers were opened and not closed.
func (p *Process) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open
}

func (p *Process) opened(by int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open += by
}

// database runs one call of the database through its fault.
func (p *Process) database(ctx context.Context, method, key string, effect func() error) error {
	form := p.Next("database", method, key)
	switch {
	case form == writertest.KillBefore:
		p.world.Database.release(p)
		return fault.New(fault.Bug, "%s: %w", method, faulty.ErrKilled)
	case form == writertest.Error:
		return fault.New(fault.Retryable, "%s: the database stutters", method)
	case ctx.Err() != nil:
		return fault.New(fault.Retryable, "%s: %w", method, ctx.Err())
	}
	err := effect()
	if form == writertest.KillAfter {
		p.world.Database.release(p)
		return fault.New(fault.Bug, "%s: %w", method, faulty.ErrKilled)
	}
	if form == writertest.ReplyLost {
		return fault.New(fault.UnknownOutcome, "%s: %w", method, ErrReplyLost)
	}
	return err
}

// Begin claims a run. A claim whose reply is lost goes with its connection.
func (p *Process) Begin(ctx context.Context, r backup.Request) (backup.Claim, error) {
	held := &claim{process: p}
	err := p.database(ctx, "Begin", "", func() (err error) {
		held.run, err = p.world.Database.begin(ctx, p, r)
		return err
	})
	if err != nil {
		if !held.run.RunID.IsZero() {
			p.world.Database.release(p)
		}
		return nil, err
	}
	p.opened(1)
	return held, nil
}

// claim is a run that a process holds.
type claim struct {
	process *Process
	run     backup.Claimed
}

// Run says which.
func (c *claim) Run() backup.Claimed { return c.run }

// Finish says how it ended.
func (c *claim) Finish(ctx context.Context, outcome string, statement manifest.Digest) error {
	return c.process.database(ctx, "Finish", outcome, func() error {
		return c.process.world.Database.finish(c.run.RunID, outcome, statement)
	})
}

// Fence makes the target change nothing any more.
func (c *claim) Fence(ctx context.Context, _ string) error {
	return c.process.database(ctx, "Fence", "", func() error {
		c.process.world.Database.fence(c.run.Incarnation)
		return nil
	})
}

// Close lets the run go, also where it fails: the connection is gone either way.
func (c *claim) Close(ctx context.Context) error {
	c.process.opened(-1)
	c.process.world.Database.release(c.process)
	return c.process.database(ctx, "Claim.Close", "", func() error { return nil })
}

// Snapshot shows the state that the database has now.
func (p *Process) Snapshot(ctx context.Context) (backup.Snapshot, error) {
	var taken *snapshot
	err := p.database(ctx, "Snapshot", "", func() error {
		taken = p.world.Database.snapshot(p)
		return nil
	})
	if err != nil {
		return nil, err
	}
	p.opened(1)
	return taken, nil
}
