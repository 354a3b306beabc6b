package rehearsal

import (
	"fmt"
	"slices"
	"time"

	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/recovery"
	"tidemark/shared/verify"
	"tidemark/shared/verify/census"
)

// Phase is a part of a rehearsal that is done or not.
type Phase string

// The phases, in their order.
const (
	Archive Phase = "archive" // what the archive holds was counted, and is as it was signed
	Restore Phase = "restore" // the base is in
	Base    Phase = "base"    // it was compared with the archive
	Replay  Phase = "replay"  // the log is in, and the target is settled
	Count   Phase = "count"   // what came of it was counted
	Compare Phase = "compare" // it was compared with the live target
)

// Outcome is what a rehearsal found and measured.
type Outcome struct {
	Plan      recovery.Plan
	Recovered recovery.Report
	Archive   verify.Outcome // of what the archive holds

	Begun, Ended time.Time
	// Took is how long the recovery took, from its start until its target was settled, without what was counted meanwhile;
	// Restore and Replay are its parts.
	Took, Restore, Replay time.Duration
	Point                 time.Time // of the newest record that it holds; zero: none has a time

	Phases    []Phase // that were done
	Compares  bool    // a live target was to be compared
	LiveTaken time.Time
	Tables    census.Tables // of the scratch database in the end
	Cut       body.Cut      // where it stands
	Compared  int           // tables

	Differences []Difference
	Warnings    []string
	Stopped     error // what ended it early; nil: nothing
}

// Difference is a table or a partition that is not the same on both sides.
type Difference struct {
	Phase Phase // Base: the restored base is not the archive's. Compare: the recovered database is not the live target
	Table *census.Difference
	Shift *census.Shift
	// Unwritten says that no flow writes the table and the replay changed nothing in it: the live target may have gone on
	// alone, and a recovery would lose that.
	Unwritten bool
}

// Verdict is what the outcome says of the backup and of the log behind it.
func (o Outcome) Verdict() verify.Verdict {
	switch {
	case o.Archive.Verdict() == verify.Failed, o.differs() > 0, o.refuted():
		return verify.Failed
	case o.Stopped != nil, len(o.Missing()) > 0:
		return verify.Unfinished
	}
	return verify.Verified
}

// refuted says that what stopped it would stop a recovery too, as often as it is tried.
func (o Outcome) refuted() bool {
	switch fault.ClassOf(o.Stopped) { //nolint:exhaustive // the others say nothing of the backup
	case fault.Corrupt, fault.Gap, fault.Poison:
		return o.Stopped != nil
	}
	return false
}

// Missing are the phases that were to be done and were not.
func (o Outcome) Missing() (missing []Phase) {
	for _, phase := range []Phase{Archive, Restore, Base, Replay, Count, Compare} {
		if !slices.Contains(o.Phases, phase) && (phase != Compare || o.Compares) {
			missing = append(missing, phase)
		}
	}
	return missing
}

// differs counts the differences that nothing explains.
func (o Outcome) differs() (n int) {
	for _, d := range o.Differences {
		if !d.Unwritten {
			n++
		}
	}
	return n
}

// Err is nil for a backup that is verified, fault.Corrupt with the first difference for one that differs, and what stopped the
// rehearsal otherwise.
func (o Outcome) Err() error {
	switch {
	case o.Stopped != nil:
		return o.Stopped
	case o.differs() > 0:
		at := slices.IndexFunc(o.Differences, func(d Difference) bool { return !d.Unwritten })
		return fault.New(fault.Corrupt, "%d tables or partitions differ, the first: %s", o.differs(), o.Differences[at]).
			WithHint("keep the scratch database (--keep) and look at those rows on both sides; was a row changed by hand?")
	case len(o.Missing()) > 0:
		return fault.New(fault.Bug, "the rehearsal ended without %v", o.Missing())
	}
	return nil
}

// Age is how old the newest record was when the rehearsal began: the recovery's point.
func (o Outcome) Age() time.Duration {
	if o.Point.IsZero() {
		return 0
	}
	return max(0, o.Begun.Sub(o.Point))
}

// Replayed counts the records of all flows that were applied.
func (o Outcome) Replayed() (n int64) {
	for _, counts := range o.Recovered.Replayed {
		n += int64(counts.Applied)
	}
	return n
}

// CutDigest stands for where the scratch database stands in the end; zero when that is not known.
func (o Outcome) CutDigest() manifest.Digest {
	if !slices.Contains(o.Phases, Count) {
		return ""
	}
	var text []byte
	for _, p := range o.Cut {
		text = fmt.Appendf(text, "%q %q/%d %s\n", p.Flow, p.Topic, p.Partition, p.NextOffset)
	}
	return manifest.DigestOf(text)
}

// String says it for a person.
func (d Difference) String() string {
	side := "beside the live target"
	if d.Phase == Base {
		side = "beside the archive, before the replay"
	}
	switch {
	case d.Shift != nil:
		return fmt.Sprintf("%s: flow %s stands at %s in %s, want %s", side, d.Shift.Flow, offset(d.Shift.Got), d.Shift.Partition,
			offset(d.Shift.Want))
	case d.Unwritten:
		return fmt.Sprintf("%s: %s; no flow writes it, and a recovery has it as it was backed up", side, d.Table)
	}
	return fmt.Sprintf("%s: %s", side, d.Table)
}

func offset[O fmt.Stringer](at *O) string {
	if at == nil {
		return "no offset"
	}
	return (*at).String()
}
