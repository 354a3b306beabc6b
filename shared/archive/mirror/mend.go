package mirror

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"tidemark/shared/archive"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
)

// locksAtOnce is how many locks are asked for side by side.
const locksAtOnce = 16

// Mended says what a mending found and did.
type Mended struct {
	Copied    []layout.ID      // newest first
	Already   []layout.ID      // whole in the other bucket before
	Withdrawn []layout.ID      // revoked, so nobody needs a copy
	Failed    []history.Passed // not whole in the source, or not taken by the other bucket
}

// Mend copies every manifest that one place lists and the other lacks, in whole or in part, the newest first, after all
// notices. Only what verifies is copied: a damaged manifest fails by name, and the others go on.
//
// Errors: history.ErrNoBackup when the source lists no manifest; the stores' own, beside what was done; ErrUnlocked when all of
// it was done and a copy is not locked. Mending again goes on where it stopped.
func Mend(ctx context.Context, h *history.History, from, to archive.Place) (done Mended, err error) {
	entries := slices.DeleteFunc(slices.Clone(h.Entries), func(e history.Entry) bool { return !listedIn(e, from) })
	if len(entries) == 0 {
		return done, fault.New(fault.Misconfigured, "copy from the %s bucket: %w", from.Name, history.ErrNoBackup).
			WithHint("check its address and prefix; --from names the bucket that has the backups")
	}
	if err := Notices(ctx, from, to); err != nil {
		return done, err
	}
	stock, err := h.Stock(ctx)
	if err != nil {
		return done, err
	}
	p := newPair(from, to)
	for _, info := range stock[to.Name] {
		p.locks.saw(info.StoredAt)
	}
	var unlocked error // the first
	for _, e := range entries {
		if e.Revoked {
			done.Withdrawn = append(done.Withdrawn, e.ID)
			continue
		}
		already, err := p.mend(ctx, h, e, stock)
		if errors.Is(err, ErrUnlocked) {
			unlocked, err = cmp.Or(unlocked, err), nil
		}
		switch {
		case err == nil && already:
			done.Already = append(done.Already, e.ID)
		case err == nil:
			done.Copied = append(done.Copied, e.ID)
		case ctx.Err() != nil, ofStore(err):
			return done, err
		default:
			done.Failed = append(done.Failed, history.Passed{ID: e.ID, Reason: err})
		}
	}
	return done, unlocked
}

// mend copies one manifest, or finds that it is there already and extends its locks.
func (p pair) mend(ctx context.Context, h *history.History, e history.Entry, stock history.Stock) (already bool, err error) {
	m, b, err := whole(ctx, h, e, stock)
	if err != nil {
		return false, err
	}
	objects := history.Objects(m, b)
	if !listedIn(e, p.to) || !complete(stock, p.to, objects) {
		return false, p.copy(ctx, m, b)
	}
	if err := archive.Put(ctx, p.to, layout.Manifest(m.ID), m.Envelope); err != nil { // finds it there, or something else
		return true, err
	}
	until := b.Store.LockedUntil
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(locksAtOnce)
	for _, object := range objects {
		group.Go(func() error { return p.locks.hold(inner, layout.Object(object.Digest), until) })
	}
	if err := group.Wait(); err != nil {
		return true, err
	}
	if err := p.locks.hold(ctx, layout.Manifest(m.ID), until); err != nil {
		return true, err
	}
	return true, p.locks.judge(m.ID, until)
}

func listedIn(e history.Entry, place archive.Place) bool {
	return slices.ContainsFunc(e.Copies, func(c history.Copy) bool { return c.Place.Name == place.Name })
}

// whole verifies a manifest as far as copying needs it: its objects' bytes are verified on their way.
func whole(ctx context.Context, h *history.History, e history.Entry, stock history.Stock) (m history.Manifest, b body.Body, err error) {
	if m, err = h.Open(ctx, e); err != nil {
		return m, b, judged(err)
	}
	if b, err = h.Body(ctx, m); err != nil {
		return m, b, judged(err)
	}
	if err = h.Whole(ctx, m, history.Objects(m, b), stock); err != nil {
		return m, b, judged(err)
	}
	return m, b, nil
}

func complete(stock history.Stock, place archive.Place, objects []manifest.Object) bool {
	return !slices.ContainsFunc(objects, func(o manifest.Object) bool { return !stock.Has(place.Name, o) })
}

// judgement is why a manifest may not be copied, which is no reason to leave out the next one.
type judgement struct{ error }

// Unwrap gives the reason.
func (j judgement) Unwrap() error { return j.error }

// judged tells what is wrong with a manifest from a store that does not answer. A body that no identity opens is of the
// first kind, and of the same class as a store that denies access.
func judged(err error) error {
	if fault.Is(err, fault.Retryable) || errors.Is(err, archive.ErrDenied) {
		return err
	}
	return judgement{err}
}

// ofStore says whether an error is a store's, which would meet every other manifest too.
func ofStore(err error) bool {
	if _, is := errors.AsType[judgement](err); is || errors.Is(err, ErrSwept) {
		return false
	}
	return !fault.Is(err, fault.Corrupt) && !fault.Is(err, fault.Fenced)
}
