// Package secrets owns how the environment names a secret that is kept elsewhere, and how long what it holds is believed.
//
// It refuses what cannot be a name without repeating it: it may be the secret itself. There is no I/O and no state.
package secrets

import (
	"time"

	"tidemark/shared/config/setting"
	"tidemark/shared/secret"
)

// Name is the rule for where a secret is kept.
func Name() setting.Rule[secret.Name] {
	return setting.Text("the ARN or the name of a secret, with #KEY behind it for another key than password", secret.ParseName)
}

// TTL is how long what a secret holds is believed.
func TTL[T any](at func(*T) *time.Duration) setting.Field[T] {
	return setting.Scalar(setting.Setting{
		Name: "TIDEMARK_SECRET_TTL", Default: "5m",
		Meaning: "How long what a secret of Secrets Manager holds is believed. A password that the server refuses is fetched anew at " +
			"once, at most every 5 seconds.",
	}, setting.Duration(10*time.Second, 24*time.Hour), at)
}
