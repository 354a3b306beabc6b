package ledger

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/apply"
)

// IsNew says whether the target has no life yet, as far as one looks: Init decides. Errors: as Init's.
func (o *Operator) IsNew(ctx context.Context) (bool, error) {
	var state apply.State
	err := o.conn.QueryRow(ctx, "SELECT state FROM "+o.schema+".target").Scan(&state)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return false, errAct("init", classifyAct(err))
	}
	return state == apply.StateNew, nil
}
