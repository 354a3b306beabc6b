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
)

// Sweep is a sweep of one place as its listing shows it.
type Sweep struct {
	Number   int64
	StoredAt time.Time // of its intention, by the store's clock
	Ended    bool
	EndedAt  time.Time
}

// Names are the objects that sweeps have named. A sweep that cannot be read may have named any.
type Names struct {
	objects    map[manifest.Digest]bool
	Unreadable []error
}

// Has says whether the object may have been named.
func (n Names) Has(digest manifest.Digest) bool { return len(n.Unreadable) > 0 || n.objects[digest] }

// Len is how many objects were named for certain.
func (n Names) Len() int { return len(n.objects) }

// Sweeps lists the sweeps of a place whose records are still there, in the order of their numbers.
func Sweeps(ctx context.Context, place archive.Place) ([]Sweep, error) {
	var sweeps []Sweep
	for info, err := range place.List(ctx, layout.Sweeps) {
		if err != nil {
			return nil, fmt.Errorf("list the %s bucket: %w", place.Name, err)
		}
		n, ended, ok := layout.ParseSweep(info.Key)
		if !ok {
			continue
		}
		at := slices.IndexFunc(sweeps, func(s Sweep) bool { return s.Number == n })
		if at < 0 {
			at, sweeps = len(sweeps), append(sweeps, Sweep{Number: n})
		}
		if ended {
			sweeps[at].Ended, sweeps[at].EndedAt = true, info.StoredAt
		} else {
			sweeps[at].StoredAt = info.StoredAt
		}
	}
	return sweeps, nil
}

// named are the objects that sweeps may be removing without having seen a manifest that was stored at that time: the sweep
// began before it and has not ended. What an ended one removed is missing.
func (h *History) named(ctx context.Context, stored time.Time) (Names, error) {
	return h.collect(ctx, func(s Sweep) bool { return !s.Ended && !s.StoredAt.After(stored) })
}

// Condemned are the objects that any sweep of any place ever named, as far as its record is still there: nothing new may
// lean on them.
func (h *History) Condemned(ctx context.Context) (Names, error) {
	return h.collect(ctx, func(Sweep) bool { return true })
}

func (h *History) collect(ctx context.Context, wanted func(Sweep) bool) (Names, error) {
	named := Names{objects: map[manifest.Digest]bool{}}
	for _, place := range h.places {
		if err := named.collect(ctx, place, h.sweeps[place.Name], wanted); err != nil {
			return Names{}, err
		}
	}
	return named, nil
}

// UnderWay are the objects that sweeps of one place have named and not ended with.
func UnderWay(ctx context.Context, place archive.Place) (Names, error) {
	named := Names{objects: map[manifest.Digest]bool{}}
	sweeps, err := Sweeps(ctx, place)
	if err != nil {
		return named, err
	}
	return named, named.collect(ctx, place, sweeps, func(s Sweep) bool { return !s.Ended })
}

func (n *Names) collect(ctx context.Context, place archive.Place, sweeps []Sweep, wanted func(Sweep) bool) error {
	for _, s := range sweeps {
		if s.StoredAt.IsZero() || !wanted(s) {
			continue // an end without its beginning was pruned halfway
		}
		record, err := s.Read(ctx, place)
		if errors.Is(err, archive.ErrNotFound) {
			continue // its sweeper took it back since it was listed, because it named nothing, or it was pruned
		}
		if errors.Is(err, ErrUnreadableSweep) {
			n.Unreadable = append(n.Unreadable, err)
			continue
		}
		if err != nil {
			return err
		}
		for _, digest := range record.Objects {
			n.objects[digest] = true
		}
	}
	return nil
}

// ErrUnreadableSweep is in the error of a sweep whose record is there and says nothing.
var ErrUnreadableSweep = errors.New("nobody knows what it named")

// Read gives what the sweep named. Errors: ErrUnreadableSweep; the store's own.
func (s Sweep) Read(ctx context.Context, place archive.Place) (record notice.Sweep, err error) {
	encoded, err := place.Read(ctx, layout.Sweep(s.Number), archive.Span{Limit: notice.MaxSize})
	unreadable := errors.Is(err, archive.ErrTooLarge)
	if err == nil {
		err = notice.Decode("sweep", encoded, &record)
		unreadable = err != nil
	}
	switch {
	case unreadable:
		return record, fault.New(fault.Corrupt, "read sweep %d of the %s bucket: %w: %w", s.Number, place.Name, ErrUnreadableSweep, err)
	case err != nil:
		return record, fmt.Errorf("read sweep %d of the %s bucket: %w", s.Number, place.Name, err)
	}
	return record, nil
}
