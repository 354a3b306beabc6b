// Package faulty owns the bucket that breaks as told: for tests of what an archive's writers and readers do when a request
// fails, its reply is lost, a writer stands still, two change places, or the process dies between two calls.
//
// It stands before any bucket, numbers every call and asks a plan what goes wrong with it. It changes nothing by itself:
// with no plan it is the bucket within, and passes the same suite. For tests alone.
package faulty

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/fault"
)

// Errors that a bucket makes by itself.
var (
	// ErrKilled ends the killed call and all after it. Its class is bug, on which nobody tries again: after a SIGKILL nobody
	// is there to draw a conclusion. It proves nothing about a key.
	ErrKilled = errors.New("the process was killed")
	// ErrReplyLost is the error of a call whose effect stands: fault.UnknownOutcome for one that changes the store, else
	// fault.Retryable.
	ErrReplyLost = errors.New("the reply was lost")
)

// Call is one call of a bucket.
type Call struct {
	N      int    // from 1 on, in the order in which calls begin
	Method string // as the interface has it: Create
	Key    string // of List: the prefix
}

// Plan says what goes wrong with a call; nil is nothing. It is asked once per call, in order, never twice at a time, and
// may Kill the bucket, but not call it.
type Plan func(Call) *Fault

// At is the plan that something goes wrong with the nth call.
func At(n int, f Fault) Plan {
	return func(c Call) *Fault {
		if c.N == n {
			return &f
		}
		return nil
	}
}

// Reorder is the plan that of two calls that run at once the first waits until the second has taken effect.
func Reorder(first, second int) Plan {
	gate := NewGate()
	return func(c Call) *Fault {
		switch c.N {
		case first:
			return &Fault{Hold: gate}
		case second:
			return &Fault{frees: gate}
		}
		return nil
	}
}

// Bucket passes calls on to another and breaks them as planned. It numbers every call that the store sees. A listing is one
// call: it begins with the first step of the loop, and what goes wrong after its effect comes after its last object. Safe
// for concurrent use.
type Bucket struct {
	inner archive.Bucket

	mu    sync.Mutex
	plans []Plan
	calls []Call

	killed  chan struct{}
	effects sync.RWMutex // read: an effect is under way; written: no more effects
}

// New puts plans before a bucket. Of several plans the first that names a fault decides.
func New(inner archive.Bucket, plans ...Plan) *Bucket {
	return &Bucket{inner: inner, plans: plans, killed: make(chan struct{})}
}

// Calls are the calls so far.
func (b *Bucket) Calls() []Call {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.calls)
}

// Kill ends the process as the store sees it: effects that are under way are waited for, and none comes after. Held calls
// fail.
func (b *Bucket) Kill() {
	b.effects.Lock()
	defer b.effects.Unlock()
	if !b.isKilled() {
		close(b.killed)
	}
}

func (b *Bucket) isKilled() bool {
	select {
	case <-b.killed:
		return true
	default:
		return false
	}
}

// number gives a call its number and its fault.
func (b *Bucket) number(method, key string) (Call, Fault) {
	b.mu.Lock()
	defer b.mu.Unlock()
	call := Call{N: len(b.calls) + 1, Method: method, Key: key}
	b.calls = append(b.calls, call)
	for _, plan := range b.plans {
		if planned := plan(call); planned != nil {
			return call, *planned
		}
	}
	return call, Fault{}
}

// do runs one call through its fault.
func (b *Bucket) do(ctx context.Context, method, key string, effect func() error) error {
	if b.isKilled() {
		return killed(method, key)
	}
	call, planned := b.number(method, key)
	if planned.frees != nil {
		defer planned.frees.Release() // also when it fails, or the other would wait for ever
	}
	if err := b.wait(ctx, call, planned.Hold, fault.Retryable); err != nil {
		return err
	}
	if planned.Kill == KillBefore {
		b.Kill()
		return killed(method, key)
	}
	if planned.Fail != nil {
		return planned.Fail
	}
	err := b.land(call, effect)
	if held := b.wait(ctx, call, planned.HoldReply, call.doubt()); held != nil {
		return held
	}
	if planned.Kill == KillAfter {
		b.Kill()
	}
	switch {
	case b.isKilled():
		return killed(method, key)
	case planned.Drop:
		return fault.New(call.doubt(), "%s %s: %w", method, key, ErrReplyLost)
	}
	return err
}

// land lets a call take effect, unless the process is dead. A listing changes nothing and may last, so nobody waits for it.
func (b *Bucket) land(call Call, effect func() error) error {
	if call.Method == "List" {
		return effect()
	}
	b.effects.RLock()
	defer b.effects.RUnlock()
	if b.isKilled() {
		return killed(call.Method, call.Key)
	}
	return effect()
}

// wait holds a call at a gate, if there is one.
func (b *Bucket) wait(ctx context.Context, call Call, gate *Gate, class fault.Class) error {
	if gate == nil {
		return nil
	}
	gate.reach()
	select {
	case <-gate.released:
		return nil
	case <-b.killed:
		return killed(call.Method, call.Key)
	case <-ctx.Done():
		return fault.New(class, "%s %s: %w", call.Method, call.Key, ctx.Err())
	}
}

// doubt is the class of a call whose reply did not come.
func (c Call) doubt() fault.Class {
	switch c.Method {
	case "Create", "Delete", "Retain":
		return fault.UnknownOutcome
	}
	return fault.Retryable
}

func killed(method, key string) error {
	return fault.New(fault.Bug, "%s %s: %w", method, key, ErrKilled)
}

// Create is a call. See archive.Bucket.
func (b *Bucket) Create(ctx context.Context, key string, content []byte) error {
	return b.do(ctx, "Create", key, func() error { return b.inner.Create(ctx, key, content) })
}

// Read is a call. See archive.Bucket.
func (b *Bucket) Read(ctx context.Context, key string, span archive.Span) (content []byte, err error) {
	err = b.do(ctx, "Read", key, func() (err error) {
		content, err = b.inner.Read(ctx, key, span)
		return err
	})
	if err != nil {
		return nil, err
	}
	return content, nil
}

// Stat is a call. See archive.Bucket.
func (b *Bucket) Stat(ctx context.Context, key string) (info archive.Info, err error) {
	err = b.do(ctx, "Stat", key, func() (err error) {
		info, err = b.inner.Stat(ctx, key)
		return err
	})
	if err != nil {
		return archive.Info{}, err
	}
	return info, nil
}

// List is a call. See archive.Bucket.
func (b *Bucket) List(ctx context.Context, prefix string) iter.Seq2[archive.Info, error] {
	return func(yield func(archive.Info, error) bool) {
		left := false
		err := b.do(ctx, "List", prefix, func() (err error) {
			left, err = b.pass(b.inner.List(ctx, prefix), prefix, yield)
			return err
		})
		if err != nil && !left {
			yield(archive.Info{}, err)
		}
	}
}

// pass yields what a listing gives up to an error, and says whether the caller left the loop.
func (b *Bucket) pass(listing iter.Seq2[archive.Info, error], prefix string, yield func(archive.Info, error) bool) (bool, error) {
	for info, err := range listing {
		switch {
		case err != nil:
			return false, err
		case b.isKilled():
			return false, killed("List", prefix)
		case !yield(info, nil):
			return true, nil
		}
	}
	return false, nil
}

// Delete is a call. See archive.Bucket.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	return b.do(ctx, "Delete", key, func() error { return b.inner.Delete(ctx, key) })
}

// Retain is a call; it is refused when the bucket within has no locks. See archive.Retainer.
func (b *Bucket) Retain(ctx context.Context, key string, until time.Time) error {
	return b.do(ctx, "Retain", key, func() error {
		retainer, ok := b.inner.(archive.Retainer)
		if !ok {
			return fault.New(fault.Misconfigured, "lock %s: %s has no locks", key, fmt.Sprintf("%T", b.inner))
		}
		return retainer.Retain(ctx, key, until)
	})
}
