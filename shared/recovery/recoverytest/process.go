package recoverytest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"tidemark/shared/archive/archivetest/faulty"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/fault"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/recoverytest/memorylog"
	"tidemark/shared/signing"
)

// Call is a call that leaves a process.
type Call struct {
	N      int    // from 1 on
	Place  string // primary, secondary, log, database
	Method string
	Key    string // of an object, or the part that is written
}

// Reads says whether a call changes nothing.
func (c Call) Reads() bool {
	switch c.Method {
	case "Create", "Delete", "Retain", "Claim", "Restore", "Apply", "Settle":
		return false
	}
	return true
}

// Plan says what goes wrong with a call; the empty form is nothing. It may do something by itself meanwhile: cancel, change
// the log, run another process.
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

// ErrReplyLost is in the error of a call whose effect stands.
var ErrReplyLost = errors.New("the reply was lost")

// Process is one process that recovers into a database. All its calls have one sequence of numbers, those of both buckets, of
// the log and of the database, and one plan. Once it was killed no call has an effect.
type Process struct {
	world    *World
	database *Database
	plan     Plan

	mu    sync.Mutex
	calls []Call
	dead  bool
	open  int
}

// Process is a process in this world. A nil plan breaks nothing.
func (w *World) Process(d *Database, plan Plan) *Process {
	return &Process{world: w, database: d, plan: plan}
}

// Options are those of a recovery by this process.
func (p *Process) Options(t *testing.T) recovery.Options {
	t.Helper()
	a := p.world.Archive(t, faulty.New(p.world.Primary, p.bucket("primary")), faulty.New(p.world.Secondary, p.bucket("secondary")))
	return recovery.Options{
		Archive: a, Signers: []signing.Signer{p.world.Key}, Pack: p.world.World.Options(t, a).Pack,
		Log: memorylog.View{Log: p.world.Log, Process: logProcess{p}}, Database: databaseView{p.database, p},
		Applier: func(flow string) (recovery.Applier, error) { return &applier{flow, p}, nil },
		Jobs:    1, Actor: "test", Tool: "test", NewRunID: p.world.NextRun, NewIncarnation: p.world.nextLife, Now: p.world.Now,
	}
}

// Calls are the calls so far.
func (p *Process) Calls() []Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls)
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

// next numbers a call and says what goes wrong with it.
func (p *Process) next(call Call) writertest.Form {
	p.mu.Lock()
	if p.dead {
		p.mu.Unlock()
		return writertest.KillBefore
	}
	call.N = len(p.calls) + 1
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
		p.database.release(p)
	}
	return form
}

// bucket is the plan of a bucket.
func (p *Process) bucket(place string) faulty.Plan {
	return func(c faulty.Call) *faulty.Fault {
		switch p.next(Call{Place: place, Method: c.Method, Key: c.Key}) {
		case writertest.Error:
			return &faulty.Fault{Fail: fault.New(fault.Retryable, "the store stutters")}
		case writertest.ReplyLost:
			return &faulty.Fault{Drop: true}
		case writertest.KillBefore:
			return &faulty.Fault{Kill: faulty.KillBefore}
		case writertest.KillAfter:
			return &faulty.Fault{Kill: faulty.KillAfter}
		}
		return nil
	}
}

// do runs one call of the log or the database through its fault.
func (p *Process) do(ctx context.Context, call Call, effect func() error) error {
	form := p.next(call)
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
	case form == writertest.ReplyLost && call.Reads():
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
	return p.do(ctx, Call{Place: "log", Method: method}, effect)
}

// Opened counts the readers that are open.
func (p logProcess) Opened(by int) { p.opened(by) }
