package history

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tidemark/shared/archive"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/notice"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/position"
	"tidemark/shared/signing"
)

// ErrLineageForked is in the error that says that two lives have one number.
var ErrLineageForked = errors.New("two lives have one number")

// Life is the record of a life. One that cannot be believed has its number and a problem.
type Life struct {
	notice.Life
	Problem error
}

// signedKind is a kind of signed notice.
type signedKind struct{ payloadType, name string }

// open reads a signed notice. Notices say themselves when they were created; the store says when it got them.
func (h *History) open(ctx context.Context, place archive.Place, key string, kind signedKind, into interface{ Validate() error }) error {
	encoded, err := place.Read(ctx, key, archive.Span{Limit: signing.MaxEnvelope})
	if errors.Is(err, archive.ErrTooLarge) || errors.Is(err, archive.ErrNotFound) {
		err = fault.Wrap(fault.Corrupt, err)
	}
	if err != nil {
		return fmt.Errorf("read %s of the %s bucket: %w", key, place.Name, err)
	}
	info, err := place.Stat(ctx, key)
	if errors.Is(err, archive.ErrNotFound) { // it went since it was read
		err = fault.Wrap(fault.Corrupt, err)
	}
	if err != nil {
		return fmt.Errorf("look at %s of the %s bucket: %w", key, place.Name, err)
	}
	opened, err := h.archive.Trusted.Open(kind.payloadType, encoded)
	if err != nil {
		return fmt.Errorf("open %s of the %s bucket: %w", key, place.Name, err)
	}
	if err := notice.Decode(kind.name, opened.Payload, into); err != nil {
		return err
	}
	return opened.JudgeAt(info.StoredAt, info.StoredAt)
}

// readLives reads the records of all lives.
func (h *History) readLives(ctx context.Context, seen *sighting) error {
	for lineage, places := range seen.lives {
		life, err := h.readLife(ctx, lineage, places)
		if err != nil {
			return err
		}
		h.Lives = append(h.Lives, life)
	}
	slices.SortFunc(h.Lives, func(a, b Life) int { return int(b.Lineage - a.Lineage) })
	return nil
}

func (h *History) readLife(ctx context.Context, lineage position.Lineage, places []archive.Place) (Life, error) {
	life := Life{}
	for _, place := range places {
		var read notice.Life
		err := h.open(ctx, place, layout.Lineage(lineage), signedKind{notice.LifeType, "lineage"}, &read)
		if err == nil && (read.Lineage != lineage || read.TargetID != h.archive.Target) {
			err = fault.New(fault.Corrupt, "the record of life %s is one of life %s of %s", lineage, read.Lineage, read.TargetID)
		}
		switch {
		case fault.Is(err, fault.Retryable):
			return life, err
		case err != nil:
			life.Problem = err
		case life.Incarnation == "":
			life.Life = read
		case life.Incarnation != read.Incarnation || life.RunID != read.RunID:
			return life, fault.New(fault.Fenced, "life %s is run %s in one bucket and run %s in the other: %w", lineage, life.RunID,
				read.RunID, ErrLineageForked).WithHint("decide which database lives on, and remove the other's record")
		}
	}
	if life.Incarnation != "" {
		life.Problem = nil // one copy is enough
	}
	life.Lineage = lineage
	return life, nil
}

// Latest is the life with the highest number, by its record or by its manifests, as far as they can be believed; 0 before the
// first.
func (h *History) Latest(ctx context.Context) (position.Lineage, error) {
	var latest position.Lineage
	for _, life := range h.Lives {
		if life.Problem == nil {
			latest = max(latest, life.Lineage)
		}
	}
	e, found, err := h.newest(ctx, func(e Entry) bool { return latest.Before(e.Lineage) })
	if found {
		latest = e.Lineage
	}
	return latest, err
}

// Life gives the record of a life, if there is one that can be believed.
func (h *History) Life(lineage position.Lineage) (notice.Life, bool) {
	for _, life := range h.Lives {
		if life.Lineage == lineage && life.Problem == nil {
			return life.Life, true
		}
	}
	return notice.Life{}, false
}

// ancestry are the cuts up to which a lineage's history is that of the latest life: one for each life between. ok is false
// when the lineage is no ancestor, or when that cannot be told.
func (h *History) ancestry(ctx context.Context, of, from position.Lineage) (shared []body.Cut, ok bool, err error) {
	for of < from {
		life, known := h.Life(from)
		if !known || life.Recovered == nil {
			return nil, false, nil
		}
		cut, err := h.sharedCut(ctx, life.Recovered.Shared)
		if err != nil {
			return nil, false, fmt.Errorf("read up to where life %s is life %s: %w", from, life.Recovered.Parent, err)
		}
		shared, from = append(shared, cut), life.Recovered.Parent
	}
	return shared, of == from, nil
}

func (h *History) sharedCut(ctx context.Context, object manifest.Object) (body.Cut, error) {
	plain, err := h.fetch(ctx, object, notice.MaxSize)
	if err != nil {
		return nil, err
	}
	var shared notice.SharedCut
	err = notice.Decode("shared cut", plain, &shared)
	return shared.Cut, err
}

// within says whether every partition of a cut is at or below another's. A partition that the other does not know began
// after it.
func within(cut, limit body.Cut) bool {
	type partition struct {
		flow, topic string
		number      int32
	}
	at := map[partition]body.Partition{}
	for _, p := range limit {
		at[partition{p.Flow, p.Topic, p.Partition}] = p
	}
	for _, p := range cut {
		switch most, known := at[partition{p.Flow, p.Topic, p.Partition}]; {
		case !known && p.NextOffset == 0, known && p.Generation < most.Generation:
		case !known, p.Generation > most.Generation, p.NextOffset > most.NextOffset:
			return false // offsets of a topic that was made anew are above all of the one before
		}
	}
	return true
}
