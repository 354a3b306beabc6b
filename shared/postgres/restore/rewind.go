package restore

import (
	"context"

	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres"
	"tidemark/shared/postgres/restore/claim"
)

// rewind moves the checkpoints back whose replay was asked to begin below the base's cut. Nothing has been replayed yet, and
// the life is a new one, so that none goes back within a life.
func (r *restoring) rewind(ctx context.Context) error {
	if len(r.base.Try.Starts) == 0 {
		return nil
	}
	return r.step(ctx, "rewind", func(s *claim.Session) error {
		for _, start := range r.base.Try.Starts {
			if err := r.moveBack(ctx, s, start); err != nil {
				return err
			}
		}
		return nil
	})
}

func (r *restoring) moveBack(ctx context.Context, s *claim.Session, start body.Partition) error {
	tag, err := s.Conn().Exec(ctx, "UPDATE "+postgres.QuoteTable(r.db.ledger, "checkpoint")+" SET next_offset = $4::bigint,"+
		" record_time = NULL WHERE flow = $1::text AND topic = $2::text AND partition = $3::integer AND next_offset >= $4::bigint",
		start.Flow, start.Topic, start.Partition, int64(start.NextOffset))
	if err == nil && tag.RowsAffected() != 1 {
		return fault.New(fault.Bug, "flow %s has no checkpoint of %s/%d at %s or behind", start.Flow, start.Topic, start.Partition,
			start.NextOffset)
	}
	if err != nil {
		return err
	}
	_, err = s.Conn().Exec(ctx, "DELETE FROM "+postgres.QuoteTable(r.db.ledger, "applied_identity")+" WHERE flow = $1::text AND"+
		" topic = $2::text AND partition = $3::integer AND \"offset\" >= $4::bigint", start.Flow, start.Topic, start.Partition,
		int64(start.NextOffset))
	return err
}
