package backuptest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"tidemark/shared/archive/archivetest/faulty"
	"tidemark/shared/archive/packing"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/backup"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
)

// Call is a call that leaves a process.
type Call struct {
	N      int    // from 1 on
	Place  string // database, primary, secondary
	Method string
	Key    string // of an object, or the table and the part
}

// Plan says what goes wrong with a call; the empty form is nothing. It may do something by itself meanwhile: cancel, change
// the database, run another process.
type Plan func(Call) writertest.Form

// At is the plan that the nth call goes wrong.
func At(n int, form writertest.Form) Plan {
	return func(c Call) writertest.Form {
		if c.N == n {
			return form
		}
		return ""
	}
}

// ErrReplyLost is in the error of a call of the database whose effect stands.
var ErrReplyLost = errors.New("the reply was lost")

// Process is one process that makes a backup. All its calls have one sequence of numbers, those of the database and those of
// both buckets, and one plan. Once it was killed no call has an effect, and the database lets go what it held.
type Process struct {
	world *World
	plan  Plan

	mu    sync.Mutex
	calls []Call
	dead  bool
	open  int
}

// Process is a process in this world. A nil plan breaks nothing.
func (w *World) Process(plan Plan) *Process { return &Process{world: w, plan: plan} }

// Options are those of a backup by this process. Its packers are the world's, so one backup runs at a time.
func (p *Process) Options(t *testing.T) backup.Options {
	t.Helper()
	archive := p.world.Archive(t, faulty.New(p.world.Primary, p.bucket("primary")),
		faulty.New(p.world.Secondary, p.bucket("secondary")))
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

// Calls are the calls so far.
func (p *Process) Calls() []Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls)
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

// next numbers a call and says what goes wrong with it.
func (p *Process) next(place, method, key string) writertest.Form {
	p.mu.Lock()
	if p.dead {
		p.mu.Unlock()
		return writertest.KillBefore
	}
	call := Call{N: len(p.calls) + 1, Place: place, Method: method, Key: key}
	p.calls = append(p.calls, call)
	p.mu.Unlock()
	if p.plan == nil {
		return ""
	}
	form := p.plan(call)
	if form == writertest.KillBefore || form == writertest.KillAfter {
		p.mu.Lock()
		p.dead = true
		p.mu.Unlock()
	}
	return form
}

// bucket is the plan of a bucket.
func (p *Process) bucket(place string) faulty.Plan {
	return func(c faulty.Call) *faulty.Fault {
		switch p.next(place, c.Method, c.Key) {
		case writertest.Error:
			return &faulty.Fault{Fail: fault.New(fault.Retryable, "the store stutters")}
		case writertest.ReplyLost:
			return &faulty.Fault{Drop: true}
		case writertest.KillBefore:
			p.world.Database.release(p)
			return &faulty.Fault{Kill: faulty.KillBefore}
		case writertest.KillAfter:
			p.world.Database.release(p)
			return &faulty.Fault{Kill: faulty.KillAfter}
		}
		return nil
	}
}

// database runs one call of the database through its fault.
func (p *Process) database(ctx context.Context, method, key string, effect func() error) error {
	form := p.next("database", method, key)
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
