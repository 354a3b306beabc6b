package expiry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/layout/verified"
	"tidemark/shared/archive/notice"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/document"
)

// SweepReport is what one call did, or would do, in one place.
type SweepReport struct {
	Place   string
	Named   []manifest.Digest // by a sweep that begins now
	Bytes   int64             // of those
	Waiting int               // sweeps whose grace goes on
	Removed []manifest.Digest
	Spared  []manifest.Digest // named once, referred to now
	Locked  []manifest.Digest // retention forbids it: a later sweep names them again
}

// maxNamed is the most that one sweep names, so that its record can be read; the next call names the rest.
const maxNamed = 200_000

// sweep names what nobody refers to, and ends the sweeps of this place whose grace is over.
func (s *survey) sweep(ctx context.Context, place archive.Place, decisions []Decision, confirmed bool) (report SweepReport, err error) {
	report.Place = place.Name
	open, err := openSweeps(ctx, place)
	if err != nil {
		return report, err
	}
	named, err := history.UnderWay(ctx, place)
	if err != nil {
		return report, err
	}
	report.Named, report.Bytes, report.Waiting = s.unreferred(place, decisions, named), 0, len(open)
	report.Named = report.Named[:min(len(report.Named), maxNamed)]
	for _, digest := range report.Named {
		report.Bytes += s.stock[place.Name][digest].Size
	}
	if !confirmed || len(report.Named) == 0 && len(open) == 0 {
		return report, nil
	}
	now, err := s.intend(ctx, place, report.Named)
	if err != nil {
		return report, err
	}
	due := slices.DeleteFunc(slices.Clone(open), func(o history.Sweep) bool { return now.Sub(o.StoredAt) < Grace })
	if report.Waiting -= len(due); len(due) == 0 {
		return report, nil
	}
	// The mark must be younger than the grace: whoever did not know of the sweep is seen by it, or too old to count.
	if err := s.read(ctx); err != nil {
		return report, err
	}
	if err := s.sound(s.decide()); err != nil {
		return report, err
	}
	for _, sweep := range due {
		if err := s.end(ctx, place, sweep, &report); err != nil {
			return report, err
		}
	}
	return report, s.prune(ctx, place, now)
}

// unreferred are the objects that no manifest of either bucket refers to and no sweep under way names. Before it is confirmed
// what goes, manifests that would go count as gone.
func (s *survey) unreferred(place archive.Place, decisions []Decision, named history.Names) []manifest.Digest {
	inUse := maps.Clone(s.lives)
	for _, d := range decisions {
		if d.Keep {
			for object := range s.refers.each(s.digests[idOf(d)]) {
				inUse[object.Digest] = true
			}
		}
	}
	var free []manifest.Digest
	under := s.underWay(place)
	for digest, info := range s.stock[place.Name] {
		if !inUse[digest] && !named.Has(digest) && info.StoredAt.Before(under) {
			free = append(free, digest)
		}
	}
	slices.Sort(free)
	return free
}

// underWay is when the oldest run began that may still go on; the far future without one. What was stored since may be its,
// and naming it would be no danger but a waste: the backup after it would have to store it all again.
func (s *survey) underWay(place archive.Place) time.Time {
	var newest time.Time
	for _, info := range s.stock[place.Name] {
		if info.StoredAt.After(newest) {
			newest = info.StoredAt
		}
	}
	oldest := newest.Add(time.Hour) // than all
	for _, began := range s.history.OpenRuns(place.Name) {
		if newest.Sub(began) <= history.RunLife && began.Before(oldest) {
			oldest = began
		}
	}
	return oldest
}

// intend writes down what will go and gives the time by the store's clock. Two sweepers take two numbers.
func (s *survey) intend(ctx context.Context, place archive.Place, objects []manifest.Digest) (time.Time, error) {
	sweeps, err := history.Sweeps(ctx, place)
	if err != nil {
		return time.Time{}, err
	}
	number := next(sweeps)
	for {
		encoded, err := notice.Encode(notice.Sweep{
			Version: document.Version, Number: number, Actor: s.options.Actor, Objects: append([]manifest.Digest{}, objects...),
		})
		if err != nil {
			return time.Time{}, fault.Wrap(fault.Bug, err)
		}
		err = archive.Put(ctx, place, layout.Sweep(number), encoded)
		if errors.Is(err, archive.ErrExists) {
			sweeps = append(sweeps, history.Sweep{Number: number})
			number = next(sweeps)
			continue
		}
		if err != nil {
			return time.Time{}, err
		}
		info, err := place.Stat(ctx, layout.Sweep(number))
		if err == nil && len(objects) == 0 {
			err = s.forget(ctx, place, number)
		}
		return info.StoredAt, err
	}
}

// forget removes a sweep that named nothing and was only to tell the time. Left open, it would be a reason for the next one,
// for ever.
func (s *survey) forget(ctx context.Context, place archive.Place, number int64) error {
	err := place.Delete(ctx, layout.Sweep(number))
	if errors.Is(err, archive.ErrLocked) {
		return s.ended(ctx, place, notice.SweepEnd{Number: number})
	}
	return err
}

// lastNumber is the highest that has a key of the common length.
const lastNumber = 9_999_999_999

// next is the number after the last, or the first that is free when somebody took the last of all.
func next(sweeps []history.Sweep) int64 {
	taken, last := map[int64]bool{}, int64(0)
	for _, s := range sweeps {
		taken[s.Number], last = true, max(last, s.Number)
	}
	if last < lastNumber {
		return last + 1
	}
	free := int64(1)
	for taken[free] {
		free++
	}
	return free
}

// end removes what a sweep named and still nobody refers to.
func (s *survey) end(ctx context.Context, place archive.Place, sweep history.Sweep, report *SweepReport) error {
	record, err := sweep.Read(ctx, place)
	if err != nil && !errors.Is(err, history.ErrUnreadableSweep) {
		return err
	}
	ended := notice.SweepEnd{Number: sweep.Number} // of one that says nothing, nothing is removed
	for _, digest := range record.Objects {
		if s.inUse[digest] {
			ended.Spared = append(ended.Spared, digest)
			continue
		}
		switch err := place.Delete(ctx, layout.Object(digest)); {
		case errors.Is(err, archive.ErrLocked):
			ended.Locked = append(ended.Locked, digest)
		case err != nil:
			return fmt.Errorf("end sweep %d of the %s bucket: %w", sweep.Number, place.Name, err)
		default:
			ended.Removed = append(ended.Removed, digest)
		}
	}
	report.Removed = append(report.Removed, ended.Removed...)
	report.Spared = append(report.Spared, ended.Spared...)
	report.Locked = append(report.Locked, ended.Locked...)
	return s.ended(ctx, place, ended)
}

// ended writes down how a sweep ended.
func (s *survey) ended(ctx context.Context, place archive.Place, end notice.SweepEnd) error {
	end.Version = document.Version
	encoded, err := notice.Encode(end)
	if err != nil {
		return fault.Wrap(fault.Bug, err)
	}
	err = archive.Put(ctx, place, layout.End(layout.Sweep(end.Number)), encoded)
	if errors.Is(err, archive.ErrExists) {
		return nil // another sweeper ended it beside this one
	}
	return err
}

func openSweeps(ctx context.Context, place archive.Place) ([]history.Sweep, error) {
	sweeps, err := history.Sweeps(ctx, place)
	return slices.DeleteFunc(sweeps, func(s history.Sweep) bool { return s.Ended || s.StoredAt.IsZero() }), err
}

// prune removes the records of sweeps that ended long ago, and of runs, marks and verifications whose manifest is not there. Revocations stay
// for good: who puts a withdrawn manifest there again must not find it forgotten that it was withdrawn.
func (s *survey) prune(ctx context.Context, place archive.Place, now time.Time) error {
	keys, err := s.past(ctx, place, now)
	if err != nil {
		return err
	}
	sweeps, err := history.Sweeps(ctx, place)
	if err != nil {
		return err
	}
	for _, sweep := range sweeps {
		if sweep.Ended && now.Sub(sweep.EndedAt) > keepSweeps {
			// The intention first: an end without it says nothing, an intention without its end would be carried out again.
			begun := layout.Sweep(sweep.Number)
			keys = append(keys, begun, layout.End(begun))
		}
	}
	for _, key := range keys {
		if err := place.Delete(ctx, key); err != nil && !errors.Is(err, archive.ErrLocked) {
			return err
		}
	}
	return nil
}

// past are the records about runs that left no manifest, or whose manifest went.
func (s *survey) past(ctx context.Context, place archive.Place, now time.Time) (keys []string, err error) {
	listed := map[manifest.RunID]bool{}
	for _, e := range s.history.Entries {
		listed[e.Run] = true
	}
	for _, folder := range []string{layout.Runs, layout.Keeps, verified.Folder} {
		for info, err := range place.List(ctx, folder) {
			if err != nil {
				return nil, fmt.Errorf("list the %s bucket: %w", place.Name, err)
			}
			if isPast(info, now, listed) {
				keys = append(keys, info.Key)
			}
		}
	}
	return keys, nil
}

// isPast says whether a record of a run is of no more use.
func isPast(info archive.Info, now time.Time, listed map[manifest.RunID]bool) bool {
	run, _, ok := layout.ParseMark(info.Key)
	if !ok {
		_, run, _, ok = layout.ParseRun(info.Key)
	}
	if id, _, _, is := verified.Parse(info.Key); is {
		run, ok = id.Run, true
	}
	return ok && !listed[run] && now.Sub(info.StoredAt) > keepRuns
}
