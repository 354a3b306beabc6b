package recovering

import (
	"context"
	"time"

	"tidemark/shared/config"
	"tidemark/shared/postgres"
	"tidemark/shared/postgres/address"
	"tidemark/shared/postgres/restore"
	"tidemark/shared/recovery/extraction"
	"tidemark/shared/wiring"
	"tidemark/shared/wiring/login"
)

// Tables puts together what named tables come out of and where they come to, beside which ones, and who watches. No brokers and
// no key that signs are needed: nothing is replayed and nothing written to the archive.
//
// Errors: fault.Misconfigured; fault.Retryable when a service that holds a key is away.
func Tables(ctx context.Context, c *config.Process, a *config.Archivist, now func() time.Time) (o extraction.Options, err error) {
	at, err := address.Parse(c.Database.Reveal(), c.ConnectTimeout)
	if err != nil {
		return o, err
	}
	postgres.LogInWith(&at.Config, login.Database(c, now))
	if o.Archive, err = wiring.OpenArchive(ctx, a.Archive, a.TargetID); err != nil {
		return o, err
	}
	if o.HighWater, err = wiring.HighWater(ctx, a.Archive); err != nil {
		return o, err
	}
	o.Database = restore.New(at, restore.Options{LedgerSchema: c.LedgerSchema, ConnectTimeout: c.ConnectTimeout})
	return o, nil
}
