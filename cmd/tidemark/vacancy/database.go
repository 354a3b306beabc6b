package vacancy

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"tidemark/cmd/tidemark/exit"
	"tidemark/shared/config"
	"tidemark/shared/fault"
	"tidemark/shared/postgres/restore"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/refusal"
)

// Database refuses a database that a recovery has claimed and not ended: its ledger is the recovery's to bring up.
//
// Errors: fault.Misconfigured, marked as the database's.
func Database(ctx context.Context, at *pgx.ConnConfig, environment *config.Command) error {
	found, err := restore.New(at, restore.Options{
		LedgerSchema: environment.LedgerSchema, ConnectTimeout: environment.ConnectTimeout,
	}).Look(ctx)
	switch {
	case errors.Is(err, recovery.ErrNotEmpty):
		return nil // a target's, or somebody's who begins
	case err != nil:
		return exit.Database(err)
	case found.Try != nil && !found.Settled:
		return refuse(refusal.HeldByAnother, "run "+found.Try.RunID.String()+" recovers a target into this database",
			"end it with tidemark recover, or drop the database and what it recovered")
	}
	return nil
}

func refuse(name refusal.Name, what, hint string) error {
	return fault.New(fault.Misconfigured, "%w", &refusal.Error{Name: name, What: what}).WithHint("%s", hint)
}
