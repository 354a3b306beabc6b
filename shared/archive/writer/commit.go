package writer

import (
	"context"
	"errors"
	"slices"

	"tidemark/shared/archive"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/mirror"
	"tidemark/shared/archive/notice"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/manifest/document"
)

// Outcomes of a run, as its end says.
const (
	Done         = "done"
	Failed       = "failed"
	Continuation = "continuation" // time ran out; what was stored is found by the next run
)

// Committed is a backup that is there.
type Committed struct {
	ID        layout.ID
	Statement manifest.Statement
	Digest    manifest.Digest // of the statement
	Copies    int
	Warnings  []string
}

// Commit writes the body and the signed statement; from then on the backup is there, and what fails after it (the second
// bucket, the mark, the end) is a warning.
//
// Errors: ErrTooOld, also when the statement is there and came late; ErrSuperseded; fault.UnknownOutcome when the statement may have landed.
func (r *Run) Commit(ctx context.Context, b body.Body) (Committed, error) {
	b.Version, b.TargetID, b.Incarnation, b.Lineage = document.Version, r.notice.TargetID, r.notice.Life, r.notice.Lineage
	b.Seq, b.RunID = r.notice.Seq, r.notice.RunID
	b.Store = body.Store{
		CreateOnly: r.createOnly, Encryption: r.options.Encryption, Recipients: r.options.Recipients, LockedUntil: r.lockedUntil(),
	}
	b.Warnings = append(slices.Clone(b.Warnings), r.Warnings...)
	object, err := r.storeBody(ctx, b)
	if err != nil {
		return Committed{}, err
	}
	if err := r.recheck(ctx); err != nil {
		return Committed{}, err
	}
	if err := r.young(ctx, object); err != nil {
		return Committed{}, err
	}
	statement, err := r.statement(ctx, b, object)
	if err != nil {
		return Committed{}, err
	}
	c, envelope, err := r.vouch(ctx, statement)
	if err != nil {
		return Committed{}, err
	}
	r.afterwards(ctx, &c, b, envelope)
	return c, nil
}

func (r *Run) storeBody(ctx context.Context, b body.Body) (manifest.Object, error) {
	encoded, err := body.Encode(b)
	if err != nil {
		return manifest.Object{}, fault.New(fault.Bug, "write the body: %w", err)
	}
	packed, err := r.options.Pack(encoded)
	if err != nil {
		return manifest.Object{}, err
	}
	return r.Store(ctx, packed)
}

// young refuses to vouch for a run that is older than a sweep's patience. The body's object is the run's own and has just
// been stored, so both times are the store's.
func (r *Run) young(ctx context.Context, object manifest.Object) error {
	info, err := r.options.Archive.Primary().Stat(ctx, layout.Object(object.Digest))
	if err != nil {
		return err
	}
	if age := info.StoredAt.Sub(r.begun); age > history.RunLife {
		return fault.New(fault.Retryable, "vouch for run %s after %s: %w", r.notice.RunID, age, ErrTooOld).
			WithHint("a new run finds again what this one stored")
	}
	return nil
}

// statement makes what is signed, after one more look at who else writes here.
func (r *Run) statement(ctx context.Context, b body.Body, object manifest.Object) (s manifest.Statement, err error) {
	h, err := r.read(ctx)
	if err != nil {
		return s, err
	}
	if err := r.claim(ctx, h); err != nil {
		return s, err
	}
	newest, _, err := h.Newest(ctx, b.Lineage)
	if err != nil {
		return s, err
	}
	if newest >= b.Seq {
		return s, fault.New(fault.Fenced, "manifest %d of life %s is there already, this one would be %d: %w", newest, b.Lineage, b.Seq,
			history.ErrForked).WithHint("another backup of this target ran beside this one; the next run goes on after it")
	}
	cut, err := b.Cut.Digest()
	if err != nil {
		return s, fault.Wrap(fault.Bug, err)
	}
	return manifest.Statement{
		Version: document.Version, TargetID: b.TargetID, Incarnation: b.Incarnation, Lineage: b.Lineage, Seq: b.Seq, RunID: b.RunID,
		Created: document.Moment(b.Snapshot.Taken), Body: object, CutDigest: cut, Previous: previous(ctx, h), Tool: r.notice.Tool,
	}, nil
}

// previous names the newest statement that verifies.
func previous(ctx context.Context, h *history.History) manifest.Previous {
	for _, e := range h.Entries {
		if m, err := h.Open(ctx, e); err == nil {
			return manifest.Previous{Lineage: m.Lineage, Seq: m.Seq, Digest: m.Digest}
		}
	}
	return manifest.Previous{}
}

// vouch signs the statement and stores it: this is the commit. It is signed once; every retry sends the same bytes.
func (r *Run) vouch(ctx context.Context, s manifest.Statement) (Committed, []byte, error) {
	payload, err := manifest.EncodeStatement(s)
	if err != nil {
		return Committed{}, nil, fault.New(fault.Bug, "write the statement: %w", err)
	}
	envelope, err := r.sign(ctx, manifest.StatementType, payload, s.Created)
	if err != nil {
		return Committed{}, nil, err
	}
	c := Committed{
		ID: layout.ID{Lineage: s.Lineage, Seq: s.Seq, Run: s.RunID}, Statement: s, Digest: manifest.DigestOf(payload), Copies: 1,
	}
	key := layout.Manifest(c.ID)
	if err := archive.Put(ctx, r.options.Archive.Primary(), key, envelope); err != nil {
		return Committed{}, nil, err
	}
	if err := r.retain(ctx, key); err != nil {
		r.warn("lock %s: %v", key, err)
	}
	return c, envelope, r.inTime(ctx, c.ID)
}

// inTime refuses to call a backup done whose statement came late, because the process stood still before it: a sweep may have
// taken what it leans on.
func (r *Run) inTime(ctx context.Context, id layout.ID) error {
	info, err := r.options.Archive.Primary().Stat(ctx, layout.Manifest(id))
	if err != nil {
		r.warn("look at manifest %s: %v", id, err)
		return nil
	}
	if age := info.StoredAt.Sub(r.begun); age > history.RunLife {
		return fault.New(fault.Retryable, "manifest %s came %s after its run began: %w", id, age, ErrTooOld).
			WithHint("it is there and counts only if no sweep took what it leans on; a new run finds again what is left")
	}
	return nil
}

// afterwards does what follows the commit.
func (r *Run) afterwards(ctx context.Context, c *Committed, b body.Body, envelope []byte) {
	m := history.Manifest{
		Entry: history.Entry{ID: c.ID}, Statement: c.Statement, Digest: c.Digest, Envelope: envelope,
	}
	for _, place := range r.options.Archive.Places[1:] {
		switch err := mirror.Copy(ctx, r.options.Archive.Primary(), place, m, b); {
		case errors.Is(err, mirror.ErrUnlocked):
			r.warn("%v", err)
		case err != nil:
			r.warn("the %s bucket has no copy: %v", place.Name, err)
			continue
		}
		c.Copies++
	}
	if r.options.HighWater != nil {
		mark := history.Mark{Lineage: c.ID.Lineage, Seq: c.ID.Seq, Statement: c.Digest}
		if err := r.options.HighWater.Raise(ctx, mark); err != nil {
			r.warn("remember the newest manifest outside the buckets: %v", err)
		}
	}
	c.Warnings = slices.Clone(r.Warnings)
	err := r.End(ctx, notice.End{Outcome: Done, Statement: c.Digest, Copies: c.Copies, Warnings: c.Warnings})
	if err != nil {
		c.Warnings = append(c.Warnings, err.Error())
	}
}

// End says how the run ended, in every bucket that answers.
func (r *Run) End(ctx context.Context, end notice.End) error {
	end.Version, end.RunID, end.Ended = document.Version, r.notice.RunID, document.Moment(r.options.Now())
	encoded, err := notice.Encode(end)
	if err != nil {
		return fault.Wrap(fault.Bug, err)
	}
	var reasons []error
	for i, place := range r.options.Archive.Places {
		if i >= max(end.Copies, 1) {
			break // a bucket that missed the backup learns of its end from the copy
		}
		reasons = append(reasons, archive.Put(ctx, place, layout.End(layout.Run(r.notice.Lineage, r.notice.RunID)), encoded))
	}
	return errors.Join(reasons...)
}
