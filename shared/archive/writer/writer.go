// Package writer owns the order in which a backup is written, so that whatever stops it, nothing is listed that is not whole.
//
// Order: owner, run, lives and sweeps read, chunks, body, re-check of what is reused, lives read again, signed statement,
// second bucket, mark, end. Up to the statement there is nothing but objects that nobody refers to; from it on the backup is
// there. Nothing is ever rewritten or deleted. It refuses to write for a life that is not the latest, and to lean on an object
// that a sweep has named. A Run belongs to one backup; Store and Reuse may be called by several goroutines.
package writer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/notice"
	"tidemark/shared/archive/packing"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/document"
	"tidemark/shared/signing"
)

// Options says where a backup goes and who vouches for it.
type Options struct {
	Archive *archive.Archive
	Signers []signing.Signer
	// Pack turns the plain bytes of a body into an object's.
	Pack func(plain []byte) (packing.Packed, error)
	// HighWater remembers the newest manifest outside the buckets; nil: nobody does.
	HighWater history.HighWater
	// Retain locks every object for so long, in buckets that can; 0: what the bucket does by itself.
	Retain time.Duration
	// Encryption is what the store was told, for the manifest.
	Encryption string
	// Recipients is how many keys objects are encrypted to.
	Recipients int
	Now        func() time.Time
}

// Errors of a run.
var (
	// ErrLineageTaken says that the archive knows this life's number as another's.
	ErrLineageTaken = errors.New("the lineage is another life's")
	// ErrSuperseded says that a later life exists.
	ErrSuperseded = errors.New("a later life of the target exists")
	// ErrTooOld says that a run outlived its time.
	ErrTooOld = errors.New("the run is too old")
)

// Run is one backup that is being written.
type Run struct {
	Warnings []string

	options    Options
	notice     notice.Run
	createOnly bool
	begun      time.Time // by the store's clock
	found      *history.History
	condemned  history.Names

	mu     sync.Mutex
	reused map[manifest.Digest]manifest.Object
	fresh  map[manifest.Digest]bool
	missed bool // an object of an earlier manifest was not there
}

// Begin writes the run's record and reads what was decided before it.
//
// Errors: archive.ErrForeign; ErrSuperseded and ErrLineageTaken, which are fault.Fenced; the store's.
func Begin(ctx context.Context, options Options, run notice.Run) (*Run, error) {
	r := &Run{options: options, notice: run, reused: map[manifest.Digest]manifest.Object{}, fresh: map[manifest.Digest]bool{}}
	r.notice.Version, r.notice.TargetID = document.Version, options.Archive.Target
	if err := r.own(ctx); err != nil {
		return nil, err
	}
	if err := r.announce(ctx); err != nil {
		return nil, err
	}
	// Read after the record is there: a sweep that this reading misses names its objects later than the record, and waits
	// longer than a run may live.
	h, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.claim(ctx, h); err != nil {
		return nil, err
	}
	r.found = h
	if r.condemned, err = h.Condemned(ctx); err != nil {
		return nil, err
	}
	for _, err := range slices.Concat(h.Unreached, r.condemned.Unreadable) {
		r.warn("%v", err)
	}
	return r, nil
}

// Began is when the store got the run's record, by its clock.
func (r *Run) Began() time.Time { return r.begun }

// Found is what the archive held when the run began. It decides nothing that is signed: for that the archive is read anew.
func (r *Run) Found() *history.History { return r.found }

// own makes the prefix this target's, or finds that it is another's, and sees whether the store overwrites.
func (r *Run) own(ctx context.Context) error {
	primary := r.options.Archive.Primary()
	owner, err := notice.Encode(notice.Owner{Version: document.Version, TargetID: r.options.Archive.Target})
	if err != nil {
		return fault.Wrap(fault.Misconfigured, err)
	}
	err = archive.PutUnlessTaken(ctx, primary, layout.Owner, owner)
	if errors.Is(err, archive.ErrExists) {
		return fault.New(fault.Misconfigured, "write to the %s bucket: %w", primary.Name, archive.ErrForeign).
			WithHint("give each target a prefix of its own; nothing was written")
	}
	if err != nil {
		return err
	}
	if r.createOnly, err = archive.IsCreateOnly(ctx, primary, layout.Owner, owner); err != nil {
		return err
	}
	if !r.createOnly {
		r.warn("the %s bucket overwrites: If-None-Match does nothing there", primary.Name)
	}
	return nil
}

func (r *Run) announce(ctx context.Context) error {
	encoded, err := notice.Encode(r.notice)
	if err != nil {
		return fault.Wrap(fault.Bug, err)
	}
	key, primary := layout.Run(r.notice.Lineage, r.notice.RunID), r.options.Archive.Primary()
	if err := archive.Put(ctx, primary, key, encoded); err != nil {
		return err
	}
	info, err := primary.Stat(ctx, key)
	r.begun = info.StoredAt
	return err
}

// read reads the archive and refuses to go on beside a later life.
func (r *Run) read(ctx context.Context) (*history.History, error) {
	h, err := history.Read(ctx, r.options.Archive)
	if err != nil {
		return nil, err
	}
	// Its sweeps, lives and numbers decide what may be written. That the other bucket does not answer is no reason to go
	// without a backup.
	if err := h.ReachedPlace(r.options.Archive.Primary().Name); err != nil {
		return nil, err
	}
	for _, life := range h.Lives {
		if life.Problem != nil && r.notice.Lineage.Before(life.Lineage) {
			return nil, fault.New(fault.Corrupt, "back up life %s beside a record of life %s: %w", r.notice.Lineage, life.Lineage, life.Problem).
				WithHint("pin the key that signed %s; if nobody recovered the target, remove that object", layout.Lineage(life.Lineage))
		}
	}
	latest, err := h.Latest(ctx)
	if err != nil {
		return nil, err
	}
	if r.notice.Lineage.Before(latest) {
		return nil, fault.New(fault.Fenced, "back up life %s: %w: %s", r.notice.Lineage, ErrSuperseded, latest).
			WithHint("this database was recovered elsewhere: it must not be backed up as the target any more")
	}
	return h, nil
}

// claim makes this life's record, or finds that it is there. Two databases that both believe to be this life differ in their
// incarnation, and whoever comes second is refused.
func (r *Run) claim(ctx context.Context, h *history.History) error {
	lineage, primary := r.notice.Lineage, r.options.Archive.Primary()
	life, known := h.Life(lineage)
	var err error
	if known {
		err = r.carry(ctx, layout.Lineage(lineage))
	} else {
		life, err = r.firstClaim(ctx)
	}
	if err != nil {
		return err
	}
	if life.Incarnation != r.notice.Life {
		return fault.New(fault.Fenced, "life %s is incarnation %s in the %s bucket, this database is %s: %w", lineage, life.Incarnation,
			primary.Name, r.notice.Life, ErrLineageTaken).
			WithHint("two databases believe to be one target: one of them is a clone, and a clone is another target")
	}
	return nil
}

// carry brings a life's record into the primary when another bucket alone has it, because the primary is new or lost it.
// Minted there anew, while the other is down, it would be another life's.
func (r *Run) carry(ctx context.Context, key string) error {
	primary := r.options.Archive.Primary()
	_, missing := primary.Stat(ctx, key)
	if !errors.Is(missing, archive.ErrNotFound) {
		return missing
	}
	for _, place := range r.options.Archive.Places[1:] {
		record, err := place.Read(ctx, key, archive.Span{Limit: signing.MaxEnvelope})
		if err == nil {
			return archive.Put(ctx, primary, key, record)
		}
		missing = err
	}
	return missing
}

func (r *Run) firstClaim(ctx context.Context) (notice.Life, error) {
	life := notice.Life{
		Version: document.Version, TargetID: r.notice.TargetID, Lineage: r.notice.Lineage, Incarnation: r.notice.Life,
		RunID: r.notice.RunID, Created: document.Moment(r.options.Now()), Tool: r.notice.Tool,
	}
	encoded, err := r.seal(ctx, notice.LifeType, life)
	if err != nil {
		return life, err
	}
	err = archive.Put(ctx, r.options.Archive.Primary(), layout.Lineage(life.Lineage), encoded)
	if !errors.Is(err, archive.ErrExists) {
		return life, err
	}
	h, err := r.read(ctx) // another run was first: perhaps of the same life
	if err != nil {
		return life, err
	}
	if life, known := h.Life(r.notice.Lineage); known {
		return life, nil
	}
	return life, fault.New(fault.Corrupt, "the record of life %s cannot be believed: %w", life.Lineage, signing.ErrUntrusted).
		WithHint("pin the key that signed %s, or remove that object", layout.Lineage(life.Lineage))
}

// seal signs a notice and makes sure that its readers will believe it.
func (r *Run) seal(ctx context.Context, payloadType string, document interface{ Validate() error }) ([]byte, error) {
	payload, err := notice.Encode(document)
	if err != nil {
		return nil, fault.Wrap(fault.Bug, err)
	}
	return r.sign(ctx, payloadType, payload, r.options.Now())
}

// sign signs what says that it was created then. A key's window may have begun, or ended, while the run went on.
func (r *Run) sign(ctx context.Context, payloadType string, payload []byte, created time.Time) ([]byte, error) {
	return r.options.Archive.Trusted.Seal(ctx, created, r.options.Now(), payloadType, payload, r.options.Signers...)
}

func (r *Run) warn(form string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Warnings = append(r.Warnings, fmt.Sprintf(form, args...))
}
