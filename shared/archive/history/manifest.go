package history

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/archive/layout"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/signing"
)

// Errors that say why a manifest may not be used.
var (
	ErrRevoked    = errors.New("the manifest was withdrawn")
	ErrIncomplete = errors.New("the manifest misses objects")
)

// Manifest is an entry whose statement was verified.
type Manifest struct {
	Entry
	Statement manifest.Statement
	Digest    manifest.Digest // of the statement's bytes as they were signed
	Envelope  []byte          // as the store has it
}

// Late says whether every copy came too late after its run began.
func (e Entry) Late() bool {
	return !slices.ContainsFunc(e.Copies, func(c Copy) bool { return !c.Late })
}

// Open verifies the statement of an entry, from the first copy that verifies.
//
// Errors: fault.Corrupt, with signing.ErrUntrusted where it is a matter of keys; ErrRevoked; the store's own when no copy
// could be read.
func (h *History) Open(ctx context.Context, e Entry) (Manifest, error) {
	if e.Revoked {
		return Manifest{}, fault.New(fault.Misconfigured, "manifest %s: %w", e.ID, ErrRevoked)
	}
	return h.OpenRevoked(ctx, e)
}

// OpenRevoked is Open for those who must know what a withdrawn manifest holds.
func (h *History) OpenRevoked(ctx context.Context, e Entry) (Manifest, error) {
	var reasons []error
	for _, c := range e.Copies {
		m, err := h.openCopy(ctx, e, c)
		if err == nil {
			return m, nil
		}
		reasons = append(reasons, fmt.Errorf("manifest %s of the %s bucket: %w", e.ID, c.Place.Name, err))
	}
	return Manifest{}, gravest(reasons)
}

func (h *History) openCopy(ctx context.Context, e Entry, c Copy) (Manifest, error) {
	encoded, err := c.Place.Read(ctx, layout.Manifest(e.ID), archive.Span{Limit: signing.MaxEnvelope})
	switch {
	case errors.Is(err, archive.ErrTooLarge), errors.Is(err, archive.ErrNotFound): // listed, and not there
		return Manifest{}, fault.New(fault.Corrupt, "read it: %w", err)
	case err != nil:
		return Manifest{}, err
	}
	opened, err := h.archive.Trusted.Open(manifest.StatementType, encoded)
	if err != nil {
		return Manifest{}, err
	}
	s, err := manifest.DecodeStatement(opened.Payload)
	if err != nil {
		return Manifest{}, err
	}
	switch {
	case s.TargetID != h.archive.Target:
		return Manifest{}, fault.New(fault.Corrupt, "its statement is of target %s: %w", s.TargetID, archive.ErrForeign)
	case (layout.ID{Lineage: s.Lineage, Seq: s.Seq, Run: s.RunID}) != e.ID:
		return Manifest{}, fault.New(fault.Corrupt, "its statement is of manifest %s/%d-%s", s.Lineage, s.Seq, s.RunID)
	}
	if err := opened.JudgeAt(s.Created, firstStored(e.Copies)); err != nil {
		return Manifest{}, err
	}
	return Manifest{Entry: e, Statement: s, Digest: manifest.DigestOf(opened.Payload), Envelope: encoded}, nil
}

// firstStored is when the first copy came to its store: later ones may have been copied after a key expired.
func firstStored(copies []Copy) time.Time {
	first := copies[0].StoredAt
	for _, c := range copies[1:] {
		if c.StoredAt.Before(first) {
			first = c.StoredAt
		}
	}
	return first
}

// gravest joins the reasons of several places under the class that tells most: one that may come back says that another
// try may find it good.
func gravest(reasons []error) error {
	joined := errors.Join(reasons...)
	for _, reason := range reasons {
		if fault.Is(reason, fault.Retryable) {
			return fault.Wrap(fault.Retryable, joined)
		}
	}
	return joined
}

// Body reads and verifies the body that a manifest vouches for.
func (h *History) Body(ctx context.Context, m Manifest) (body.Body, error) {
	plain, err := h.fetch(ctx, m.Statement.Body, body.MaxSize)
	if err != nil {
		return body.Body{}, fmt.Errorf("body of manifest %s: %w", m.ID, err)
	}
	b, err := body.Decode(plain)
	if err != nil {
		return body.Body{}, fmt.Errorf("body of manifest %s: %w", m.ID, err)
	}
	cut, err := b.Cut.Digest()
	s := m.Statement
	if err == nil && (b.TargetID != s.TargetID || b.Incarnation != s.Incarnation || b.Lineage != s.Lineage || b.Seq != s.Seq ||
		b.RunID != s.RunID || cut != s.CutDigest) {
		err = fault.New(fault.Corrupt, "body of manifest %s: it is not the one that its statement tells of", m.ID)
	}
	return b, err
}

func (h *History) fetch(ctx context.Context, object manifest.Object, limit int64) ([]byte, error) {
	stored, err := h.archive.Fetch(ctx, object, nil)
	if err != nil {
		return nil, err
	}
	return h.archive.Unpack(stored, object, limit)
}

// Stock is the sizes of the objects that each place lists.
type Stock map[string]map[manifest.Digest]archive.Info

// Stock lists the objects of every place that answered.
func (h *History) Stock(ctx context.Context) (Stock, error) {
	stock := Stock{}
	for _, place := range h.places {
		here := map[manifest.Digest]archive.Info{}
		for info, err := range place.List(ctx, layout.Objects) {
			if err != nil {
				return nil, fmt.Errorf("list the %s bucket: %w", place.Name, err)
			}
			if digest, ok := layout.ParseObject(info.Key); ok {
				here[digest] = info
			}
		}
		stock[place.Name] = here
	}
	return stock, nil
}

// Has says whether a place lists the object with its size.
func (s Stock) Has(place string, object manifest.Object) bool {
	info, listed := s[place][object.Digest]
	return listed && info.Size == object.Size
}

// Missing are the objects that no place lists with their size.
func (s Stock) Missing(objects []manifest.Object) []manifest.Object {
	var missing []manifest.Object
	for _, object := range objects {
		found := false
		for place := range s {
			found = found || s.Has(place, object)
		}
		if !found {
			missing = append(missing, object)
		}
	}
	return missing
}

// Objects are everything that a manifest refers to: the objects of its tables, and its body.
func Objects(m Manifest, b body.Body) []manifest.Object { return append(b.Objects(), m.Statement.Body) }

// Whole refuses a manifest that misses objects, and a late one that leans on what a sweep may still take: its run had ended
// for the sweep before it was there to be seen.
func (h *History) Whole(ctx context.Context, m Manifest, objects []manifest.Object, stock Stock) error {
	if missing := stock.Missing(objects); len(missing) > 0 {
		return fault.New(fault.Corrupt, "manifest %s: %w: %d of %d, the first is %s", m.ID, ErrIncomplete, len(missing), len(objects),
			missing[0].Digest)
	}
	if !m.Late() {
		return nil
	}
	named, err := h.named(ctx, firstStored(m.Copies))
	if err != nil {
		return err
	}
	for _, object := range objects {
		if named.Has(object.Digest) {
			return fault.New(fault.Corrupt, "manifest %s: %w: it came late, and a sweep under way names %s", m.ID, ErrIncomplete,
				object.Digest)
		}
	}
	return nil
}
