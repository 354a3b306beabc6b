package s3api

import (
	"context"
	"errors"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/fault"
)

// Delete removes a key. See archive.Bucket.
//
// With versions kept, a store takes the deletion of a locked object: it only hides it under a marker. The archive would
// then miss what its owner had locked, so in a bucket with object lock the lock is looked at first.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	act := "delete " + key
	if err := archive.CheckKey(key); err != nil {
		return err
	}
	ctx, cancel := b.within(ctx)
	defer cancel()
	lockable, err := b.isLockable(ctx)
	if err != nil {
		return explain(act+": ask whether objects can be locked", err)
	}
	if lockable {
		if err := b.refuseLocked(ctx, act, key); err != nil {
			return err
		}
	}
	err = b.objects.Delete(ctx, b.prefix+key)
	switch {
	case err == nil || isGone(err):
		return nil
	case lockable && hasCode(err, "AccessDenied", "InvalidRequest", "ObjectLocked"):
		// Stores have no code of their own for a lock that came in between.
		if locked := b.refuseLocked(ctx, act, key); locked != nil {
			return locked
		}
	}
	return explain(act, err)
}

// isGone says whether an object is not there. A store that meets a marker as the newest version may also say that it
// cannot be asked.
func isGone(err error) bool { return hasCode(err, "NoSuchKey", "NoSuchVersion", "MethodNotAllowed") }

// isLockable says whether objects of the bucket can be locked. The store is asked once.
func (b *Bucket) isLockable(ctx context.Context) (bool, error) {
	b.mu.Lock()
	known := b.lockable
	b.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	lockable, err := orUnset(b.settings.ObjectLock(ctx))
	if err != nil {
		return false, err
	}
	b.mu.Lock()
	b.lockable = &lockable
	b.mu.Unlock()
	return lockable, nil
}

// orUnset turns the refusals that say "nothing of that kind is set here" into the zero value.
func orUnset[V any](value V, err error) (V, error) {
	var zero V
	if hasCode(err, "ObjectLockConfigurationNotFoundError", "NoSuchObjectLockConfiguration", "NoSuchLifecycleConfiguration",
		"ServerSideEncryptionConfigurationNotFoundError", "NotImplemented") {
		return zero, nil
	}
	return value, err
}

// refuseLocked gives the error of a key that may not be deleted, nil for one that may or is not there.
func (b *Bucket) refuseLocked(ctx context.Context, act, key string) error {
	retention, err := b.retention(ctx, key)
	if isGone(err) {
		return nil
	}
	if err != nil {
		return explain(act+": ask how long it is locked", err)
	}
	if !retention.Until.IsZero() {
		// The store's clock decides, because it is the one that lets go.
		now, err := b.settings.Time(ctx)
		if err != nil {
			return explain(act+": ask for the time", err)
		}
		if now.Before(retention.Until) {
			return locked(act, "until "+retention.Until.UTC().Format(time.RFC3339))
		}
	}
	held, err := orUnset(b.locks.LegalHold(ctx, b.prefix+key))
	switch {
	case isGone(err):
		return nil
	case err != nil:
		return explain(act+": ask whether a person holds it", err)
	case held:
		return locked(act, "by a legal hold")
	}
	return nil
}

func locked(act, how string) error {
	return fault.New(fault.Retryable, "%s: %w %s", act, archive.ErrLocked, how).
		WithHint("nothing was deleted; a later sweep removes it once the lock is gone")
}

func (b *Bucket) retention(ctx context.Context, key string) (Retention, error) {
	return orUnset(b.locks.Retention(ctx, b.prefix+key))
}

// Retain locks an object until a time. See archive.Retainer. The mode of a lock that is there stays when it is the
// stricter one.
func (b *Bucket) Retain(ctx context.Context, key string, until time.Time) error {
	act := "retain " + key
	if err := archive.CheckKey(key); err != nil {
		return err
	}
	ctx, cancel := b.within(ctx)
	defer cancel()
	until = wholeSecond(until)
	retention, err := b.retention(ctx, key)
	if err != nil {
		return explain(act, err)
	}
	if !retention.Until.Before(until) {
		return nil
	}
	wanted := Retention{Mode: b.options.Retention, Until: until}
	if retention.Mode == Compliance {
		wanted.Mode = Compliance
	}
	refused := b.locks.Retain(ctx, b.prefix+key, wanted)
	if refused == nil {
		return nil
	}
	// Another may have locked it for longer in between: then a store denies ours, which would shorten that one's.
	if retention, err := b.retention(ctx, key); err == nil && !retention.Until.Before(until) {
		return nil
	}
	return explainRetain(act, refused)
}

// explainRetain knows what a bucket without object lock answers, for which there is no code.
func explainRetain(act string, err error) error {
	if refusal, ok := errors.AsType[*AnswerError](err); ok && refusal.Code == "InvalidRequest" {
		return misconfigured(hintLock).explain(act, err)
	}
	return explain(act, err)
}

// wholeSecond rounds up: stores keep whole seconds, and a lock must not end before the time that was asked for.
func wholeSecond(t time.Time) time.Time {
	if whole := t.Truncate(time.Second); whole.Before(t) {
		return whole.Add(time.Second)
	}
	return t
}
