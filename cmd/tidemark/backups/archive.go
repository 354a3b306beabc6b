package backups

import (
	"context"
	"time"

	"tidemark/shared/config"
	"tidemark/shared/health"
	"tidemark/shared/signing"
	"tidemark/shared/wiring"
)

// onArchives examine the buckets, the keys and the backups.
func onArchives(ctx context.Context, environment *config.Backup, probe bool) []health.Examiner {
	opened, err := wiring.OpenArchive(ctx, environment.Archive, environment.TargetID)
	if err != nil {
		return []health.Examiner{broken{"archive", err}}
	}
	var all []health.Examiner
	for _, place := range opened.Places {
		all = append(all, health.Store{
			Place: place, Target: environment.TargetID, Lock: environment.Archive.ObjectLock, WriteProbe: probe, Now: time.Now,
		})
	}
	all = append(all, onKeys(ctx, environment.Archive, opened.Trusted))
	mark, err := wiring.HighWater(ctx, environment.Archive)
	if err != nil {
		all = append(all, broken{"mark", err})
	}
	return append(all, health.Backups{Archive: opened, HighWater: mark, Now: time.Now})
}

func onKeys(ctx context.Context, c config.Archive, trusted signing.Keyring) health.Examiner {
	if len(c.SigningKeys) == 0 {
		return health.Keys{Trusted: trusted, Now: time.Now}
	}
	signers, err := wiring.Signers(ctx, c)
	if err != nil {
		return broken{"keys", err}
	}
	return health.Keys{Trusted: trusted, Signers: signers, Now: time.Now}
}
