package config

import (
	"errors"
	"time"

	"tidemark/shared/config/setting"
	"tidemark/shared/expiry/policy"
)

type expiryPolicy = policy.Policy

// expiryVariables is the table of what an expiry keeps.
func expiryVariables() []setting.Field[expiryPolicy] {
	const longest = 100 * 365 * 24 * time.Hour
	return []setting.Field[expiryPolicy]{
		count("TIDEMARK_KEEP_LAST", "24", "How many of the newest backups an expiry keeps.",
			func(p *expiryPolicy) *int { return &p.KeepLast }),
		setting.Scalar(setting.Setting{
			Name: "TIDEMARK_KEEP_WITHIN", Default: "168h",
			Meaning: "An expiry keeps every backup of that last while, and one from before it.",
		}, setting.Duration(time.Minute, longest).Or("0", 0), func(p *expiryPolicy) *time.Duration { return &p.KeepWithin }),
		count("TIDEMARK_KEEP_DAILY", "14", "For how many days that have a backup an expiry keeps the newest of the day.",
			func(p *expiryPolicy) *int { return &p.Daily }),
		count("TIDEMARK_KEEP_WEEKLY", "8", "The same for weeks.", func(p *expiryPolicy) *int { return &p.Weekly }),
		count("TIDEMARK_KEEP_MONTHLY", "12", "The same for months.", func(p *expiryPolicy) *int { return &p.Monthly }),
		setting.Scalar(setting.Setting{
			Name: "TIDEMARK_MIN_VERIFIED", Default: "3",
			Meaning: "An expiry never leaves fewer backups that verify, whatever the other rules say.",
		}, setting.Number(1, mostKept), func(p *expiryPolicy) *int { return &p.MinVerified }).Always(func(p expiryPolicy) error {
			if p == (expiryPolicy{MinVerified: p.MinVerified}) {
				return errors.New("stands alone, for every TIDEMARK_KEEP_ variable is 0: set one of them; " +
					"to keep all backups, run no expiry")
			}
			return nil
		}),
	}
}

const mostKept = 10_000

// count is a rule of so many backups, 0 for none.
func count(name, fallback, meaning string, at func(*expiryPolicy) *int) setting.Field[expiryPolicy] {
	return setting.Scalar(setting.Setting{Name: name, Default: fallback, Meaning: meaning}, setting.Number(0, mostKept), at)
}
