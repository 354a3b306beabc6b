package policy

import (
	"fmt"
	"slices"
	"time"
)

// Decide says for each manifest whether it stays, and why, newest first by lineage and seq.
//
// Each run is given once, however many buckets hold it; a run that is given twice is a fork and stays. Under a policy that
// Validate refuses nothing expires. The order of manifests makes no difference.
func Decide(manifests []Manifest, policy Policy, now time.Time) []Decision {
	decisions := make([]Decision, len(manifests))
	for i, m := range slices.SortedFunc(slices.Values(manifests), newestFirst) {
		decisions[i].Manifest = m
	}
	if policy.Validate() != nil {
		for i := range decisions {
			decisions[i].keep(Reason{Rule: Unsound})
		}
		return decisions
	}
	r := review{candidates: triage(decisions)}
	r.preferred = byPreference(r.candidates)
	r.apply(policy, now)
	for i := range decisions {
		if d := &decisions[i]; len(d.Reasons) == 0 {
			d.Reasons = []Reason{{Rule: Surplus}}
		}
	}
	return decisions
}

// triage settles what no rule has a say in and returns the rest, the candidates: what counts.
func triage(decisions []Decision) []*Decision {
	claims := map[place]int{}
	for _, d := range decisions {
		if d.Manifest.counts() {
			claims[d.Manifest.place()]++
		}
	}
	var candidates []*Decision
	for i := range decisions {
		d := &decisions[i]
		m := d.Manifest
		if m.Kept {
			d.keep(Reason{Rule: Marked})
		}
		switch {
		case m.Revoked && !m.Kept:
			d.Reasons = []Reason{{Rule: Withdrawn}}
		case m.Revoked: // stays by its mark alone
		case !m.Verified:
			d.keep(Reason{Rule: Unverified})
		case claims[m.place()] > 1: // recovery refuses both, so no other backup may be given up for them
			d.keep(Reason{Rule: Forked})
		default:
			candidates = append(candidates, d)
		}
	}
	return candidates
}

// byPreference puts candidates that fell off the log behind all others and leaves their order otherwise.
//
// Every rule that chooses takes the first of this one order that it has a use for. That is why deciding again is stable:
// what was chosen is still the first when others are gone, and what was passed over has not moved ahead of it. An order of
// its own for each rule loses that: a day that is ranked by a manifest which then expires moves behind another day.
func byPreference(candidates []*Decision) []*Decision {
	var reached, gaps []*Decision
	for _, d := range candidates {
		if d.Manifest.Replay == Gap {
			gaps = append(gaps, d)
		} else {
			reached = append(reached, d)
		}
	}
	return slices.Concat(reached, gaps)
}

// review is one application of a policy.
type review struct {
	candidates []*Decision // newest first
	preferred  []*Decision // the same, in the order in which they are wanted
}

func (r review) apply(policy Policy, now time.Time) {
	if len(r.candidates) == 0 {
		return
	}
	newest, reached := r.candidates[0], r.preferred[0]
	newest.keep(Reason{Rule: Newest})
	if reached != newest {
		reached.keep(Reason{Rule: Newest})
	}
	for _, d := range r.preferred[:min(policy.KeepLast, len(r.preferred))] {
		d.keep(Reason{Rule: Last})
	}
	if policy.KeepWithin != 0 {
		r.keepWithin(policy.KeepWithin, now)
	}
	r.keepSlots(Daily, policy.Daily, day)
	r.keepSlots(Weekly, policy.Weekly, week)
	r.keepSlots(Monthly, policy.Monthly, month)
	r.keepMinimum(policy.MinVerified)
}

// keepWithin keeps what was created in the window, and one from before it.
//
// The window ends at now or when the newest was created, whichever is older. With now alone, a schedule that stopped would
// lose its backups one by one as they leave the window; with the newest alone, a clock that was once ahead would end the
// window in the future and lose those that are recent in truth. The older of the two can only keep more.
//
// The one from before is what makes the window whole: the moments between its start and its first backup are recovered
// from the backup before. That is the next in sequence, not the next by time, since one clock that jumped back would make
// any manifest the newest "before the window". For the same reason a manifest from after the window's latest end stays but
// does not say where the window begins.
func (r review) keepWithin(window time.Duration, now time.Time) {
	end, latest := r.candidates[0].Manifest.Created, now
	if end.After(latest) {
		end, latest = latest, end
	}
	start, before := end.Add(-window), 0
	for i, d := range r.candidates {
		created := d.Manifest.Created
		if created.Before(start) {
			continue
		}
		d.keep(Reason{Rule: Within})
		if !created.After(latest) {
			before = i + 1
		}
	}
	if earlier := byPreference(r.candidates[before:]); len(earlier) > 0 {
		earlier[0].keep(Reason{Rule: Cover})
	}
}

// keepSlots keeps one manifest for each of the first slots that have any. Days without a backup take no slot, so that a
// schedule that stopped loses none.
func (r review) keepSlots(rule Rule, slots int, of func(time.Time) string) {
	filled := map[string]bool{}
	for _, d := range r.preferred {
		if len(filled) == slots {
			return
		}
		if slot := of(d.Manifest.Created.UTC()); !filled[slot] {
			filled[slot] = true
			d.keep(Reason{Rule: rule, Slot: slot})
		}
	}
}

func (r review) keepMinimum(minimum int) {
	kept := 0
	for _, d := range r.candidates {
		if d.Keep {
			kept++
		}
	}
	for _, d := range r.preferred {
		if kept >= minimum {
			return
		}
		if !d.Keep {
			d.keep(Reason{Rule: Minimum})
			kept++
		}
	}
}

func day(t time.Time) string { return t.Format(time.DateOnly) }

func month(t time.Time) string { return t.Format("2006-01") }

func week(t time.Time) string {
	year, number := t.ISOWeek()
	return fmt.Sprintf("%d-W%02d", year, number)
}
