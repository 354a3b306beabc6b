package history

import (
	"context"
	"maps"
	"slices"

	"tidemark/shared/archive"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/notice"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
)

// marks are the numbers under which marks on a manifest are listed, each with the places that list it.
type marks map[int64][]archive.Place

func (s *sighting) mark(run manifest.RunID, number int64, places ...archive.Place) {
	if s.keeps[run] == nil {
		s.keeps[run] = marks{}
	}
	s.keeps[run][number] = append(s.keeps[run][number], places...)
}

// readRevocations says whether a manifest was withdrawn.
func (h *History) readRevocations(ctx context.Context, e *Entry, places []archive.Place) error {
	for _, place := range places {
		var revocation notice.Revocation
		if err := h.open(ctx, place, layout.Revocation(e.Run), signedKind{notice.RevocationType, "revocation"}, &revocation); err != nil {
			if !fault.Is(err, fault.Corrupt) {
				return err // it may be one: the store stutters or denies it, or a later release wrote and signed it
			}
			h.warn("a revocation of %s counts for nothing: %v", e.ID, err)
			continue
		}
		e.Revoked = e.Revoked || revocation.RunID == e.Run && revocation.TargetID == h.archive.Target
	}
	return nil
}

// readKeeps lets the highest mark that verifies decide whether a manifest is kept. What does not verify is passed over:
// whoever may write could put it there, under any number. Where nothing else is left the manifest is kept, because what was
// said may be signed with a key that is not pinned here.
func (h *History) readKeeps(ctx context.Context, e *Entry, marked marks) error {
	var passed []error
	for _, number := range slices.Backward(slices.Sorted(maps.Keys(marked))) {
		for _, place := range marked[number] {
			mark, err := h.readMark(ctx, e.Run, number, place)
			switch {
			case err == nil:
				e.Mark, e.Kept = number, e.Kept || mark.Keep
			case fault.Is(err, fault.Retryable), ctx.Err() != nil:
				return err
			case fault.Is(err, fault.Corrupt):
				passed = append(passed, err)
			default: // it may be one: the store denies it, or a later release wrote and signed it
				h.warn("a mark on %s cannot be read, so it is kept: %v", e.ID, err)
				e.Kept = true
			}
		}
		if e.Mark > 0 || e.Kept {
			break
		}
	}
	switch {
	case len(passed) > 0 && e.Mark == 0:
		e.Kept = true
		h.warn("no mark on %s verifies, so it is kept: %d count for nothing, the first: %v", e.ID, len(passed), passed[0])
	case len(passed) > 0:
		h.warn("%d marks on %s count for nothing, the first: %v", len(passed), e.ID, passed[0])
	}
	return nil
}

// readMark gives a mark that verifies and is the one that its key names.
func (h *History) readMark(ctx context.Context, run manifest.RunID, number int64, place archive.Place) (mark notice.Keep, err error) {
	key := layout.Keep(run, number)
	err = h.open(ctx, place, key, signedKind{notice.KeepType, "mark"}, &mark)
	if err == nil && (mark.TargetID != h.archive.Target || mark.RunID != run || mark.Number != number) {
		err = fault.New(fault.Corrupt, "%s of the %s bucket is mark %d on run %s of %s", key, place.Name, mark.Number, mark.RunID,
			mark.TargetID)
	}
	return mark, err
}
