// Package archive owns how backups stand in object storage: which bucket is asked what, how a key is written so that it is
// never overwritten, and how an object is read so that it is never believed unseen.
//
// It declares the contract that buckets fulfil (Bucket; the suite is in archivetest) and puts the rules of one step on top:
// Put, which ends every doubt about a create-only write by reading back, and Archive, the two buckets of a target. The rules
// of many steps stand beneath: layout (keys), notice (small documents), packing (plain bytes to stored bytes), history (which
// manifests exist and may be used), writer (the order of a backup's writes), mirror (the second bucket). DESIGN.md walks a
// manifest's life. It refuses to delete: that is for package expiry. It keeps no state between calls; everything in it may be
// used by several goroutines.
package archive

import (
	"context"
	"errors"
	"fmt"

	"tidemark/shared/archive/layout"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/position"
	"tidemark/shared/signing"
)

// Place is one bucket of an archive, under the name that people see.
type Place struct {
	Name string // primary or secondary
	Bucket
}

// Archive is the buckets of one target, the keys that are trusted there, and how objects are unpacked.
type Archive struct {
	Target  position.TargetID
	Places  []Place // the primary first; a second one is optional
	Trusted signing.Keyring
	// Unpack gives the plain bytes of an object after every check. The limit is the largest plain size that is taken.
	Unpack func(stored []byte, object manifest.Object, limit int64) ([]byte, error)
}

// ErrForeign is in the error that says that an archive is another target's.
var ErrForeign = errors.New("the archive belongs to another target")

// Primary is the place that a backup must reach.
func (a *Archive) Primary() Place { return a.Places[0] }

// Fetch gives the stored bytes of an object from the first place that has them whole. An object that a place has in another
// form than its name says is reported even where another place has it whole: damaged is called once for each.
//
// Errors: fault.Corrupt when every place that has it has it damaged, with ErrNotFound when none has it.
func (a *Archive) Fetch(ctx context.Context, object manifest.Object, damaged func(Place, error)) ([]byte, error) {
	var reasons []error
	for _, place := range a.Places {
		stored, err := FetchFrom(ctx, place, object)
		if err == nil {
			return stored, nil
		}
		if fault.Is(err, fault.Corrupt) && damaged != nil {
			damaged(place, err)
		}
		reasons = append(reasons, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, worst(reasons)
}

// FetchFrom gives the stored bytes of an object from one place, verified.
func FetchFrom(ctx context.Context, place Place, object manifest.Object) ([]byte, error) {
	key := layout.Object(object.Digest)
	stored, err := place.Read(ctx, key, Span{Limit: object.Size})
	switch {
	case errors.Is(err, ErrTooLarge):
		return nil, fault.New(fault.Corrupt, "read %s of the %s bucket: larger than the %d bytes in its manifest: %w", key, place.Name,
			object.Size, err)
	case errors.Is(err, ErrNotFound):
		return nil, fault.New(fault.Corrupt, "read %s of the %s bucket: %w", key, place.Name, err)
	case err != nil:
		return nil, fmt.Errorf("read %s of the %s bucket: %w", key, place.Name, err)
	case manifest.DigestOf(stored) != object.Digest:
		return nil, fault.New(fault.Corrupt, "read %s of the %s bucket: %d bytes that are not what the name says", key, place.Name,
			len(stored))
	}
	return stored, nil
}

// worst joins why several places could not give something, under the class that tells most: a place that did not answer and
// may have it whole, then damage, then absence, which counts only when every place said so.
func worst(reasons []error) error {
	joined := errors.Join(reasons...)
	for _, class := range []fault.Class{fault.Retryable, fault.Corrupt, fault.Misconfigured} {
		for _, reason := range reasons {
			if fault.Is(reason, class) && !errors.Is(reason, ErrNotFound) {
				return fault.Wrap(class, joined)
			}
		}
	}
	return joined
}

// Check finds an object in one place without reading it: its size, and its checksum where the store keeps one.
//
// Errors: fault.Corrupt when what is there cannot be it, with ErrNotFound when nothing is.
func Check(ctx context.Context, place Place, object manifest.Object) error {
	key := layout.Object(object.Digest)
	info, err := place.Stat(ctx, key)
	switch {
	case errors.Is(err, ErrNotFound):
		return fault.New(fault.Corrupt, "look at %s of the %s bucket: %w", key, place.Name, err)
	case err != nil:
		return fmt.Errorf("look at %s of the %s bucket: %w", key, place.Name, err)
	case info.Size != object.Size, info.Checksum != "" && info.Checksum != object.Digest:
		return fault.New(fault.Corrupt, "look at %s of the %s bucket: %d bytes with checksum %q, want %d", key, place.Name, info.Size,
			info.Checksum, object.Size)
	}
	return nil
}
