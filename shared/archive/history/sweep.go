package history

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/notice"
	"tidemark/shared/manifest"
)

// Sweep is a sweep of one place as its listing shows it.
type Sweep struct {
	Number   int64
	StoredAt time.Time // of its intention, by the store's clock
	Ended    bool
}

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
		if sweeps[at].Ended = sweeps[at].Ended || ended; !ended {
			sweeps[at].StoredAt = info.StoredAt
		}
	}
	return sweeps, nil
}

// named are the objects that sweeps may be removing without having seen a manifest that was stored at that time: the sweep
// began before it and has not ended. What an ended one removed is missing.
func (h *History) named(ctx context.Context, stored time.Time) (map[manifest.Digest]bool, error) {
	return h.collect(ctx, func(s Sweep) bool { return !s.Ended && !s.StoredAt.After(stored) })
}

// Condemned are the objects that any sweep of any place ever named, as far as its record is still there: nothing new may
// lean on them.
func (h *History) Condemned(ctx context.Context) (map[manifest.Digest]bool, error) {
	return h.collect(ctx, func(Sweep) bool { return true })
}

func (h *History) collect(ctx context.Context, wanted func(Sweep) bool) (map[manifest.Digest]bool, error) {
	named := map[manifest.Digest]bool{}
	for _, place := range h.places {
		if err := collect(ctx, place, h.sweeps[place.Name], wanted, named); err != nil {
			return nil, err
		}
	}
	return named, nil
}

// UnderWay are the objects that sweeps of one place have named and not ended with.
func UnderWay(ctx context.Context, place archive.Place) (map[manifest.Digest]bool, error) {
	sweeps, err := Sweeps(ctx, place)
	if err != nil {
		return nil, err
	}
	named := map[manifest.Digest]bool{}
	return named, collect(ctx, place, sweeps, func(s Sweep) bool { return !s.Ended }, named)
}

func collect(ctx context.Context, place archive.Place, sweeps []Sweep, wanted func(Sweep) bool, into map[manifest.Digest]bool) error {
	for _, s := range sweeps {
		if s.StoredAt.IsZero() || !wanted(s) {
			continue // an end without its beginning was pruned halfway
		}
		record, err := s.Read(ctx, place)
		if err != nil {
			return err
		}
		for _, digest := range record.Objects {
			into[digest] = true
		}
	}
	return nil
}

// Read gives what the sweep named.
func (s Sweep) Read(ctx context.Context, place archive.Place) (record notice.Sweep, err error) {
	encoded, err := place.Read(ctx, layout.Sweep(s.Number), archive.Span{Limit: notice.MaxSize})
	if err != nil {
		return record, fmt.Errorf("read sweep %d of the %s bucket: %w", s.Number, place.Name, err)
	}
	if err := notice.Decode("sweep", encoded, &record); err != nil {
		return record, fmt.Errorf("sweep %d of the %s bucket: %w", s.Number, place.Name, err)
	}
	return record, nil
}
