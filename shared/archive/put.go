package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"tidemark/shared/fault"
	"tidemark/shared/manifest"
)

const (
	putTries  = 6
	firstWait = 50 * time.Millisecond
)

// Put stores content under a key, create-only, and returns nil once the key is known to hold it: it was created, or it was
// there already, from this call whose reply was lost or from an earlier one.
//
// A refusal is not believed, because it may be our own: the client repeated a request whose first answer was lost. The key is
// read back and the bytes compared. Nothing is ever deleted, whatever the outcome.
//
// Errors: fault.Fenced with ErrExists when other content holds the key; fault.UnknownOutcome when the store did not say
// within the tries; what the store says about rights and configuration at once.
func Put(ctx context.Context, bucket Bucket, key string, content []byte) error {
	var last error
	doubt := false // whether an earlier try may have landed
	for try := range putTries {
		if err := pause(ctx, try); err != nil {
			return fault.New(fault.UnknownOutcome, "write %s: %w", key, errors.Join(err, last))
		}
		err := bucket.Create(ctx, key, content)
		if err == nil {
			return nil
		}
		if final(err) {
			return refused(doubt, "write "+key, err)
		}
		last = err
		if errors.Is(err, ErrConflict) {
			continue // another writer was in the way, and nothing of ours landed
		}
		doubt = doubt || !errors.Is(err, ErrExists)
		switch held, err := holds(ctx, bucket, key, content); {
		case err == nil && held:
			return nil
		case err == nil:
			return fault.New(fault.Fenced, "write %s: it holds other content: %w", key, ErrExists)
		case final(err):
			return refused(doubt, "read "+key+" back", err)
		case !errors.Is(err, ErrNotFound):
			last = err
		}
	}
	hint := "nothing was deleted; the next run finds out"
	if inner := fault.HintOf(last); inner != "" {
		hint = inner + "; " + hint
	}
	return fault.New(fault.UnknownOutcome, "write %s: the store did not say in %d tries whether it has it: %w", key, putTries, last).
		WithHint("%s", hint)
}

// refused is what a store says about rights and configuration. After a try that may have landed it does not say that nothing
// did.
func refused(doubt bool, what string, err error) error {
	if doubt {
		return fault.New(fault.UnknownOutcome, "%s: %w", what, err).WithHint("nothing was deleted; the next run finds out")
	}
	return fmt.Errorf("%s: %w", what, err)
}

// PutUnlessTaken is Put of a key that others may take for theirs. It looks before it writes: a store that overwrites must not
// make a mistaken prefix the end of what stands there. Errors: as Put's.
func PutUnlessTaken(ctx context.Context, bucket Bucket, key string, content []byte) error {
	found, err := bucket.Read(ctx, key, Span{Limit: int64(len(content)) + 1})
	switch {
	case errors.Is(err, ErrNotFound):
		return Put(ctx, bucket, key, content)
	case errors.Is(err, ErrTooLarge), err == nil && !bytes.Equal(found, content):
		return fault.New(fault.Fenced, "write %s: it holds other content: %w", key, ErrExists)
	case err != nil:
		return fmt.Errorf("look at %s: %w", key, err)
	}
	return nil
}

// final says whether trying again cannot help.
func final(err error) bool {
	class := fault.ClassOf(err)
	return class == fault.Misconfigured || class == fault.Bug
}

// holds says whether the key has exactly this content. ErrNotFound when it has none.
func holds(ctx context.Context, bucket Bucket, key string, content []byte) (bool, error) {
	info, err := bucket.Stat(ctx, key)
	if err != nil {
		return false, err
	}
	if info.Size != int64(len(content)) {
		return false, nil
	}
	if info.Checksum != "" {
		return info.Checksum == manifest.DigestOf(content), nil
	}
	found, err := bucket.Read(ctx, key, Span{Limit: int64(len(content)) + 1})
	return err == nil && bytes.Equal(found, content), err
}

// pause waits before a try that is not the first, longer each time.
func pause(ctx context.Context, try int) error {
	if err := ctx.Err(); err != nil || try == 0 {
		return err
	}
	timer := time.NewTimer(firstWait << (try - 1))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// IsCreateOnly says whether the store refuses a second write of a key that exists with this content. A store that does not
// has just overwritten the content with itself.
func IsCreateOnly(ctx context.Context, bucket Bucket, key string, content []byte) (bool, error) {
	var last error
	for try := range putTries {
		if err := pause(ctx, try); err != nil {
			return false, fault.Wrap(fault.Retryable, errors.Join(err, last))
		}
		last = bucket.Create(ctx, key, content)
		switch {
		case last == nil:
			return false, nil
		case errors.Is(last, ErrExists):
			return true, nil
		case final(last):
			return false, last
		}
	}
	return false, fault.New(fault.Retryable, "probe whether the store overwrites %s: %w", key, last)
}
