// Package history owns which manifests an archive holds and which of them may be used.
//
// It reads both buckets, in the reverse of the order in which a backup writes, and verifies every step before it uses it:
// signed statement, then body, then objects. It owns the order of manifests (lineage, then sequence number, never a clock),
// what makes one late, revoked or kept, how far a fall back to an older one may go, and when to call an archive older than
// what was seen. It refuses to write, to delete, and to fall back in silence: whatever was passed over is named with its
// reason.
//
// A History is what one reading saw. It may be used by several goroutines.
package history

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/notice"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/position"
)

// RunLife is how long a run may live. A manifest that comes later than this after its run's record, by the store's clock,
// is late: a sweep may have taken what it leans on.
const RunLife = 12 * time.Hour

// Entry is a manifest as the listings show it, before anything of it was read.
type Entry struct {
	layout.ID
	Copies  []Copy // in the order of the archive's places
	Revoked bool
	Kept    bool
	Mark    int64 // the number of the mark that decided whether it is kept; 0 without one that verifies
}

// Copy is one bucket's copy of a manifest.
type Copy struct {
	Place    archive.Place
	StoredAt time.Time // by the store's clock
	Late     bool
}

// History is what one reading of an archive's listings saw.
type History struct {
	Entries   []Entry // newest first
	Lives     []Life  // the latest first
	Unreached []error // one for each place that did not answer; what it alone holds is not in the history
	Warnings  []string

	archive *archive.Archive
	places  []archive.Place // those that answered
	sweeps  map[string][]Sweep
	running map[string][]time.Time
}

// Read lists an archive. Errors: ErrForeign for another target's archive; the store's own when no place answers.
func Read(ctx context.Context, a *archive.Archive) (*History, error) {
	h := &History{archive: a, sweeps: map[string][]Sweep{}, running: map[string][]time.Time{}}
	seen := newSighting()
	for _, place := range a.Places {
		err := h.readPlace(ctx, place, seen)
		switch {
		case errors.Is(err, archive.ErrForeign), ctx.Err() != nil:
			return nil, err
		case err != nil:
			h.Unreached = append(h.Unreached, fmt.Errorf("list the %s bucket: %w", place.Name, err))
		default:
			h.places = append(h.places, place)
		}
	}
	if len(h.places) == 0 {
		return nil, errors.Join(h.Unreached...)
	}
	if err := h.readLives(ctx, seen); err != nil {
		return nil, err
	}
	h.Entries = seen.entries()
	for i := range h.Entries {
		e := &h.Entries[i]
		if err := errors.Join(h.readRevocations(ctx, e, seen.revoke[e.Run]), h.readKeeps(ctx, e, seen.keeps[e.Run])); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// Reached says whether every place answered.
func (h *History) Reached() error { return errors.Join(h.Unreached...) }

// OpenRuns are the times at which runs began that have left neither an end nor a manifest in that place: they died or go on.
func (h *History) OpenRuns(place string) []time.Time { return h.running[place] }

// ReachedPlace says whether that place answered.
func (h *History) ReachedPlace(name string) error {
	if slices.ContainsFunc(h.places, func(p archive.Place) bool { return p.Name == name }) {
		return nil
	}
	return h.Reached()
}

// Newest is the highest sequence number of a lineage among the manifests that verify, 0 for none, and the run that made it. A
// key alone is no evidence: whoever may write into the bucket could put one there with any number.
func (h *History) Newest(ctx context.Context, lineage position.Lineage) (int64, manifest.RunID, error) {
	e, found, err := h.newest(ctx, func(e Entry) bool { return e.Lineage == lineage })
	if !found {
		return 0, "", err
	}
	return e.Seq, e.Run, nil
}

// newest is the first entry of those asked for whose statement verifies, withdrawn or not.
func (h *History) newest(ctx context.Context, wanted func(Entry) bool) (Entry, bool, error) {
	for _, e := range h.Entries {
		if !wanted(e) {
			continue
		}
		_, err := h.OpenRevoked(ctx, e)
		if err == nil {
			return e, true, nil
		}
		if fault.Is(err, fault.Retryable) || ctx.Err() != nil {
			return e, false, err // it may be good
		}
	}
	return Entry{}, false, nil
}

// Find gives the entry of a run.
func (h *History) Find(run manifest.RunID) (Entry, error) {
	for _, e := range h.Entries {
		if e.Run == run {
			return e, nil
		}
	}
	return Entry{}, fault.New(fault.Misconfigured, "no manifest of run %s is listed", run).
		WithHint("tidemark manifests list shows all that are")
}

func (h *History) warn(form string, args ...any) {
	h.Warnings = append(h.Warnings, fmt.Sprintf(form, args...))
}

// sighting collects what the listings of all places show.
type sighting struct {
	copies map[layout.ID][]Copy
	begun  map[string]map[manifest.RunID]time.Time // place, run
	ended  map[manifest.RunID]bool
	lives  map[position.Lineage][]archive.Place
	revoke map[manifest.RunID][]archive.Place
	keeps  map[manifest.RunID]marks
}

func newSighting() *sighting {
	return &sighting{
		copies: map[layout.ID][]Copy{}, begun: map[string]map[manifest.RunID]time.Time{}, ended: map[manifest.RunID]bool{},
		lives: map[position.Lineage][]archive.Place{}, revoke: map[manifest.RunID][]archive.Place{}, keeps: map[manifest.RunID]marks{},
	}
}

// readPlace lists what one place holds beside objects.
func (h *History) readPlace(ctx context.Context, place archive.Place, seen *sighting) error {
	if err := checkOwner(ctx, place, h.archive.Target); err != nil {
		return err
	}
	here := newSighting() // of a place that fails halfway nothing is taken
	here.begun[place.Name] = map[manifest.RunID]time.Time{}
	for _, folder := range []string{layout.Runs, layout.Manifests, layout.Lineages, layout.Revoked, layout.Keeps} {
		for info, err := range place.List(ctx, folder) {
			if err != nil {
				return err
			}
			here.take(place, folder, info)
		}
	}
	sweeps, err := Sweeps(ctx, place)
	if err != nil {
		return err
	}
	h.sweeps[place.Name], h.running[place.Name] = sweeps, here.open(place)
	seen.join(here)
	return nil
}

// take notes what a key says; keys that Tidemark did not make say nothing.
func (s *sighting) take(place archive.Place, folder string, info archive.Info) {
	switch folder {
	case layout.Runs:
		switch _, run, ended, ok := layout.ParseRun(info.Key); {
		case ok && ended:
			s.ended[run] = true
		case ok:
			s.begun[place.Name][run] = info.StoredAt
		}
	case layout.Manifests:
		if id, ok := layout.ParseManifest(info.Key); ok {
			begun, known := s.begun[place.Name][id.Run]
			// A record that is younger than its manifest was put there again: it says nothing about when the run began.
			late := !known || begun.After(info.StoredAt) || info.StoredAt.Sub(begun) > RunLife
			s.copies[id] = append(s.copies[id], Copy{Place: place, StoredAt: info.StoredAt, Late: late})
		}
	case layout.Lineages:
		if lineage, ok := layout.ParseLineage(info.Key); ok {
			s.lives[lineage] = append(s.lives[lineage], place)
		}
	case layout.Revoked:
		if run, _, ok := layout.ParseMark(info.Key); ok {
			s.revoke[run] = append(s.revoke[run], place)
		}
	case layout.Keeps:
		if run, n, ok := layout.ParseMark(info.Key); ok {
			s.mark(run, n, place)
		}
	}
}

// open are the times at which runs began that have neither an end nor a manifest.
func (s *sighting) open(place archive.Place) (began []time.Time) {
	for id := range s.copies {
		s.ended[id.Run] = true
	}
	for run, at := range s.begun[place.Name] {
		if !s.ended[run] {
			began = append(began, at)
		}
	}
	return began
}

func (s *sighting) join(other *sighting) {
	for id, copies := range other.copies {
		s.copies[id] = append(s.copies[id], copies...)
	}
	for lineage, places := range other.lives {
		s.lives[lineage] = append(s.lives[lineage], places...)
	}
	for run, places := range other.revoke {
		s.revoke[run] = append(s.revoke[run], places...)
	}
	for run, marked := range other.keeps {
		for number, places := range marked {
			s.mark(run, number, places...)
		}
	}
}

// entries are the manifests, newest first.
func (s *sighting) entries() []Entry {
	entries := make([]Entry, 0, len(s.copies))
	for id, copies := range s.copies {
		entries = append(entries, Entry{ID: id, Copies: copies})
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		switch {
		case a.Before(b.ID):
			return 1
		case b.Before(a.ID):
			return -1
		}
		return slices.Compare([]byte(b.Run), []byte(a.Run)) // two with one number: a fork, in some order
	})
	return entries
}

// checkOwner refuses another target's archive. One without an owner is new, or its owner was lost.
func checkOwner(ctx context.Context, place archive.Place, target position.TargetID) error {
	var owner notice.Owner
	encoded, err := place.Read(ctx, layout.Owner, archive.Span{Limit: notice.MaxSize})
	switch {
	case errors.Is(err, archive.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	if err := notice.Decode("owner", encoded, &owner); err != nil {
		return err
	}
	if owner.TargetID != target {
		return fault.New(fault.Misconfigured, "the %s bucket is the archive of %s, not of %s: %w", place.Name, owner.TargetID, target,
			archive.ErrForeign).WithHint("give each target a prefix of its own; nothing was written")
	}
	return nil
}
