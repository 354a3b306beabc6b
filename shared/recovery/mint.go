package recovery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/notice"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/document"
)

// mint makes the record of the life that a try takes. Whoever creates it owns the number; who finds it made by his own run goes
// on.
func (o Options) mint(ctx context.Context, t Try) error {
	h, err := history.Read(ctx, o.Archive)
	if err != nil {
		return lineageForked(err)
	}
	if life, known := h.Life(t.Lineage); known {
		return heldUnless(life.RunID == t.RunID, t, life.RunID)
	}
	primary := o.Archive.Primary()
	if err := h.ReachedPlace(primary.Name); err != nil {
		return err // its sweeps and its lives decide what may be written
	}
	envelope, err := o.record(ctx, h, t)
	if err != nil {
		return err
	}
	err = archive.PutUnlessTaken(ctx, primary, layout.Lineage(t.Lineage), envelope)
	if errors.Is(err, archive.ErrExists) { // another was first, or an earlier try of ours signed other bytes
		if h, err = history.Read(ctx, o.Archive); err != nil {
			return lineageForked(err)
		}
		life, known := h.Life(t.Lineage)
		return heldUnless(known && life.RunID == t.RunID, t, life.RunID)
	}
	if err != nil {
		return fmt.Errorf("take life %s: %w", t.Lineage, err)
	}
	for _, place := range o.Archive.Places[1:] {
		if err := archive.PutUnlessTaken(ctx, place, layout.Lineage(t.Lineage), envelope); errors.Is(err, archive.ErrExists) {
			return lineageForked(fault.New(fault.Fenced, "the %s bucket has another record of life %s: %w", place.Name, t.Lineage,
				history.ErrLineageForked))
		}
	}
	return nil
}

// record is the life's record, signed, after what it refers to is stored.
func (o Options) record(ctx context.Context, h *history.History, t Try) ([]byte, error) {
	cut, err := notice.Encode(notice.SharedCut{Version: document.Version, Cut: t.Ends})
	if err != nil {
		return nil, fault.Wrap(fault.Bug, err)
	}
	packed, err := o.Pack(cut)
	if err != nil {
		return nil, err
	}
	condemned, err := h.Condemned(ctx)
	if err != nil {
		return nil, err
	}
	if condemned.Has(packed.Object.Digest) {
		// An earlier try stored it and died before its record, and a sweep has named it since. The run's id alone would not do
		// as the salt: a resumed recovery has the same one, and a sweep may have named that form too.
		packed = packed.Salted(t.RunID.String() + " " + o.Now().UTC().Format(time.RFC3339Nano))
	}
	for i, place := range o.Archive.Places {
		if err := archive.Put(ctx, place, layout.Object(packed.Object.Digest), packed.Stored); err != nil && i == 0 {
			return nil, fmt.Errorf("write where life %s begins: %w", t.Lineage, err)
		}
	}
	life := notice.Life{
		Version: document.Version, TargetID: t.TargetID, Lineage: t.Lineage, Incarnation: t.Incarnation, RunID: t.RunID,
		Created: document.Moment(t.Began), Tool: o.Tool, Recovered: &notice.Recovered{
			Parent: t.Base.Lineage, Base: manifest.Previous{Lineage: t.Base.Lineage, Seq: t.Base.Seq, Digest: t.Statement},
			Shared: packed.Object,
		},
	}
	payload, err := notice.Encode(life)
	if err != nil {
		return nil, fault.Wrap(fault.Bug, err)
	}
	return o.Archive.Trusted.Seal(ctx, o.Now(), o.Now(), notice.LifeType, payload, o.Signers...)
}

func heldUnless(ours bool, t Try, other manifest.RunID) error {
	if ours {
		return nil
	}
	return refuse(fault.Fenced, &RefusalError{
		Name: HeldByAnother, What: fmt.Sprintf("life %s belongs to run %s, this is run %s", t.Lineage, other, t.RunID),
		Override: "dropping this database and recovering again", Loses: "nothing: the other recovery goes on",
	})
}

func lineageForked(err error) error {
	if !errors.Is(err, history.ErrLineageForked) {
		return err
	}
	return refuse(fault.Fenced, &RefusalError{
		Name: LineageForked, What: "the buckets name two lives with one number", Err: err,
		Override: "removing the record of the life that must not go on", Loses: "that life",
	})
}
