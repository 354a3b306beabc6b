// Package life owns how a recovery takes the target's next life: the record in the buckets that one recovery alone can create.
//
// It refuses a life that is another run's, one that is not the latest any more, and to take one while the bucket whose word
// decides does not answer. It writes create-only and deletes nothing. No state; several may try at once, and one wins.
package life

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/notice"
	"tidemark/shared/archive/packing"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/manifest/document"
	"tidemark/shared/position"
	"tidemark/shared/recovery/refusal"
	"tidemark/shared/signing"
)

// Options says in which archive lives are taken, and who signs.
type Options struct {
	Archive *archive.Archive
	Signers []signing.Signer
	// Pack turns the plain bytes of a small document into an object's.
	Pack        func(plain []byte) (packing.Packed, error)
	Now         func() time.Time
	Tool        string
	InSecondary bool // take it in the second bucket: the first does not answer
}

// Life is what a recovery takes.
type Life struct {
	RunID       manifest.RunID
	TargetID    position.TargetID
	Lineage     position.Lineage
	Incarnation position.Incarnation
	Base        layout.ID
	Statement   manifest.Digest // of the base
	Ends        body.Cut        // the cut up to which it shares its parent's history
	Began       time.Time
}

// Take makes the record of the life that a try takes. Whoever creates it owns the number; who finds it made by his own run goes
// on, and brings it to the buckets that lack it.
func (o Options) Take(ctx context.Context, t Life) error {
	h, err := history.Read(ctx, o.Archive)
	if err != nil {
		return Forked(err)
	}
	if life, known := h.Life(t.Lineage); known {
		if err := heldUnless(life.RunID == t.RunID, t, life.RunID); err != nil {
			return err
		}
		return o.spread(ctx, t)
	}
	places := o.mintingOrder()
	if err := h.ReachedPlace(places[0].Name); err != nil {
		return fmt.Errorf("take life %s: %w", t.Lineage, err) // its sweeps and its lives decide what may be written
	}
	envelope, err := o.record(ctx, h, places, t)
	if err != nil {
		return err
	}
	err = archive.PutUnlessTaken(ctx, places[0], layout.Lineage(t.Lineage), envelope)
	if errors.Is(err, archive.ErrExists) { // another was first, or an earlier try of ours signed other bytes
		if h, err = history.Read(ctx, o.Archive); err != nil {
			return Forked(err)
		}
		life, known := h.Life(t.Lineage)
		return heldUnless(known && life.RunID == t.RunID, t, life.RunID)
	}
	if err != nil {
		return fmt.Errorf("take life %s: %w", t.Lineage, err)
	}
	return o.bring(ctx, places[1:], t.Lineage, envelope)
}

// mintingOrder is the archive's places, the one first whose word decides: the primary, unless an operator says that it is down
// and that the secondary does.
func (o Options) mintingOrder() []archive.Place {
	places := slices.Clone(o.Archive.Places)
	if o.InSecondary && len(places) > 1 {
		places[0], places[1] = places[1], places[0]
	}
	return places
}

// bring writes a life's record to further buckets. One that does not answer gets it from the next backup.
func (o Options) bring(ctx context.Context, places []archive.Place, lineage position.Lineage, envelope []byte) error {
	for _, place := range places {
		if err := archive.PutUnlessTaken(ctx, place, layout.Lineage(lineage), envelope); errors.Is(err, archive.ErrExists) {
			return Forked(fault.New(fault.Fenced, "the %s bucket has another record of life %s: %w", place.Name, lineage,
				history.ErrLineageForked))
		}
	}
	return nil
}

// spread brings a record that an earlier call made, and what it refers to, to the buckets that lack them.
func (o Options) spread(ctx context.Context, t Life) error {
	var envelope []byte
	var lack []archive.Place
	for _, place := range o.mintingOrder() {
		read, err := place.Read(ctx, layout.Lineage(t.Lineage), archive.Span{Limit: signing.MaxEnvelope})
		switch {
		case err == nil && envelope == nil:
			envelope = read
		case errors.Is(err, archive.ErrNotFound):
			lack = append(lack, place)
		}
	}
	if envelope == nil || len(lack) == 0 {
		return nil
	}
	opened, err := o.Archive.Trusted.Open(notice.LifeType, envelope)
	if err != nil {
		return err
	}
	var life notice.Life
	if err := notice.Decode("lineage", opened.Payload, &life); err != nil {
		return err
	}
	if life.Recovered != nil {
		stored, err := o.Archive.Fetch(ctx, life.Recovered.Shared, nil)
		if err != nil {
			return fmt.Errorf("read where life %s begins: %w", t.Lineage, err)
		}
		lack = slices.DeleteFunc(lack, func(place archive.Place) bool {
			// The record must not be where its object is not; the next backup brings both.
			return archive.Put(ctx, place, layout.Object(life.Recovered.Shared.Digest), stored) != nil
		})
	}
	return o.bring(ctx, lack, t.Lineage, envelope)
}

// record is the life's record, signed, after what it refers to is stored.
func (o Options) record(ctx context.Context, h *history.History, places []archive.Place, t Life) ([]byte, error) {
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
	for i, place := range places {
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

func heldUnless(ours bool, t Life, other manifest.RunID) error {
	if ours {
		return nil
	}
	return refusal.Of(fault.Fenced, &refusal.Error{
		Name: refusal.HeldByAnother, What: fmt.Sprintf("life %s belongs to run %s, this is run %s", t.Lineage, other, t.RunID),
		Override: "dropping this database and recovering again", Loses: "nothing: the other recovery goes on",
	})
}

// Forked names an error that says that two lives have one number.
func Forked(err error) error {
	if !errors.Is(err, history.ErrLineageForked) {
		return err
	}
	return refusal.Of(fault.Fenced, &refusal.Error{
		Name: refusal.LineageForked, What: "the buckets name two lives with one number", Err: err,
		Override: "removing the record of the life that must not go on", Loses: "that life",
	})
}

// Holds refuses to go on with a life that is not the latest any more: a recovery into another database began after this one
// and found its life taken, so it took the next.
func (o Options) Holds(ctx context.Context, t Life) error {
	h, err := history.Read(ctx, o.Archive)
	if err != nil {
		return Forked(err)
	}
	latest, err := h.Latest(ctx)
	if err != nil {
		return err
	}
	life, known := h.Life(t.Lineage)
	switch {
	case t.Lineage.Before(latest):
		return refusal.Of(fault.Fenced, &refusal.Error{
			Name: refusal.HeldByAnother, What: fmt.Sprintf("life %s was taken after life %s, which this recovery has", latest, t.Lineage),
			Override: "drop this database", Loses: "nothing: the other recovery goes on",
		})
	case !known && h.Reached() != nil:
		return h.Reached() // its record may be there
	}
	return heldUnless(known && life.RunID == t.RunID, t, life.RunID)
}
