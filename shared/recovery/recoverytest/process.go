package recoverytest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"tidemark/shared/archive/archivetest/faulty"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/recoverytest/memorylog"
	"tidemark/shared/signing"
)

// Reads says whether a call changes nothing.
func Reads(c writertest.Call) bool {
	switch c.Method {
	case "Create", "Delete", "Retain", "Claim", "Restore", "Pass", "Apply", "Settle":
		return false
	}
	return true
}

// ErrReplyLost is in the error of a call whose effect stands.
var ErrReplyLost = errors.New("the reply was lost")

// Process is one process that recovers into a database. All its calls have one sequence of numbers, those of both buckets, of
// the log and of the database, and one plan. Once it was killed no call has an effect.
type Process struct {
	*writertest.Sequence

	world    *World
	database *Database

	mu   sync.Mutex
	open int
}

// Process is a process in this world. A nil plan breaks nothing.
func (w *World) Process(d *Database, plan writertest.Plan) *Process {
	return &Process{Sequence: writertest.NewSequence(plan), world: w, database: d}
}

// Options are those of a recovery by this process.
func (p *Process) Options(t *testing.T) recovery.Options {
	t.Helper()
	a := p.world.Archive(t, faulty.New(p.world.Primary, p.Bucket("primary", p.dies)),
		faulty.New(p.world.Secondary, p.Bucket("secondary", p.dies)))
	return recovery.Options{
		Archive: a, Signers: []signing.Signer{p.world.Key}, Pack: p.world.World.Options(t, a).Pack,
		Log: memorylog.View{Log: p.world.Log, Process: logProcess{p}}, Database: databaseView{p.database, p},
		Checkpoints: databaseView{p.database, p},
		Applier:     func(flow string, _ position.Incarnation) (recovery.Applier, error) { return &applier{flow, p}, nil },
		Flows:       p.world.Flows,
		Jobs:        1, Actor: "test", Tool: "test", NewRunID: p.world.NextRun, NewIncarnation: p.world.nextLife, Now: p.world.Now,
	}
}

// Open is how many readers were opened and not closed.
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

// dies lets go of what a process holds in the database that is killed.
func (p *Process) dies() { p.database.release(p) }

// do runs one call of the log or the database through its fault.
func (p *Process) do(ctx context.Context, call writertest.Call, effect func() error) error {
	form := p.Next(call.Place, call.Method, call.Key)
	if form.Kills() {
		p.dies()
	}
	switch {
	case form == writertest.KillBefore:
		return fault.New(fault.Bug, "%s: %w", call.Method, faulty.ErrKilled)
	case form == writertest.Error:
		return fault.New(fault.Retryable, "%s: the %s stutters", call.Method, call.Place)
	case ctx.Err() != nil:
		return fault.New(fault.Retryable, "%s: %w", call.Method, ctx.Err())
	}
	err := effect()
	switch {
	case form == writertest.KillAfter:
		return fault.New(fault.Bug, "%s: %w", call.Method, faulty.ErrKilled)
	case form == writertest.ReplyLost && Reads(call):
		return fault.New(fault.Retryable, "%s: %w", call.Method, ErrReplyLost)
	case form == writertest.ReplyLost:
		return fault.New(fault.UnknownOutcome, "%s: %w", call.Method, ErrReplyLost)
	}
	return err
}

// logProcess is a process as the log sees it.
type logProcess struct{ *Process }

// Do runs one call.
func (p logProcess) Do(ctx context.Context, method string, effect func() error) error {
	return p.do(ctx, writertest.Call{Place: "log", Method: method}, effect)
}

// Opened counts the readers that are open.
func (p logProcess) Opened(by int) { p.opened(by) }
