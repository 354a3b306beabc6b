// Package mirror owns the second copy of a backup: how it comes into another bucket so that there, too, nothing is listed that
// is not whole.
//
// The order is the one of the first copy: owner, lives and other notices, run, objects, body, statement, end. Every object is
// verified on its way, and what is locked in the first bucket is locked in the other for as long, where that can. It refuses to
// lean on an object that a sweep of the other bucket may be taking, and it deletes nothing. No state.
package mirror

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/shared/archive"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/layout/decided"
	"tidemark/shared/archive/layout/verified"
	"tidemark/shared/archive/notice"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
)

// side by side, each with one object of at most manifest.MaxObject in memory.
const objectsAtOnce = 2

// ErrSwept is in the error that says that a sweep of the other bucket must end first.
var ErrSwept = errors.New("a sweep under way names it")

// pair is the two buckets.
type pair struct {
	from, to archive.Place
	locks    *locks // of the second
}

func newPair(from, to archive.Place) pair {
	return pair{from, to, &locks{to: to, held: map[string]time.Time{}}}
}

// Copy brings one manifest with everything that it needs from one bucket to another, and locks it there as the first copy is.
// What is there already stays, and its lock is extended.
//
// Errors: fault.Corrupt when the source lacks something, ErrSwept, the stores' own; ErrUnlocked beside a copy that is whole. The
// next Copy goes on where this one stopped.
func Copy(ctx context.Context, from, to archive.Place, m history.Manifest, b body.Body) error {
	if err := Notices(ctx, from, to); err != nil {
		return err
	}
	return newPair(from, to).copy(ctx, m, b)
}

// copy is Copy after the notices, which all manifests share.
func (p pair) copy(ctx context.Context, m history.Manifest, b body.Body) error {
	if err := p.copyRun(ctx, m); err != nil {
		return err
	}
	named, err := history.UnderWay(ctx, p.to)
	if err != nil {
		return err
	}
	until := b.Store.LockedUntil
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(objectsAtOnce)
	for _, object := range b.Objects() {
		group.Go(func() error { return p.copyObject(inner, object, named, until) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := p.copyObject(ctx, m.Statement.Body, named, until); err != nil {
		return err
	}
	if err := archive.Put(ctx, p.to, layout.Manifest(m.ID), m.Envelope); err != nil {
		return err
	}
	if err := p.locks.hold(ctx, layout.Manifest(m.ID), until); err != nil {
		return err
	}
	err = copyKey(ctx, p.from, p.to, layout.End(layout.Run(m.Lineage, m.Run)))
	if err != nil && !errors.Is(err, archive.ErrNotFound) { // its run has not said how it ended, or never will
		return err
	}
	return p.locks.judge(m.ID, until)
}

// copyRun copies the record of a manifest's run, and learns from it what time it is in the other bucket.
func (p pair) copyRun(ctx context.Context, m history.Manifest) error {
	key := layout.Run(m.Lineage, m.Run)
	err := copyKey(ctx, p.from, p.to, key)
	if errors.Is(err, archive.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	info, err := p.to.Stat(ctx, key)
	p.locks.saw(info.StoredAt)
	return err
}

// Notices copies the owner and every life, decision, revocation, mark and report that the other bucket lacks.
func Notices(ctx context.Context, from, to archive.Place) error {
	if err := copyOwner(ctx, from, to); err != nil {
		return err
	}
	for _, folder := range []string{layout.Lineages, decided.Folder, layout.Revoked, layout.Keeps, verified.Folder} {
		if err := copyFolder(ctx, from, to, folder); err != nil {
			return err
		}
	}
	return nil
}

func copyOwner(ctx context.Context, from, to archive.Place) error {
	owner, err := from.Read(ctx, layout.Owner, archive.Span{Limit: notice.MaxSize})
	if err != nil {
		return fmt.Errorf("read %s of the %s bucket: %w", layout.Owner, from.Name, err)
	}
	err = archive.PutUnlessTaken(ctx, to, layout.Owner, owner)
	if errors.Is(err, archive.ErrExists) {
		return fault.New(fault.Misconfigured, "copy to the %s bucket: %w", to.Name, archive.ErrForeign)
	}
	return err
}

// isNotice says whether Tidemark made the key. What else lies beside is nobody's, and is not copied.
func isNotice(key string) bool {
	_, life := layout.ParseLineage(key)
	_, _, mark := layout.ParseMark(key)
	_, _, _, report := verified.Parse(key)
	return life || mark || report || strings.HasPrefix(key, decided.Folder) && archive.CheckKey(key) == nil
}

func copyFolder(ctx context.Context, from, to archive.Place, folder string) error {
	there := map[string]bool{}
	for info, err := range to.List(ctx, folder) {
		if err != nil {
			return fmt.Errorf("list the %s bucket: %w", to.Name, err)
		}
		there[info.Key] = true
	}
	for info, err := range from.List(ctx, folder) {
		if err != nil {
			return fmt.Errorf("list the %s bucket: %w", from.Name, err)
		}
		if there[info.Key] || !isNotice(info.Key) {
			continue
		}
		// One that went since it was listed, or that no reader would take, is no reason to leave a backup without a copy.
		err := copyKey(ctx, from, to, info.Key)
		if err != nil && !errors.Is(err, archive.ErrNotFound) && !errors.Is(err, archive.ErrTooLarge) {
			return err
		}
	}
	return nil
}

func copyKey(ctx context.Context, from, to archive.Place, key string) error {
	content, err := from.Read(ctx, key, archive.Span{Limit: notice.MaxSize})
	if err != nil {
		return fmt.Errorf("read %s of the %s bucket: %w", key, from.Name, err)
	}
	return archive.Put(ctx, to, key, content)
}

func (p pair) copyObject(ctx context.Context, object manifest.Object, named history.Names, until time.Time) error {
	if named.Has(object.Digest) {
		return fault.New(fault.Retryable, "copy %s to the %s bucket: %w", object.Digest, p.to.Name, ErrSwept).
			WithHint("end the sweep (tidemark expire --confirm, a day after it began) and copy again")
	}
	key := layout.Object(object.Digest)
	err := archive.Check(ctx, p.to, object)
	if errors.Is(err, archive.ErrNotFound) {
		var stored []byte
		if stored, err = archive.FetchFrom(ctx, p.from, object); err == nil {
			err = archive.Put(ctx, p.to, key, stored)
		}
	}
	if err != nil {
		return err
	}
	return p.locks.hold(ctx, key, until)
}
