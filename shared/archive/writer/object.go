package writer

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/shared/archive"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/packing"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
)

// Reuse says whether an object that an earlier manifest names may stand in this one, so that its bytes need not be stored
// again. One that a sweep has named may not: the sweep could take it after this manifest was written. That one is gone or
// damaged is a warning: the manifest that names it is no whole backup any more.
func (r *Run) Reuse(ctx context.Context, object manifest.Object) (bool, error) {
	return r.usable(ctx, object, func(err error) {
		r.mu.Lock()
		first := !r.missed
		r.missed = true
		r.mu.Unlock()
		if first { // one of them says enough
			r.warn("an earlier manifest is not whole, and what it misses is stored again: %v", err)
		}
	})
}

func (r *Run) usable(ctx context.Context, object manifest.Object, missed func(error)) (bool, error) {
	r.mu.Lock()
	known := r.fresh[object.Digest] || r.reused[object.Digest] == object
	condemned := r.condemned.Has(object.Digest)
	r.mu.Unlock()
	if known || condemned {
		return known, nil
	}
	err := archive.Check(ctx, r.options.Archive.Primary(), object)
	if fault.Is(err, fault.Corrupt) {
		missed(err) // it is stored again
		return false, nil
	}
	if err != nil {
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reused[object.Digest] = object
	return true, nil
}

// Store stores an object and gives it as the manifest must name it. Bytes that are condemned, or whose key holds something
// else, get another form and with it another key.
func (r *Run) Store(ctx context.Context, packed packing.Packed) (manifest.Object, error) {
	salted := r.condemned.Has(packed.Object.Digest)
	if salted {
		packed = packed.Salted(r.notice.RunID.String())
	}
	err := r.put(ctx, packed)
	if errors.Is(err, archive.ErrExists) && !salted {
		r.warn("%s of the %s bucket holds other bytes than its name says", layout.Object(packed.Object.Digest),
			r.options.Archive.Primary().Name)
		packed = packed.Salted(r.notice.RunID.String())
		err = r.put(ctx, packed)
	}
	if err != nil {
		return manifest.Object{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fresh[packed.Object.Digest] = true
	return packed.Object, nil
}

// askFirst is the size from which looking whether an object is there costs less than sending it for nothing.
const askFirst = 256 << 10

func (r *Run) put(ctx context.Context, packed packing.Packed) error {
	if packed.Object.Size >= askFirst {
		if there, err := r.usable(ctx, packed.Object, func(error) {}); err != nil || there {
			return err // a run that died has stored it
		}
	}
	key, primary := layout.Object(packed.Object.Digest), r.options.Archive.Primary()
	if err := archive.Put(ctx, primary, key, packed.Stored); err != nil {
		return err
	}
	return r.retain(ctx, key)
}

// retain locks an object in buckets that can.
func (r *Run) retain(ctx context.Context, key string) error {
	retainer, can := r.options.Archive.Primary().Bucket.(archive.Retainer)
	if !can || r.options.Retain == 0 {
		return nil
	}
	return retainer.Retain(ctx, key, r.lockedUntil())
}

func (r *Run) lockedUntil() time.Time {
	if r.options.Retain == 0 {
		return time.Time{}
	}
	return r.begun.Add(r.options.Retain).UTC()
}

// checks is how many objects are looked at side by side.
const checks = 16

// recheck looks at every reused object once more, right before the statement that leans on them.
func (r *Run) recheck(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(checks)
	for _, object := range r.reused {
		group.Go(func() error {
			err := archive.Check(ctx, r.options.Archive.Primary(), object)
			if fault.Is(err, fault.Corrupt) {
				return fault.New(fault.Retryable, "an object went while it was to be used again: %w", err).
					WithHint("the next run stores it anew; look for a lifecycle rule or for somebody who deletes")
			}
			if err != nil {
				return err
			}
			return r.retain(ctx, layout.Object(object.Digest))
		})
	}
	return group.Wait()
}
