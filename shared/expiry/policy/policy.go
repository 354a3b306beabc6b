// Package policy owns which manifests an expiry keeps, and why.
//
// It refuses to touch anything: it reads no bucket and no clock, deletes nothing, and judges no signature. The caller says
// what each manifest was found to be, Decide says what becomes of it, package expiry acts. Its invariants:
//
//   - Which manifest is newer is said by (lineage, seq) alone. A recovery begins again at a low seq, and a clock can jump:
//     neither may make the newest manifest look like the oldest.
//   - Only a manifest that verified and was not revoked counts. One that did not verify is never expired by the policy, since
//     nobody knows what it is, and never stands in for one that did.
//   - The newest that counts stays, the newest that the log still reaches stays, and never fewer than MinVerified stay.
//   - Deciding again on what was kept, at the same time, expires nothing more.
//
// All functions are pure and safe for concurrent use.
package policy

import (
	"fmt"
	"strings"
	"time"

	"tidemark/shared/fault"
)

// The ranges of a policy. A window below a minute is a number without its unit rather than a wish.
const (
	maxCount  = 10_000
	minWindow = time.Minute
	maxWindow = 100 * 365 * 24 * time.Hour
)

// Policy says what to keep. A manifest stays when any of its rules wants it; a zero rule wants nothing.
type Policy struct {
	KeepLast    int           // that many of the newest
	KeepWithin  time.Duration // all of that last while, and one from before it
	Daily       int           // the newest of each of that many days
	Weekly      int           // of ISO weeks
	Monthly     int           // of months
	MinVerified int           // never fewer than that many, whatever the rules above say; from 1
}

// Validate refuses policies that cannot be meant. Errors are fault.Misconfigured.
func (p Policy) Validate() error {
	for _, rule := range p.counts() {
		if rule.count < 0 || rule.count > maxCount {
			return fault.New(fault.Misconfigured, "expiry policy: %s %d, want 0 to %d", rule.name, rule.count, maxCount)
		}
	}
	switch {
	case p.KeepWithin != 0 && (p.KeepWithin < minWindow || p.KeepWithin > maxWindow):
		return fault.New(fault.Misconfigured, "expiry policy: keep_within %s, want 0 or %s to %s",
			p.KeepWithin, minWindow, maxWindow)
	case p.MinVerified < 1:
		return fault.New(fault.Misconfigured, "expiry policy: min_verified 0, want at least 1").
			WithHint("it is how many verified backups stay when all else goes wrong; 2 or more lets one of them be lost")
	case p.keepsNothing():
		return fault.New(fault.Misconfigured, "expiry policy: no rule keeps anything").
			WithHint("set one of keep_last, keep_within, daily, weekly and monthly; to keep all, configure no expiry")
	}
	return nil
}

// String lists the rules that are set, as they are named in the configuration.
func (p Policy) String() string {
	var rules []string
	if p.KeepWithin != 0 {
		rules = append(rules, "keep_within "+p.KeepWithin.String())
	}
	for _, rule := range p.counts() {
		if rule.count != 0 {
			rules = append(rules, fmt.Sprintf("%s %d", rule.name, rule.count))
		}
	}
	return strings.Join(rules, ", ")
}

func (p Policy) keepsNothing() bool { return p == Policy{MinVerified: p.MinVerified} }

type count struct {
	name  string
	count int
}

func (p Policy) counts() []count {
	return []count{
		{"keep_last", p.KeepLast},
		{"daily", p.Daily},
		{"weekly", p.Weekly},
		{"monthly", p.Monthly},
		{"min_verified", p.MinVerified},
	}
}
