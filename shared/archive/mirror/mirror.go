// Package mirror owns the second copy of a backup: how it comes into another bucket so that there, too, nothing is listed that
// is not whole.
//
// The order is the one of the first copy: owner, lives and other notices, run, objects, body, statement, end. Every object is
// verified on its way. It refuses to lean on an object that a sweep of the other bucket may be taking, and it deletes nothing.
// No state.
package mirror

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"tidemark/shared/archive"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/notice"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
)

// side by side, each with one object of at most manifest.MaxObject in memory.
const objectsAtOnce = 2

// ErrSwept is in the error that says that a sweep of the other bucket must end first.
var ErrSwept = errors.New("a sweep under way names it")

// Copy brings one manifest with everything that it needs from one bucket to another. What is there already stays.
//
// Errors: fault.Corrupt when the source lacks something, ErrSwept, the stores' own. The next Copy goes on where this one stopped.
func Copy(ctx context.Context, from, to archive.Place, m history.Manifest, b body.Body) error {
	if err := Notices(ctx, from, to); err != nil {
		return err
	}
	if err := copyKey(ctx, from, to, layout.Run(m.Lineage, m.Run)); err != nil && !errors.Is(err, archive.ErrNotFound) {
		return err
	}
	named, err := history.UnderWay(ctx, to)
	if err != nil {
		return err
	}
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(objectsAtOnce)
	for _, object := range b.Objects() {
		group.Go(func() error { return copyObject(inner, from, to, object, named) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := copyObject(ctx, from, to, m.Statement.Body, named); err != nil {
		return err
	}
	if err := archive.Put(ctx, to, layout.Manifest(m.ID), m.Envelope); err != nil {
		return err
	}
	err = copyKey(ctx, from, to, layout.End(layout.Run(m.Lineage, m.Run)))
	if errors.Is(err, archive.ErrNotFound) {
		return nil // its run has not said how it ended, or never will
	}
	return err
}

// Notices copies the owner and every life, decision, revocation and mark that the other bucket lacks.
func Notices(ctx context.Context, from, to archive.Place) error {
	if err := copyOwner(ctx, from, to); err != nil {
		return err
	}
	for _, folder := range []string{layout.Lineages, layout.Decisions, layout.Revoked, layout.Keeps} {
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
	return life || mark || strings.HasPrefix(key, layout.Decisions) && archive.CheckKey(key) == nil
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

func copyObject(ctx context.Context, from, to archive.Place, object manifest.Object, named history.Names) error {
	if named.Has(object.Digest) {
		return fault.New(fault.Retryable, "copy %s to the %s bucket: %w", object.Digest, to.Name, ErrSwept).
			WithHint("end the sweep (tidemark expire --confirm, a day after it began) and copy again")
	}
	err := archive.Check(ctx, to, object)
	if !errors.Is(err, archive.ErrNotFound) {
		return err
	}
	stored, err := archive.FetchFrom(ctx, from, object)
	if err != nil {
		return err
	}
	return archive.Put(ctx, to, layout.Object(object.Digest), stored)
}
