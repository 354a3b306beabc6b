package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/expiry/policy"
	"tidemark/shared/manifest"
)

// read makes a manifest from a line: "lineage/seq time mark…". Without marks it verified and the log reaches it.
func read(t *testing.T, line string) policy.Manifest {
	t.Helper()
	fields := strings.Fields(line)
	m := policy.Manifest{Created: moment(t, fields[1]), Verified: true, Replay: policy.Replayable}
	if _, err := fmt.Sscanf(fields[0], "%d/%d", &m.Lineage, &m.Seq); err != nil {
		t.Fatal(err)
	}
	for _, mark := range fields[2:] {
		switch mark {
		case "gap":
			m.Replay = policy.Gap
		case "unknown":
			m.Replay = policy.Unknown
		case "unverified":
			m.Verified = false
		case "revoked":
			m.Revoked = true
		case "kept":
			m.Kept = true
		default:
			m.RunID = manifest.RunID(mark)
		}
	}
	return m
}

func moment(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02T15:04Z07:00", text)
	if err != nil {
		at, err = time.Parse("2006-01-02T15", text)
	}
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func plan(decisions []policy.Decision) []string {
	var lines []string
	for _, d := range decisions {
		lines = append(lines, d.String())
	}
	return lines
}

type example struct {
	promise   string
	policy    policy.Policy
	now       string
	manifests []string
	want      []string
}

// TestDecide: worked examples.
func TestDecide(t *testing.T) {
	t.Parallel()
	for _, test := range slices.Concat(countExamples(), lifeExamples(), windowExamples(), slotExamples(), markExamples()) {
		t.Run(test.promise, func(t *testing.T) {
			t.Parallel()
			var manifests []policy.Manifest
			for _, line := range test.manifests {
				manifests = append(manifests, read(t, line))
			}
			got := plan(policy.Decide(manifests, test.policy, moment(t, test.now)))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

func countExamples() []example {
	return []example{
		{
			"SaysNothingOfNothing", policy.Policy{KeepLast: 2, MinVerified: 1}, "2026-07-04T12", nil, nil,
		},
		{
			"KeepsTheLast",
			policy.Policy{KeepLast: 2, MinVerified: 1},
			"2026-07-04T12",
			[]string{"1/1 2026-07-01T00", "1/3 2026-07-03T00", "1/2 2026-07-02T00"},
			[]string{"keep 1/3: newest, last", "keep 1/2: last", "expire 1/1: policy"},
		},
		{
			"NeverGoesBelowTheMinimum",
			policy.Policy{KeepLast: 1, MinVerified: 3},
			"2026-07-04T12",
			[]string{"1/1 2026-07-01T00", "1/2 2026-07-02T00", "1/3 2026-07-03T00", "1/4 2026-07-04T00"},
			[]string{"keep 1/4: newest, last", "keep 1/3: min_verified", "keep 1/2: min_verified", "expire 1/1: policy"},
		},
		{
			"KeepsAllWhenFewerThanTheMinimumExist",
			policy.Policy{KeepLast: 1, MinVerified: 3},
			"2026-07-04T12",
			[]string{"1/1 2026-07-01T00", "1/2 2026-07-02T00"},
			[]string{"keep 1/2: newest, last", "keep 1/1: min_verified"},
		},
		{
			"GivesUpFirstWhatFellOffTheLog",
			policy.Policy{KeepLast: 3, MinVerified: 1},
			"2026-07-06T12",
			[]string{
				"1/5 2026-07-05T00 gap", "1/4 2026-07-04T00", "1/3 2026-07-03T00 gap", "1/2 2026-07-02T00 unknown", "1/1 2026-07-01T00",
			},
			[]string{
				"keep 1/5: newest", "keep 1/4: newest, last", "expire 1/3: policy", "keep 1/2: last", "keep 1/1: last",
			},
		},
		{
			"FillsTheCountWithGapsWhenNothingElseIsThere",
			policy.Policy{KeepLast: 2, MinVerified: 3},
			"2026-07-06T12",
			[]string{"1/4 2026-07-04T00", "1/3 2026-07-03T00 gap", "1/2 2026-07-02T00 gap", "1/1 2026-07-01T00 gap"},
			[]string{
				"keep 1/4: newest, last", "keep 1/3: last", "keep 1/2: min_verified", "expire 1/1: policy",
			},
		},
		{
			"ExpiresNothingByAPolicyThatIsUnset",
			policy.Policy{},
			"2026-07-06T12",
			[]string{"1/2 2026-07-02T00", "1/1 2026-07-01T00 revoked"},
			[]string{
				"keep 1/2: invalid policy: nothing expires by it", "keep 1/1: invalid policy: nothing expires by it",
			},
		},
	}
}

func lifeExamples() []example {
	return []example{
		{
			// A recovery began lineage 2, whose seq starts again at 1.
			"TakesALaterLifeForNewerThoughItsSeqIsLower",
			policy.Policy{KeepLast: 2, MinVerified: 1},
			"2026-07-05T12",
			[]string{"1/900 2026-07-01T00", "1/901 2026-07-02T00", "2/1 2026-07-03T00", "2/2 2026-07-04T00"},
			[]string{"keep 2/2: newest, last", "keep 2/1: last", "expire 1/901: policy", "expire 1/900: policy"},
		},
		{
			// The host of the later life has a clock that is a year behind.
			"TakesALaterLifeForNewerThoughItsClockIsBehind",
			policy.Policy{KeepLast: 1, Daily: 1, MinVerified: 1},
			"2026-07-05T12",
			[]string{"1/901 2026-07-02T00", "1/902 2026-07-03T00", "2/1 2025-07-03T00"},
			[]string{"keep 2/1: newest, last, daily 2025-07-03", "expire 1/902: policy", "expire 1/901: policy"},
		},
		{
			// The first day of the new life: the old one's backups still fill what the policy asks for.
			"FillsWithTheLifeBefore",
			policy.Policy{Daily: 3, MinVerified: 2},
			"2026-07-05T12",
			[]string{"1/7 2026-07-01T00", "1/8 2026-07-02T00", "1/9 2026-07-03T00 gap", "2/1 2026-07-03T09", "2/2 2026-07-03T10"},
			[]string{
				"keep 2/2: newest, daily 2026-07-03", "expire 2/1: policy", "expire 1/9: policy", "keep 1/8: daily 2026-07-02",
				"keep 1/7: daily 2026-07-01",
			},
		},
		{
			"LeavesAForkToTheOperator",
			policy.Policy{KeepLast: 1, MinVerified: 1},
			"2026-07-05T12",
			[]string{"1/1 2026-07-01T00", "1/2 2026-07-02T00", "1/3 2026-07-03T00 a", "1/3 2026-07-03T01 b"},
			[]string{
				"keep 1/3: forked: another has the same lineage and seq, both stay until one is revoked",
				"keep 1/3: forked: another has the same lineage and seq, both stay until one is revoked",
				"keep 1/2: newest, last", "expire 1/1: policy",
			},
		},
		{
			"CountsWhatARevocationLeftOfAFork",
			policy.Policy{KeepLast: 1, MinVerified: 1},
			"2026-07-05T12",
			[]string{"1/2 2026-07-02T00", "1/3 2026-07-03T00 a", "1/3 2026-07-03T01 b revoked"},
			[]string{"expire 1/3: revoked", "keep 1/3: newest, last", "expire 1/2: policy"},
		},
	}
}

func windowExamples() []example {
	week := policy.Policy{KeepWithin: 7 * 24 * time.Hour, MinVerified: 1}
	return []example{
		{
			"KeepsTheWindowAndOneFromBefore", week, "2026-07-10T12",
			[]string{"1/1 2026-07-01T12", "1/2 2026-07-02T12", "1/3 2026-07-03T12", "1/4 2026-07-06T12", "1/5 2026-07-10T12"},
			[]string{"keep 1/5: newest, within", "keep 1/4: within", "keep 1/3: within", "keep 1/2: cover", "expire 1/1: policy"},
		},
		{
			"EatsNothingWhenTheScheduleStops", week, "2031-01-01T00",
			[]string{"1/1 2026-07-01T12", "1/2 2026-07-02T12", "1/3 2026-07-03T12", "1/4 2026-07-10T12"},
			[]string{"keep 1/4: newest, within", "keep 1/3: within", "keep 1/2: cover", "expire 1/1: policy"},
		},
		{
			"EndsAtNowWhenTheNewestIsAheadOfIt", week, "2026-07-10T12",
			[]string{"1/1 2026-07-01T12", "1/2 2026-07-02T12", "1/3 2026-07-04T12", "1/4 2099-01-01T00"},
			[]string{"keep 1/4: newest, within", "keep 1/3: within", "keep 1/2: cover", "expire 1/1: policy"},
		},
		{
			"KeepsMoreWhenTheNewestIsBehind", week, "2026-07-10T12",
			[]string{"1/1 2026-07-01T12", "1/2 2026-07-02T12", "1/3 1970-01-01T00"},
			[]string{"keep 1/3: newest, within", "keep 1/2: within", "keep 1/1: within"},
		},
		{
			"IsCoveredBySequenceThoughAClockJumpedBack", week, "2026-07-10T12",
			[]string{"1/1 2026-07-01T12", "1/2 2026-07-05T12", "1/3 1970-01-01T00", "1/4 2026-07-10T12"},
			[]string{"keep 1/4: newest, within", "expire 1/3: policy", "keep 1/2: within", "keep 1/1: cover"},
		},
		{
			"IsCoveredThoughAnOldClockWasAhead", week, "2026-07-10T12",
			[]string{"1/1 2026-06-01T12", "1/2 2099-01-01T00 gap", "1/3 2026-07-02T12", "1/4 2026-07-05T12", "1/5 2026-07-10T12"},
			[]string{
				"keep 1/5: newest, within", "keep 1/4: within", "keep 1/3: cover", "keep 1/2: within", "expire 1/1: policy",
			},
		},
		{
			"IsCoveredByWhatTheLogReaches", week, "2026-07-10T12",
			[]string{"1/1 2026-06-29T12", "1/2 2026-06-30T12", "1/3 2026-07-01T12 gap", "1/4 2026-07-09T12"},
			[]string{"keep 1/4: newest, within", "expire 1/3: policy", "keep 1/2: cover", "expire 1/1: policy"},
		},
	}
}

func slotExamples() []example {
	return []example{
		{
			"KeepsTheNewestOfEachDay",
			policy.Policy{Daily: 2, MinVerified: 1},
			"2026-07-04T12",
			[]string{"1/1 2026-07-01T09", "1/2 2026-07-03T08", "1/3 2026-07-03T09", "1/4 2026-07-04T08", "1/5 2026-07-04T09"},
			[]string{
				"keep 1/5: newest, daily 2026-07-04", "expire 1/4: policy", "keep 1/3: daily 2026-07-03", "expire 1/2: policy",
				"expire 1/1: policy",
			},
		},
		{
			"CountsDaysThatHaveABackup",
			policy.Policy{Daily: 3, MinVerified: 1},
			"2030-01-01T00",
			[]string{"1/1 2026-01-01T09", "1/2 2026-02-02T09", "1/3 2026-03-03T09"},
			[]string{"keep 1/3: newest, daily 2026-03-03", "keep 1/2: daily 2026-02-02", "keep 1/1: daily 2026-01-01"},
		},
		{
			"CutsDaysInUTC",
			policy.Policy{Daily: 2, MinVerified: 1},
			"2026-07-04T12",
			[]string{"1/1 2026-07-03T23:00+00:00", "1/2 2026-07-04T01:30+02:00", "1/3 2026-07-03T23:00-02:00"},
			[]string{"keep 1/3: newest, daily 2026-07-04", "keep 1/2: daily 2026-07-03", "expire 1/1: policy"},
		},
		{
			// 2026-12-31 is a Thursday: its week is the 53rd and runs into January.
			"CutsWeeksAsISODoes",
			policy.Policy{Weekly: 2, Monthly: 1, MinVerified: 1},
			"2027-01-05T12",
			[]string{"1/1 2026-12-27T09", "1/2 2026-12-31T09", "1/3 2027-01-03T09", "1/4 2027-01-04T09"},
			[]string{
				"keep 1/4: newest, weekly 2027-W01, monthly 2027-01", "keep 1/3: weekly 2026-W53", "expire 1/2: policy",
				"expire 1/1: policy",
			},
		},
		{
			"TakesForADayWhatTheLogReaches",
			policy.Policy{Daily: 2, MinVerified: 1},
			"2026-07-04T12",
			[]string{"1/1 2026-07-03T08 gap", "1/2 2026-07-03T09 gap", "1/3 2026-07-04T08", "1/4 2026-07-04T09 gap"},
			[]string{
				"keep 1/4: newest", "keep 1/3: newest, daily 2026-07-04", "keep 1/2: daily 2026-07-03", "expire 1/1: policy",
			},
		},
		{
			"StaysWithItsChoiceOfDays",
			policy.Policy{Daily: 2, MinVerified: 1},
			"2026-07-09T12",
			[]string{
				"1/9 2026-07-09T00", "1/8 2026-07-02T09 gap kept", "1/7 2026-07-06T00", "1/6 2026-07-05T00", "1/5 2026-07-02T08",
			},
			[]string{
				"keep 1/9: newest, daily 2026-07-09", "keep 1/8: kept", "keep 1/7: daily 2026-07-06", "expire 1/6: policy",
				"expire 1/5: policy",
			},
		},
		{
			"ThinsOutAsTimeGoesBack",
			policy.Policy{KeepLast: 2, Daily: 2, Weekly: 2, Monthly: 3, MinVerified: 2},
			"2026-07-09T12",
			[]string{
				"1/1 2026-04-30T00", "1/2 2026-05-15T00", "1/3 2026-05-31T00", "1/4 2026-06-30T00", "1/5 2026-07-04T00",
				"1/6 2026-07-05T00", "1/7 2026-07-08T00", "1/8 2026-07-09T00", "1/9 2026-07-09T06",
			},
			[]string{
				"keep 1/9: newest, last, daily 2026-07-09, weekly 2026-W28, monthly 2026-07", "keep 1/8: last",
				"keep 1/7: daily 2026-07-08", "keep 1/6: weekly 2026-W27", "expire 1/5: policy", "keep 1/4: monthly 2026-06",
				"keep 1/3: monthly 2026-05", "expire 1/2: policy", "expire 1/1: policy",
			},
		},
	}
}

func markExamples() []example {
	return []example{
		{
			"ExpiresTheRevokedAndCountsThemForNothing",
			policy.Policy{KeepLast: 1, MinVerified: 2},
			"2026-07-04T12",
			[]string{"1/4 2026-07-04T00 revoked", "1/3 2026-07-03T00", "1/2 2026-07-02T00", "1/1 2026-07-01T00 unverified revoked"},
			[]string{"expire 1/4: revoked", "keep 1/3: newest, last", "keep 1/2: min_verified", "expire 1/1: revoked"},
		},
		{
			"LeavesTheUnverifiedAndCountsThemForNothing",
			policy.Policy{KeepLast: 1, MinVerified: 1},
			"2026-07-04T12",
			[]string{"1/3 2026-07-03T00 unverified", "1/2 2026-07-02T00", "1/1 2026-07-01T00 unverified"},
			[]string{
				"keep 1/3: not verified: stays until it verifies or is revoked", "keep 1/2: newest, last",
				"keep 1/1: not verified: stays until it verifies or is revoked",
			},
		},
		{
			"ObeysTheOperatorsMark",
			policy.Policy{KeepLast: 1, MinVerified: 1},
			"2026-07-04T12",
			[]string{
				"1/5 2026-07-04T00", "1/4 2026-07-04T00 kept", "1/3 2026-07-03T00 kept revoked", "1/2 2026-07-02T00 kept unverified",
				"1/1 2026-07-01T00",
			},
			[]string{
				"keep 1/5: newest, last", "keep 1/4: kept", "keep 1/3: kept",
				"keep 1/2: kept, not verified: stays until it verifies or is revoked", "expire 1/1: policy",
			},
		},
		{
			"CountsAMarkedOneTowardTheMinimumOnlyIfItIsGood",
			policy.Policy{KeepLast: 1, MinVerified: 2},
			"2026-07-04T12",
			[]string{"1/4 2026-07-04T00", "1/3 2026-07-03T00", "1/2 2026-07-02T00", "1/1 2026-07-01T00 kept revoked"},
			[]string{"keep 1/4: newest, last", "keep 1/3: min_verified", "expire 1/2: policy", "keep 1/1: kept"},
		},
	}
}
