package policy_test

import (
	"testing"
	"time"

	"tidemark/shared/expiry/policy"
	"tidemark/shared/fault"
)

// TestPolicy: which policies can be meant.
func TestPolicy(t *testing.T) {
	t.Parallel()
	t.Run("RefusesWhatCannotBeMeant", func(t *testing.T) {
		t.Parallel()
		for want, p := range map[string]policy.Policy{
			"expiry policy: min_verified 0, want at least 1":                                     {KeepLast: 1},
			"expiry policy: min_verified -1, want 0 to 10000":                                    {KeepLast: 1, MinVerified: -1},
			"expiry policy: no rule keeps anything":                                              {MinVerified: 3},
			"expiry policy: keep_last -1, want 0 to 10000":                                       {KeepLast: -1, MinVerified: 1},
			"expiry policy: daily 10001, want 0 to 10000":                                        {Daily: 10_001, MinVerified: 1},
			"expiry policy: weekly -2, want 0 to 10000":                                          {Weekly: -2, MinVerified: 1},
			"expiry policy: monthly -1, want 0 to 10000":                                         {Monthly: -1, MinVerified: 1},
			"expiry policy: keep_within 7ns, want 0 or 1m0s to 876000h0m0s":                      {KeepWithin: 7, MinVerified: 1},
			"expiry policy: keep_within -1h0m0s, want 0 or 1m0s to 876000h0m0s":                  {KeepWithin: -time.Hour, MinVerified: 1},
			"expiry policy: keep_within 2562047h47m16.854775807s, want 0 or 1m0s to 876000h0m0s": {KeepWithin: 1<<63 - 1, MinVerified: 1},
		} {
			err := p.Validate()
			if err == nil || err.Error() != want || !fault.Is(err, fault.Misconfigured) {
				t.Errorf("%+v: got %v, want misconfigured: %s", p, err, want)
			}
		}
	})
	t.Run("TakesAnyOneRule", func(t *testing.T) {
		t.Parallel()
		for _, p := range []policy.Policy{
			{KeepLast: 1, MinVerified: 1},
			{KeepWithin: time.Minute, MinVerified: 1},
			{Daily: 1, MinVerified: 1},
			{Weekly: 1, MinVerified: 1},
			{Monthly: 10_000, MinVerified: 10_000},
		} {
			if err := p.Validate(); err != nil {
				t.Errorf("%+v: %v", p, err)
			}
		}
	})
	t.Run("NamesTheRulesThatAreSet", func(t *testing.T) {
		t.Parallel()
		got := policy.Policy{KeepLast: 24, KeepWithin: 48 * time.Hour, Daily: 7, Weekly: 4, Monthly: 12, MinVerified: 2}.String()
		want := "keep_within 48h0m0s, keep_last 24, daily 7, weekly 4, monthly 12, min_verified 2"
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if got, want := (policy.Policy{Daily: 7, MinVerified: 2}).String(), "daily 7, min_verified 2"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// TestReplayState: the names under which plans and reports know the states.
func TestReplayState(t *testing.T) {
	t.Parallel()
	for state, want := range map[policy.ReplayState]string{
		policy.Unknown: "unknown", policy.Replayable: "replayable", policy.Gap: "gap", 9: "replay_state(9)",
	} {
		if got := state.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
