package recovering

import (
	"context"
	"fmt"

	"tidemark/shared/postgres/restore"
	"tidemark/shared/recovery"
)

// database is the database that is recovered into, with a ledger that this release replays into.
type database struct {
	*restore.Database

	up func(context.Context) error // brings the ledger to this release's version
}

// Restore brings the base in and its ledger up to this release's version: it may be of an earlier one, into which nothing is
// replayed.
func (d *database) Restore(ctx context.Context, b recovery.Base) (recovery.Restored, error) {
	restored, err := d.Database.Restore(ctx, b)
	if err != nil {
		return restored, err
	}
	if err := d.up(ctx); err != nil {
		return restored, fmt.Errorf("bring the restored ledger up to this release: %w", err)
	}
	return restored, nil
}
