package policy

import (
	"fmt"
	"strings"
)

// Decision is what becomes of one manifest.
type Decision struct {
	Manifest Manifest
	Keep     bool
	Reasons  []Reason // all that keep it, or the one that expires it; never empty
}

// String is the decision in one line for a plan.
func (d Decision) String() string {
	verb := "expire"
	if d.Keep {
		verb = "keep"
	}
	reasons := make([]string, len(d.Reasons))
	for i, reason := range d.Reasons {
		reasons[i] = reason.String()
	}
	return fmt.Sprintf("%s %s/%d: %s", verb, d.Manifest.Lineage, d.Manifest.Seq, strings.Join(reasons, ", "))
}

func (d *Decision) keep(because Reason) {
	d.Keep = true
	d.Reasons = append(d.Reasons, because)
}

// Reason is a rule and, for the rules of the calendar, the day, week or month that the manifest stands for.
type Reason struct {
	Rule Rule
	Slot string // 2026-07-04, 2026-W27 or 2026-07
}

// String says why in words. What waits for an operator says so.
func (r Reason) String() string {
	switch {
	case r.Rule == Unverified:
		return "not verified: stays until it verifies or is revoked"
	case r.Rule == Forked:
		return "forked: another has the same lineage and seq, both stay until one is revoked"
	case r.Rule == Unsound:
		return "invalid policy: nothing expires by it"
	case r.Slot != "":
		return string(r.Rule) + " " + r.Slot
	}
	return string(r.Rule)
}

// Rule names what kept or expired a manifest, as it stands in plans and reports.
type Rule string

// The rules. Surplus and Withdrawn expire, all others keep.
const (
	Newest     Rule = "newest"         // the newest that counts, and the newest of them that the log still reaches
	Last       Rule = "last"           // Policy.KeepLast
	Within     Rule = "within"         // Policy.KeepWithin
	Cover      Rule = "cover"          // from before that window, so that its first moments can be recovered too
	Daily      Rule = "daily"          // Policy.Daily
	Weekly     Rule = "weekly"         // Policy.Weekly
	Monthly    Rule = "monthly"        // Policy.Monthly
	Minimum    Rule = "min_verified"   // Policy.MinVerified, when the rules above kept too few
	Marked     Rule = "kept"           // Manifest.Kept
	Unverified Rule = "not_verified"   // not known to be good, so it neither counts nor expires
	Forked     Rule = "forked"         // two claim one place: neither counts nor expires
	Unsound    Rule = "invalid_policy" // Policy.Validate refuses it

	Surplus   Rule = "policy"  // no rule wants it
	Withdrawn Rule = "revoked" // Manifest.Revoked
)
