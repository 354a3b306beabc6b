package claim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"tidemark/shared/apply"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/postgres"
	"tidemark/shared/recovery"
)

// Claim takes an empty database for a try, in one transaction: a ledger that says restoring in the next life, and the try in a
// schema of its own. The same try may claim it again. A try that loads into tables that are there claims a database that has
// nothing in them.
//
// The ledger has its table target alone, as this package makes it. The base brings a ledger of its own, perhaps of another
// release, and what a recovered database is made of should come from there and nowhere else. So the table is a stand-in: in
// the transaction that makes the base's own table it is dropped and its row comes back (see InsertTarget), so that no other
// session ever sees a ledger that says something else. Until the rest of the ledger is there, a function that applies to
// this database stops because its tables are missing; after that, because of the state.
//
// Errors: recovery.ErrNotEmpty, which is fault.Fenced when another try has the database, or had it first, and
// fault.Misconfigured otherwise; fault.UnknownOutcome when the reply to COMMIT was lost, and the same call finds out.
func (d *Database) Claim(ctx context.Context, t recovery.Try) error {
	if err := d.claim(ctx, t); err != nil {
		return fmt.Errorf("claim the database: %w", err)
	}
	return nil
}

func (d *Database) claim(ctx context.Context, t recovery.Try) error {
	if err := validate(t); err != nil {
		return err
	}
	s, err := d.Connect(ctx)
	if err != nil {
		return err
	}
	defer s.Close(ctx)
	return s.act(ctx, "claim", func() error {
		// Only one of two claims may look. The loser waits here and then sees what the winner committed.
		if err := s.Run(ctx, "SELECT pg_advisory_xact_lock(hashtextextended('tidemark recover', 0))"); err != nil {
			return err
		}
		found, err := s.look(ctx)
		switch {
		case t.Existing && errors.Is(err, recovery.ErrOnlyTables):
			return s.take(ctx, t)
		case err != nil:
			return err
		case found.Try == nil:
			return s.take(ctx, t)
		}
		return owned(*found.Try, t)
	})
}

// owned refuses a database that was claimed by another try than ours.
func owned(by, ours recovery.Try) error {
	if by.RunID != ours.RunID {
		return fault.New(fault.Fenced, "%w: recovery %s has it, begun %s by %s", recovery.ErrNotEmpty, by.RunID,
			by.Began.Format("2006-01-02 15:04:05Z07:00"), by.Actor).
			WithHint("go on with that one by its own command, or recover into another database")
	}
	if by.Statement != ours.Statement || by.Incarnation != ours.Incarnation || by.Lineage != ours.Lineage || by.TargetID != ours.TargetID {
		return fault.New(fault.Bug, "recovery %s claimed the database for another base or another life", by.RunID)
	}
	return nil
}

func validate(t recovery.Try) error {
	for _, check := range []func() error{
		t.RunID.Validate, t.TargetID.Validate, t.Incarnation.Validate, t.Lineage.Validate, t.Statement.Validate,
	} {
		if err := check(); err != nil {
			return fault.New(fault.Bug, "a try of a recovery: %w", err)
		}
	}
	return nil
}

// take makes the stand-in of the ledger and what keeps the try.
func (s *Session) take(ctx context.Context, t recovery.Try) error {
	document, err := json.Marshal(t)
	if err != nil {
		return fault.New(fault.Bug, "write the try: %w", err)
	}
	statements := "CREATE SCHEMA " + s.db.ledger + "; CREATE TABLE " + s.db.ledger + ".target (one_row boolean PRIMARY KEY," +
		" target_id text, incarnation uuid, lineage bigint, state text, minted_at timestamptz, reason text);" +
		" CREATE SCHEMA " + postgres.QuoteName(s.db.schema) + ";" +
		" CREATE TABLE " + s.db.table("try") + " (one_row boolean PRIMARY KEY DEFAULT true CHECK (one_row), try jsonb NOT NULL," +
		" restored boolean NOT NULL DEFAULT false);" +
		" CREATE TABLE " + s.db.table("done") + " (step text PRIMARY KEY)"
	if err := s.Run(ctx, statements); err != nil {
		return err
	}
	if err := s.InsertTarget(ctx, t); err != nil {
		return err
	}
	_, err = s.conn.Exec(ctx, "INSERT INTO "+s.db.table("try")+" (try) VALUES ($1::jsonb)", string(document))
	return err
}

// InsertTarget writes the row of a target that is restoring.
func (s *Session) InsertTarget(ctx context.Context, t recovery.Try) error {
	_, err := s.conn.Exec(ctx, "INSERT INTO "+s.db.ledger+".target (one_row, target_id, incarnation, lineage, state, minted_at, reason)"+
		" VALUES (true, $1::text, $2::uuid, $3::bigint, $4::text, $5::timestamptz, $6::text)",
		t.TargetID.String(), t.Incarnation.String(), int64(t.Lineage), string(apply.StateRestoring), t.Began, reason(t.RunID))
	return err
}

func reason(run manifest.RunID) string { return "recovery " + run.String() }
