package health

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tidemark/shared/archive"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
)

// Backups asks whether what was backed up could be used now, whether it is the newest there was, and whether both buckets
// have it.
type Backups struct {
	Archive   *archive.Archive
	HighWater history.HighWater // nil: nobody remembers
	MaxAge    time.Duration     // older is doubtful; 0: a day
	Now       func() time.Time
}

const (
	newest    = "newest"
	freshness = "freshness"
	copies    = "copies"
	day       = 24 * time.Hour
)

// Examine reads as a recovery would, down to the presence of every object, and no object of a table.
func (b Backups) Examine(ctx context.Context) []Finding {
	f := &findings{about: "backups"}
	h, err := history.Read(ctx, b.Archive)
	if err != nil {
		f.failed("readable", err)
		return f.list
	}
	for _, warning := range h.Warnings {
		f.doubtful("readable", warning, "tidemark manifests list shows which backups it is about")
	}
	mark := b.checkMark(ctx, f)
	choice, err := h.Choose(ctx, history.Request{Mark: mark})
	switch {
	case errors.Is(err, history.ErrNoBackup):
		b.none(f, mark)
		return f.list
	case errors.Is(err, history.ErrOlderThanSeen), errors.Is(err, history.ErrForked):
		f.failed(freshness, err)
	case err != nil:
		f.failed(newest, err)
	case choice.FreshnessProven:
		f.fine(freshness, "nothing newer was ever committed, as far as the mark knows")
	}
	b.checkNewest(f, choice)
	b.checkBehind(f, mark, choice)
	if err := h.Reached(); err != nil || choice.Manifest.Statement.Seq == 0 {
		return f.list // the bucket's own findings say why
	}
	b.checkCopies(ctx, f, h, choice)
	return f.list
}

// none is an archive without a manifest: new, or at another address than it was.
func (b Backups) none(f *findings, mark history.Mark) {
	if !mark.IsZero() {
		f.failed(freshness, fault.New(fault.Corrupt, "no manifest is listed, and %s/%d was committed: %w", mark.Lineage, mark.Seq,
			history.ErrOlderThanSeen).WithHint("check the archive's address, its prefix above all"))
		return
	}
	f.doubtful(newest, "there is no backup yet", "tidemark backup")
}

func (b Backups) checkMark(ctx context.Context, f *findings) history.Mark {
	if b.HighWater == nil {
		f.doubtful(freshness, "unproven: nobody remembers the newest backup outside the buckets, so one that was turned back goes unnoticed",
			"set TIDEMARK_HIGH_WATER")
		return history.Mark{}
	}
	mark, err := b.HighWater.Load(ctx)
	if err != nil {
		f.failed("mark", err)
		return history.Mark{}
	}
	if mark.IsZero() {
		f.fine("mark", "readable; nothing is remembered yet")
	} else {
		f.fine("mark", "readable; the newest that was committed is %s/%d", mark.Lineage, mark.Seq)
	}
	return mark
}

// checkBehind speaks of a mark that a backup could not raise.
func (b Backups) checkBehind(f *findings, mark history.Mark, choice history.Choice) {
	chosen := history.Mark{Lineage: choice.Manifest.Lineage, Seq: choice.Manifest.Seq}
	if b.HighWater != nil && chosen.Seq > 0 && mark.Before(chosen) {
		f.doubtful("mark", fmt.Sprintf("behind the newest manifest, %s/%d", chosen.Lineage, chosen.Seq),
			"let whoever backs up write to TIDEMARK_HIGH_WATER; the next backup raises it")
	}
}

func (b Backups) checkNewest(f *findings, choice history.Choice) {
	for _, passed := range choice.Passed {
		if errors.Is(passed.Reason, history.ErrRevoked) {
			continue // an operator said so
		}
		if choice.Manifest.Statement.Seq > 0 { // else the choice's own error has said it
			f.failed(newest, fault.New(fault.ClassOf(passed.Reason), "manifest %s cannot be used: %w", passed.ID, passed.Reason).
				WithHint("mend it from the other bucket (tidemark copy), or withdraw it: tidemark revoke %s --reason …", passed.ID.Run))
		}
	}
	m := choice.Manifest
	if m.Statement.Seq == 0 {
		return
	}
	age, limit := b.Now().Sub(m.Statement.Created), b.MaxAge
	if limit == 0 {
		limit = day
	}
	saw := fmt.Sprintf("manifest %s/%d verifies, %s old, %d objects", m.Lineage, m.Seq, age.Round(time.Minute), len(history.Objects(m, choice.Body)))
	if age > limit {
		f.doubtful(newest, saw+": older than "+limit.String(), "find out why the schedule makes none, or: tidemark backup")
		return
	}
	f.fine(newest, "%s", saw)
}

// checkCopies finds what one bucket has and the other lacks.
func (b Backups) checkCopies(ctx context.Context, f *findings, h *history.History, choice history.Choice) {
	if len(b.Archive.Places) < 2 { //nolint:mnd // a copy is a second one
		f.doubtful(copies, "there is one bucket: what happens to it happens to every backup",
			"set TIDEMARK_ARCHIVE_SECONDARY, then: tidemark copy")
		return
	}
	stock, err := h.Stock(ctx)
	if err != nil {
		f.failed(copies, err)
		return
	}
	objects := history.Objects(choice.Manifest, choice.Body)
	behind := false
	for _, place := range b.Archive.Places {
		lacking, first := lacks(h, place.Name)
		missing := missingIn(stock, place.Name, objects)
		if lacking == 0 && missing == 0 {
			continue
		}
		behind = true
		saw := fmt.Sprintf("the %s bucket lacks %d of %d manifests", place.Name, lacking, len(h.Entries))
		if lacking > 0 {
			saw += fmt.Sprintf(", the newest %s/%d", first.Lineage, first.Seq)
		}
		f.doubtful(copies, fmt.Sprintf("%s, and %d objects of the newest that can be used", saw, missing), b.copying(place))
	}
	if !behind {
		f.fine(copies, "both buckets have every manifest, and all objects of the newest")
	}
}

func missingIn(stock history.Stock, place string, objects []manifest.Object) (missing int) {
	for _, object := range objects {
		if !stock.Has(place, object) {
			missing++
		}
	}
	return missing
}

// lacks counts the manifests that a place does not list, and gives the newest of them. What was withdrawn need not be copied.
func lacks(h *history.History, place string) (count int, first layout.ID) {
	for _, e := range h.Entries {
		there := e.Revoked
		for _, c := range e.Copies {
			there = there || c.Place.Name == place
		}
		if there {
			continue
		}
		if count++; count == 1 {
			first = e.ID
		}
	}
	return count, first
}

func (b Backups) copying(to archive.Place) string {
	if to.Name == b.Archive.Primary().Name {
		return "tidemark copy --from " + b.Archive.Places[1].Name
	}
	return "tidemark copy"
}
