package history

import (
	"context"
	"fmt"
	"slices"

	"tidemark/shared/archive"
	"tidemark/shared/archive/layout/decided"
	"tidemark/shared/archive/notice"
	"tidemark/shared/fault"
	"tidemark/shared/position"
)

// decisionKey names a decision.
type decisionKey struct {
	lineage position.Lineage
	number  int64
}

// Decisions are what operators of all lives decided about the log, in their order. Whoever replays the log without them brings
// back what was cut off, so none that is listed may be left out. One bucket is enough: nothing was done before all had it.
//
// Errors: fault.Corrupt and what package signing says for one that cannot be believed, with its key; the stores' own.
func (h *History) Decisions(ctx context.Context) ([]notice.Decision, error) {
	listed := map[decisionKey][]archive.Place{}
	for _, place := range h.places {
		for info, err := range place.List(ctx, decided.Folder) {
			if err != nil {
				return nil, fmt.Errorf("list the decisions in the %s bucket: %w", place.Name, err)
			}
			if lineage, number, ok := decided.Parse(info.Key); ok {
				key := decisionKey{lineage, number}
				listed[key] = append(listed[key], place)
			}
		}
	}
	decisions := make([]notice.Decision, 0, len(listed))
	for key, places := range listed {
		decision, err := h.readDecision(ctx, key, places)
		if err != nil {
			return nil, err
		}
		decisions = append(decisions, decision)
	}
	slices.SortFunc(decisions, func(a, b notice.Decision) int {
		if a.Lineage != b.Lineage {
			return int(a.Lineage - b.Lineage)
		}
		return int(a.Number - b.Number)
	})
	return decisions, nil
}

// readDecision takes the first copy that can be believed.
func (h *History) readDecision(ctx context.Context, key decisionKey, places []archive.Place) (notice.Decision, error) {
	var failed error
	for _, place := range places {
		var read notice.Decision
		at := decided.Key(key.lineage, key.number)
		err := h.open(ctx, place, at, signedKind{notice.DecisionType, "decision"}, &read)
		if err == nil && (read.TargetID != h.archive.Target || read.Lineage != key.lineage || read.Number != key.number) {
			err = fault.New(fault.Corrupt, "%s is decision %d of life %s of %s", at, read.Number, read.Lineage, read.TargetID)
		}
		if err == nil {
			return read, nil
		}
		failed = err
	}
	return notice.Decision{}, fmt.Errorf("a decision about the log cannot be believed: %w", failed)
}
