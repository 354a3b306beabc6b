package policy_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/shared/expiry/policy"
	"tidemark/shared/manifest"
	"tidemark/shared/position"
)

var epoch = time.Date(2026, time.July, 1, 0, 0, 0, 0, time.UTC)

// drawPolicy draws small rules, so that they bite on few manifests.
func drawPolicy(t *rapid.T) policy.Policy {
	p := policy.Policy{
		KeepLast:    rapid.IntRange(0, 4).Draw(t, "keep_last"),
		KeepWithin:  time.Duration(rapid.IntRange(0, 5).Draw(t, "keep_within_days")) * 24 * time.Hour,
		Daily:       rapid.IntRange(0, 3).Draw(t, "daily"),
		Weekly:      rapid.IntRange(0, 2).Draw(t, "weekly"),
		Monthly:     rapid.IntRange(0, 2).Draw(t, "monthly"),
		MinVerified: rapid.IntRange(1, 5).Draw(t, "min_verified"),
	}
	if p.Validate() != nil {
		p.KeepLast = 1
	}
	return p
}

// drawTime draws a time to the hour, now and then from a clock that is far off.
func drawTime(t *rapid.T, label string) time.Time {
	at := epoch.Add(time.Duration(rapid.IntRange(-400, 400).Draw(t, label)) * time.Hour)
	return at.AddDate(rapid.SampledFrom([]int{0, 0, 0, 0, 0, -56, 70}).Draw(t, label+" years off"), 0, 0)
}

// drawManifests draws any manifests: of several lives, with clocks that jump, forks and marks.
func drawManifests(t *rapid.T) []policy.Manifest {
	manifests := make([]policy.Manifest, rapid.IntRange(0, 14).Draw(t, "manifests"))
	for i := range manifests {
		oneIn := func(n int, label string) bool { return rapid.IntRange(1, n).Draw(t, label) == n }
		manifests[i] = policy.Manifest{
			Lineage:  position.Lineage(rapid.IntRange(1, 3).Draw(t, "lineage")),
			Seq:      rapid.Int64Range(1, 40).Draw(t, "seq"),
			RunID:    manifest.RunID(fmt.Sprint("run ", i)),
			Created:  drawTime(t, "created"),
			Verified: !oneIn(8, "unverified"),
			Revoked:  oneIn(8, "revoked"),
			Kept:     oneIn(8, "kept"),
			Replay:   rapid.SampledFrom([]policy.ReplayState{policy.Replayable, policy.Unknown, policy.Gap}).Draw(t, "replay"),
		}
	}
	return manifests
}

func keptOf(decisions []policy.Decision) []policy.Manifest {
	var kept []policy.Manifest
	for _, d := range decisions {
		if d.Keep {
			kept = append(kept, d.Manifest)
		}
	}
	return kept
}

func good(manifests []policy.Manifest) []policy.Manifest {
	return slices.DeleteFunc(slices.Clone(manifests), func(m policy.Manifest) bool { return !m.Verified || m.Revoked })
}

// later says whether a stands behind b.
func later(a, b policy.Manifest) bool {
	return b.Lineage.Before(a.Lineage) || a.Lineage == b.Lineage && a.Seq > b.Seq
}

// TestDecide_HoldsForAnyManifests: promises that no clock, life, mark or policy can break.
func TestDecide_HoldsForAnyManifests(t *testing.T) {
	t.Parallel()
	for promise, check := range map[string]func(*rapid.T, []policy.Manifest, policy.Policy, time.Time){
		"NeverGoesBelowTheMinimum":       checkMinimum,
		"KeepsTheNewest":                 checkNewest,
		"KeepsTheNewestThatTheLogHolds":  checkReached,
		"ObeysMarks":                     checkMarks,
		"AnswersForEachOneInOrder":       checkAnswers,
		"ExpiresNothingMoreTheNextTime":  checkConvergence,
		"DoesNotDependOnTheOrderOfInput": checkInputOrder,
		"KeepsTheWindowAndOneFromBefore": checkWindow,
		"PrefersWhatTheLogHolds":         checkPreference,
		"CountsOnlyWhatIsGood":           checkCounting,
	} {
		t.Run(promise, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) { check(t, drawManifests(t), drawPolicy(t), drawTime(t, "now")) })
		})
	}
}

func checkMinimum(t *rapid.T, all []policy.Manifest, p policy.Policy, now time.Time) {
	kept := good(keptOf(policy.Decide(all, p, now)))
	if want := min(p.MinVerified, len(good(all))); len(kept) < want {
		t.Errorf("got %d verified that stay, want at least %d", len(kept), want)
	}
}

func checkNewest(t *rapid.T, all []policy.Manifest, p policy.Policy, now time.Time) {
	kept := keptOf(policy.Decide(all, p, now))
	for _, m := range good(all) {
		if !slices.ContainsFunc(good(kept), func(k policy.Manifest) bool { return !later(m, k) }) {
			t.Errorf("nothing good stays from %d/%d on, which expires", m.Lineage, m.Seq)
		}
	}
}

func checkReached(t *rapid.T, all []policy.Manifest, p policy.Policy, now time.Time) {
	inGap := func(m policy.Manifest) bool { return m.Replay == policy.Gap }
	kept := slices.DeleteFunc(good(keptOf(policy.Decide(all, p, now))), inGap)
	for _, m := range slices.DeleteFunc(good(all), inGap) {
		if !slices.ContainsFunc(kept, func(k policy.Manifest) bool { return !later(m, k) }) {
			t.Errorf("nothing that the log holds stays from %d/%d on", m.Lineage, m.Seq)
		}
	}
}

func checkMarks(t *rapid.T, all []policy.Manifest, p policy.Policy, now time.Time) {
	for _, d := range policy.Decide(all, p, now) {
		m := d.Manifest
		switch {
		case m.Kept && !d.Keep:
			t.Errorf("%s: it is marked", d)
		case !m.Verified && !m.Revoked && !d.Keep:
			t.Errorf("%s: nobody knows whether it is good", d)
		case m.Revoked && !m.Kept && d.Keep:
			t.Errorf("%s: it is revoked", d)
		}
	}
}

func checkAnswers(t *rapid.T, all []policy.Manifest, p policy.Policy, now time.Time) {
	decisions := policy.Decide(all, p, now)
	if len(decisions) != len(all) {
		t.Fatalf("got %d decisions on %d manifests", len(decisions), len(all))
	}
	expiring := []policy.Rule{policy.Surplus, policy.Withdrawn}
	for i, d := range decisions {
		if i > 0 && later(d.Manifest, decisions[i-1].Manifest) {
			t.Errorf("%s stands behind %s", d, decisions[i-1])
		}
		if len(d.Reasons) == 0 || !d.Keep && len(d.Reasons) != 1 {
			t.Errorf("%s: got %d reasons", d, len(d.Reasons))
		}
		for _, reason := range d.Reasons {
			if slices.Contains(expiring, reason.Rule) == d.Keep {
				t.Errorf("%s: the reason says otherwise", d)
			}
		}
	}
}

func checkConvergence(t *rapid.T, all []policy.Manifest, p policy.Policy, now time.Time) {
	first := policy.Decide(all, p, now)
	for _, d := range policy.Decide(keptOf(first), p, now) {
		if !d.Keep {
			t.Errorf("%s: stayed at first", d)
		}
	}
}

func checkInputOrder(t *rapid.T, all []policy.Manifest, p policy.Policy, now time.Time) {
	given := slices.Clone(all)
	want := policy.Decide(all, p, now)
	got := policy.Decide(rapid.Permutation(all).Draw(t, "order"), p, now)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(given, all); diff != "" {
		t.Errorf("manifests of the caller changed:\n%s", diff)
	}
}

// checkWindow: what counts and was created in the window before now stays, and something that counts from before it.
func checkWindow(t *rapid.T, all []policy.Manifest, p policy.Policy, now time.Time) {
	if p.KeepWithin == 0 {
		return
	}
	counts := func(d policy.Decision) bool {
		return d.Manifest.Verified && !d.Manifest.Revoked && !slices.Contains(d.Reasons, policy.Reason{Rule: policy.Forked})
	}
	decisions := slices.DeleteFunc(policy.Decide(all, p, now), func(d policy.Decision) bool { return !counts(d) })
	oldest := -1
	for i, d := range decisions {
		if d.Manifest.Created.Before(now.Add(-p.KeepWithin)) {
			continue
		}
		if !d.Keep {
			t.Errorf("%s: it is in the window", d)
		}
		if !d.Manifest.Created.After(now) {
			oldest = i
		}
	}
	if oldest < 0 || oldest == len(decisions)-1 {
		return
	}
	if len(keptOf(decisions[oldest+1:])) == 0 {
		t.Errorf("nothing from before the window stays")
	}
}

// checkPreference: neither count holds a gap while something that the log holds expires.
func checkPreference(t *rapid.T, all []policy.Manifest, p policy.Policy, now time.Time) {
	choosing := []policy.Rule{policy.Last, policy.Minimum}
	decisions := policy.Decide(all, p, now)
	lost := slices.ContainsFunc(decisions, func(d policy.Decision) bool {
		return !d.Keep && d.Manifest.Verified && !d.Manifest.Revoked && d.Manifest.Replay != policy.Gap
	})
	for _, d := range decisions {
		for _, reason := range d.Reasons {
			if lost && d.Manifest.Replay == policy.Gap && slices.Contains(choosing, reason.Rule) {
				t.Errorf("%s: what the log holds expires for it", d)
			}
		}
	}
}

// checkCounting: what is not good changes nothing for what is.
func checkCounting(t *rapid.T, all []policy.Manifest, p policy.Policy, now time.Time) {
	want := policy.Decide(good(all), p, now)
	got := slices.DeleteFunc(policy.Decide(all, p, now), func(d policy.Decision) bool {
		return !d.Manifest.Verified || d.Manifest.Revoked
	})
	if diff := cmp.Diff(plan(want), plan(got)); diff != "" {
		t.Errorf("plan without and with what is not good (-want +got):\n%s", diff)
	}
}

// TestDecide_OverTime: on histories whose clocks go forward, with recoveries in between.
func TestDecide_OverTime(t *testing.T) {
	t.Parallel()
	t.Run("RunAfterEachBackupLosesNothingThatOneRunWouldKeep", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			all, p := drawHistory(t), drawPolicy(t)
			var left []policy.Manifest
			for _, m := range all {
				left = keptOf(policy.Decide(append(left, m), p, m.Created))
			}
			for _, d := range policy.Decide(all, p, all[len(all)-1].Created) {
				byRule := d.Keep && d.Reasons[0].Rule != policy.Minimum
				if byRule && !slices.Contains(left, d.Manifest) {
					t.Errorf("%s: an earlier run expired it", d)
				}
			}
		})
	})
	t.Run("ANewerOneBringsBackOnlyWhatTheMinimumNeeds", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			all, p := drawHistory(t), drawPolicy(t)
			newer := all[len(all)-1]
			before := keptOf(policy.Decide(all[:len(all)-1], p, newer.Created))
			for _, d := range policy.Decide(all, p, newer.Created) {
				byRule := d.Keep && d.Reasons[0].Rule != policy.Minimum
				if byRule && d.Manifest != newer && !slices.Contains(before, d.Manifest) {
					t.Errorf("%s: it was to expire", d)
				}
			}
		})
	})
}

// drawHistory draws what a schedule leaves, oldest first. All of it is good; the oldest may have fallen off the log.
func drawHistory(t *rapid.T) []policy.Manifest {
	history := make([]policy.Manifest, rapid.IntRange(1, 30).Draw(t, "backups"))
	gaps := rapid.IntRange(0, len(history)).Draw(t, "gaps")
	m := policy.Manifest{Lineage: 1, Seq: 100, Created: epoch, Verified: true}
	for i := range history {
		m.Seq++
		if rapid.IntRange(1, 8).Draw(t, "recovery") == 8 {
			m.Lineage, m.Seq = m.Lineage+1, 1
		}
		m.Created = m.Created.Add(time.Duration(rapid.IntRange(0, 60).Draw(t, "hours")) * time.Hour)
		m.Replay = policy.Replayable
		if i < gaps {
			m.Replay = policy.Gap
		}
		history[i] = m
	}
	return history
}
