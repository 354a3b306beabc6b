package claim

import (
	"context"
	"encoding/json"
	"fmt"

	"tidemark/shared/apply"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/postgres"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/inspection"
)

// settlingAct is what the audit calls a recovery. Its arguments are the try.
const settlingAct = "recover"

// Settle ends a try in one transaction: sequences beyond what the tables have, the target live or held, an audit row with the
// try and the report, and the try's own schema dropped. Called again it finds the audit row and changes nothing, whatever state
// it asks for.
//
// Errors: fault.Fenced when another try has the database, or the target is not as the claim left it; fault.UnknownOutcome when
// the reply to COMMIT was lost, and the same call finds out; fault.Bug when the base is not in.
func (d *Database) Settle(ctx context.Context, s recovery.Settlement) error {
	if err := d.settle(ctx, s); err != nil {
		return fmt.Errorf("settle recovery %s: %w", s.Try.RunID, err)
	}
	return nil
}

func (d *Database) settle(ctx context.Context, end recovery.Settlement) error {
	if err := validate(end.Try); err != nil {
		return err
	}
	if end.State != apply.StateLive && end.State != apply.StateHeld {
		return fault.New(fault.Bug, "a recovery that ends %q", end.State)
	}
	s, err := d.Connect(ctx)
	if err != nil {
		return err
	}
	defer s.Close(ctx)
	return s.act(ctx, "settle", func() error { return s.settle(ctx, end) })
}

func (s *Session) settle(ctx context.Context, end recovery.Settlement) error {
	try, restored, err := s.readTry(ctx, " FOR UPDATE")
	if err != nil {
		return err
	}
	if try == nil {
		return s.settledBefore(ctx, end.Try)
	}
	if err := owned(*try, end.Try); err != nil {
		return err
	}
	if !restored {
		return fault.New(fault.Bug, "the base is not in")
	}
	// Maxima of columns are asked as a reader without limits: rows that a policy hides count.
	if err := s.Run(ctx, "SET LOCAL search_path = ''; SET LOCAL row_security = off"); err != nil {
		return err
	}
	if err := s.lockLife(ctx, end.Try); err != nil {
		return err
	}
	if err := s.raise(ctx); err != nil {
		return err
	}
	if err := s.hold(ctx, end.Try.Held); err != nil {
		return err
	}
	return s.conclude(ctx, end)
}

// settledBefore says whether the try ended earlier.
func (s *Session) settledBefore(ctx context.Context, ours recovery.Try) error {
	try, _, err := s.settled(ctx)
	switch {
	case err != nil:
		return err
	case try == nil:
		return fault.New(fault.Fenced, "the database is of no recovery").
			WithHint("was it dropped and made anew, or does the address name another one?")
	}
	return owned(*try, ours)
}

// lockLife locks the checkpoints, so that nobody is between, and then the target, which must be as the claim left it.
func (s *Session) lockLife(ctx context.Context, t recovery.Try) error {
	err := s.Run(ctx, postgres.LockCheckpoints(s.db.ledger))
	if err != nil {
		return err
	}
	var incarnation, state string
	err = s.conn.QueryRow(ctx, "SELECT incarnation::text, state FROM "+s.db.ledger+".target FOR UPDATE").Scan(&incarnation, &state)
	if err != nil {
		return err
	}
	if apply.State(state) != apply.StateRestoring || position.Incarnation(incarnation) != t.Incarnation {
		return fault.New(fault.Fenced, "the target is %s and lives life %s, not %s", state, incarnation, t.Incarnation).
			WithHint("another act changed it: see table audit of the ledger")
	}
	return nil
}

// hold keeps what lies behind the end of the replay until an operator says what becomes of it. A gap that a call which went on
// accepted may end behind the end that the try began with: what is held begins where the checkpoint stands.
func (s *Session) hold(ctx context.Context, held []inspection.Held) error {
	for _, h := range held {
		if _, err := s.conn.Exec(ctx, "INSERT INTO "+s.db.ledger+".held (flow, topic, topic_id, partition, from_offset, until_offset)"+
			" SELECT $1::text, $2::text, nullif($3::text, '')::uuid, $4::integer, greatest($5::bigint, s.at), greatest($6::bigint, s.at)"+
			" FROM (SELECT max(next_offset) AS at FROM "+s.db.ledger+".checkpoint WHERE flow = $1::text AND topic = $2::text"+
			" AND partition = $4::integer) AS s",
			h.Flow, h.Topic, h.TopicID, h.Partition, int64(h.From), int64(h.Until)); err != nil {
			return fmt.Errorf("hold %s/%d: %w", h.Topic, h.Partition, err)
		}
	}
	return nil
}

// conclude says in the ledger how the recovery ended, and forgets the try.
func (s *Session) conclude(ctx context.Context, end recovery.Settlement) error {
	arguments, err := json.Marshal(end.Try)
	if err != nil {
		return fault.New(fault.Bug, "write the try: %w", err)
	}
	after, err := json.Marshal(map[string]any{"state": end.State, "report": end.Report})
	if err != nil {
		return fault.New(fault.Bug, "write the report: %w", err)
	}
	if _, err := s.conn.Exec(ctx, "UPDATE "+s.db.ledger+".target SET state = $1::text, reason = $2::text", string(end.State),
		reason(end.Try.RunID)+" from "+end.Try.Base.String()); err != nil {
		return err
	}
	if _, err := s.conn.Exec(ctx, "INSERT INTO "+s.db.ledger+".audit (actor, act, arguments, before, after)"+
		" VALUES ($1::text, $2::text, $3::jsonb, $4::jsonb, $5::jsonb)", end.Try.Actor, settlingAct, string(arguments),
		`{"state": "`+string(apply.StateRestoring)+`"}`, string(after)); err != nil {
		return err
	}
	return s.Run(ctx, "DROP SCHEMA "+postgres.QuoteName(s.db.schema)+" CASCADE")
}
