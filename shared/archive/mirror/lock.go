package mirror

import (
	"context"
	"errors"
	"sync"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/archive/layout"
	"tidemark/shared/fault"
)

// ErrUnlocked is in the error that says that a copy is whole and could be deleted before its time.
var ErrUnlocked = errors.New("the copy is there and not locked")

// locks extends the locks of what stands in the other bucket to where the first copy's end. The first refusal of a bucket that
// cannot lock ends the trying: a copy without a lock is better than none.
type locks struct {
	to archive.Place

	mu      sync.Mutex
	seen    time.Time            // the latest time of that bucket's clock that is known: a lock until then would be over
	held    map[string]time.Time // by key
	refused error
}

// saw notes a time of the bucket's clock.
func (l *locks) saw(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at.After(l.seen) {
		l.seen = at
	}
}

// wanted says whether a key is to be locked until then, and is not yet.
func (l *locks) wanted(key string, until time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused == nil && until.After(l.seen) && until.After(l.held[key])
}

// hold locks a key of the bucket.
func (l *locks) hold(ctx context.Context, key string, until time.Time) error {
	retainer, can := l.to.Bucket.(archive.Retainer)
	if !can || !l.wanted(key, until) {
		return nil
	}
	err := retainer.Retain(ctx, key, until)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		l.held[key] = until
	case fault.Is(err, fault.Retryable), fault.Is(err, fault.UnknownOutcome), ctx.Err() != nil:
		return err
	default: // stores have many words for it
		l.refused = errors.Join(l.refused, err)
	}
	return nil
}

// judge says that the copy of a manifest that is to be locked until then is not.
func (l *locks) judge(id layout.ID, until time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refused == nil || !until.After(l.seen) {
		return nil
	}
	return fault.New(fault.Misconfigured, "lock manifest %s in the %s bucket: %w: %w", id, l.to.Name, ErrUnlocked, l.refused).
		WithHint("make the second bucket with object lock and give the role s3:PutObjectRetention, then tidemark copy")
}
