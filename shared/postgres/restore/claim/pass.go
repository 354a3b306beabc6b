package claim

import (
	"context"
	"fmt"

	"tidemark/shared/manifest/body"
	"tidemark/shared/recovery"
)

// Pass moves checkpoints behind gaps, each of which gets a row, in one transaction. See recovery.Database.
//
// The checkpoint's record time becomes the act's at least: what the event source still delivers from below it is old, and a
// flow that cannot ask the brokers knows that by the time alone.
//
// Errors: fault.Fenced when another try has the database, or the target is not as the claim left it; fault.UnknownOutcome when
// the reply to COMMIT was lost, and the same call finds out.
func (d *Database) Pass(ctx context.Context, t recovery.Try, gaps []body.Gap) error {
	s, err := d.Connect(ctx)
	if err != nil {
		return err
	}
	defer s.Close(ctx)
	return s.act(ctx, "pass", func() error {
		try, _, err := s.readTry(ctx, " FOR UPDATE")
		switch {
		case err != nil:
			return err
		case try == nil:
			return s.settledBefore(ctx, t)
		}
		if err := owned(*try, t); err != nil {
			return err
		}
		if err := s.lockLife(ctx, t); err != nil {
			return err
		}
		for _, g := range gaps {
			if err := s.pass(ctx, t, g); err != nil {
				return fmt.Errorf("pass over [%s,%s) of %s/%d: %w", g.From, g.Until, g.Topic, g.Partition, err)
			}
		}
		return nil
	})
}

func (s *Session) pass(ctx context.Context, t recovery.Try, g body.Gap) error {
	_, err := s.conn.Exec(ctx, "INSERT INTO "+s.db.ledger+".checkpoint AS c (flow, topic, partition, next_offset, generation,"+
		" record_time, incarnation) VALUES ($1::text, $2::text, $3::integer, $4::bigint, $5::bigint, now(), $6::uuid)"+
		" ON CONFLICT (flow, topic, partition) DO UPDATE SET next_offset = excluded.next_offset,"+
		" record_time = greatest(c.record_time, excluded.record_time), updated_at = clock_timestamp()"+
		" WHERE c.next_offset < excluded.next_offset",
		g.Flow, g.Topic, g.Partition, int64(g.Until), g.Generation, t.Incarnation.String())
	if err != nil || g.How == "" { // nothing is missing
		return err
	}
	_, err = s.conn.Exec(ctx, "INSERT INTO "+s.db.ledger+".gap (flow, topic, partition, from_offset, until_offset, generation, how,"+
		" who, why, manifest, at) VALUES ($1::text, $2::text, $3::integer, $4::bigint, $5::bigint, $6::bigint, $7::text, $8::text,"+
		" $9::text, $10::text, $11::timestamptz) ON CONFLICT DO NOTHING",
		g.Flow, g.Topic, g.Partition, int64(g.From), int64(g.Until), g.Generation, g.How, g.Actor, g.Reason, t.Base.String(), g.At)
	return err
}
