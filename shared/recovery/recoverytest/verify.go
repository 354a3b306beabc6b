package recoverytest

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/apply"
	"tidemark/shared/archive"
	"tidemark/shared/archive/history"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/recovery"
)

// CutOf is a try's ends by flow.
func CutOf(t *recovery.Try) Cut {
	cut := Cut{}
	for _, p := range t.Ends {
		cut[p.Flow] = t.Ends.Offsets(p.Flow)
	}
	return cut
}

// Recovered fails the test unless a database is what Check wants.
func Recovered(t *testing.T, w *World, d *Database) {
	t.Helper()
	if err := Check(t, w, d); err != nil {
		t.Fatal(err)
	}
}

// Check says why a database is not what a recovery promises: live, or held when that was asked for, with the rows that the model
// has at the end of its try without its gaps, with checkpoints behind which no record below that end is left, and with a life of its own that the primary
// knows as the try's, and the secondary as that or, until the next backup brings it, not at all.
func Check(t *testing.T, w *World, d *Database) error {
	t.Helper()
	try := d.Try()
	if try == nil || d.State() != ended(try) || d.Settled() != 1 {
		return fault.New(fault.Bug, "a database that is %q, settled %d times, of try %v", d.State(), d.Settled(), try)
	}
	if err := w.content(d, try); err != nil || try.Rehearsal {
		return err
	}
	for i, bucket := range []archive.Bucket{w.Primary, w.Secondary} {
		h, err := history.Read(context.WithoutCancel(t.Context()), w.Archive(t, bucket))
		if err != nil {
			return err
		}
		life, known := h.Life(try.Lineage)
		if !known && i > 0 {
			continue
		}
		if !known || life.RunID != try.RunID || life.Incarnation != try.Incarnation {
			return fault.New(fault.Bug, "a bucket knows life %s as that of run %q and incarnation %q, want %s and %s", try.Lineage,
				life.RunID, life.Incarnation, try.RunID, try.Incarnation)
		}
	}
	return nil
}

// ended is the state in which a try leaves its target.
func ended(t *recovery.Try) apply.State {
	if t.Held != nil || t.Rehearsal {
		return apply.StateHeld
	}
	return apply.StateLive
}

// content compares rows and checkpoints with the model.
func (w *World) content(d *Database, try *recovery.Try) error {
	ends, gaps := CutOf(try), d.Gaps()
	if want, got := w.State(ends, gaps...), d.Rows(); !maps.Equal(want, got) {
		return fault.New(fault.Bug, "rows at %v without %v (-live +recovered):\n%s", ends, gaps, cmp.Diff(want, got))
	}
	for flow, cut := range ends {
		at := d.Positions(flow)
		for p, end := range cut {
			if err := w.Log.Hole(p, position.Range{From: min(at[p], end), Until: end}); err != nil {
				return fmt.Errorf("flow %s stands at %s in %s: %w", flow, at[p], p, err)
			}
			if at[p] > end && !lies(gaps, flow, p, at[p]-1) {
				return fault.New(fault.Bug, "flow %s stands at %s in %s, beyond %s", flow, at[p], p, end)
			}
		}
	}
	return nil
}

// Lives are the lineages that the archive has records of, the latest first.
func Lives(t *testing.T, w *World) (lives []position.Lineage) {
	t.Helper()
	h, err := history.Read(context.WithoutCancel(t.Context()), w.Archive(t))
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	for _, life := range h.Lives {
		lives = append(lives, life.Lineage)
	}
	return lives
}
