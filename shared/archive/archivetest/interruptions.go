package archivetest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"tidemark/shared/archive"
	"tidemark/shared/fault"
)

func interruptions() []exercise {
	return []exercise{
		{"RefusesACancelledContext", refusesACancelledContext},
		{"EndsWhenItIsCancelled", endsWhenItIsCancelled},
	}
}

func refusesACancelledContext(b *bench) {
	b.mustCreate("a", []byte("content"))
	ctx, cancel := context.WithCancel(b.context())
	cancel()
	b.mustBeCancelled(b.Create(ctx, "b", []byte("content")), fault.Retryable, fault.UnknownOutcome)
	_, err := b.Read(ctx, "a", whole())
	b.mustBeCancelled(err, fault.Retryable)
	_, err = b.Stat(ctx, "a")
	b.mustBeCancelled(err, fault.Retryable)
	b.mustBeCancelled(b.Delete(ctx, "a"), fault.Retryable, fault.UnknownOutcome)
	yields := 0
	for _, err := range b.List(ctx, "") {
		yields++
		b.mustBeCancelled(err, fault.Retryable)
	}
	if yields != 1 {
		b.Errorf("a cancelled listing yielded %d times, want the error alone", yields)
	}
	b.mustLack("b")
	b.mustHold("a", []byte("content"))
}

// fuse is a context that is cancelled when it is looked at for the nth time: a number stands for a place in the bucket's
// code, and every place gets its turn.
type fuse struct {
	context.Context //nolint:containedctx // it is a context
	cancel          context.CancelFunc
	left            atomic.Int64
}

func newFuse(ctx context.Context, looks int64) *fuse {
	f := &fuse{}
	f.Context, f.cancel = context.WithCancel(ctx)
	f.left.Store(looks)
	return f
}

func (f *fuse) burn() {
	if f.left.Add(-1) == 0 {
		f.cancel()
	}
}

// Done burns the fuse.
func (f *fuse) Done() <-chan struct{} {
	f.burn()
	return f.Context.Done()
}

// Err burns the fuse.
func (f *fuse) Err() error {
	f.burn()
	return f.Context.Err()
}

// endsWhenItIsCancelled: what was cut short is there whole or not at all, and the call says so. That it ends soon is seen
// by the patience of the context that the fuse hangs on.
func endsWhenItIsCancelled(b *bench) {
	content := noise(4 << 20)
	b.mustCreate("whole", content)
	for looks := range int64(24) {
		key := fmt.Sprintf("objects/%02d", looks)
		ctx := newFuse(b.context(), looks+1)
		created := b.Create(ctx, key, content)
		ctx.cancel()
		if created == nil {
			b.mustHold(key, content)
		} else {
			b.mustBeCancelled(created, fault.Retryable, fault.UnknownOutcome)
			if info, err := b.Stat(b.context(), key); err == nil {
				b.checkInfo(info, key, content)
			} else {
				b.mustRefuse(err, archive.ErrNotFound)
			}
			if err := b.Create(b.context(), key, content); err != nil && !errors.Is(err, archive.ErrExists) {
				b.Errorf("create again: %v", err)
			}
		}
		ctx = newFuse(b.context(), looks+1)
		got, err := b.Read(ctx, "whole", whole())
		ctx.cancel()
		if err != nil {
			b.mustBeCancelled(err, fault.Retryable)
		} else if len(got) != len(content) {
			b.Errorf("a cancelled read gave %d of %d bytes without an error", len(got), len(content))
		}
	}
}
