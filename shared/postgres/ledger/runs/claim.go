package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/apply"
	"tidemark/shared/archive/writer"
	"tidemark/shared/backup"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/postgres"
)

// claim is a run that this process holds: a connection with an open transaction that locks the run's row.
type claim struct {
	runs *Runs
	conn *pgx.Conn
	tx   pgx.Tx
	run  backup.Claimed
	over bool
}

// hold locks the row of a run that was just committed. No lock outlives a commit, so another process may come between and take
// the run for crashed: then that one runs. While it is still deciding this waits, because it may be refused.
func (r *Runs) hold(ctx context.Context, conn *pgx.Conn, run backup.Claimed) (pgx.Tx, error) {
	tx, err := r.beginTransaction(ctx, conn, lasting())
	if err != nil {
		return nil, err
	}
	row, err := r.lockRow(ctx, tx, run.RunID)
	if err == nil && row.state == running {
		return tx, nil
	}
	_ = rollback(ctx, tx) // the connection goes too
	if err == nil || isLocked(err) {
		return nil, fault.New(fault.Retryable, "%w: it came between two steps of run %s, which gives way", backup.ErrRunning, run.RunID).
			WithHint("come again in a minute")
	}
	return nil, err
}

// States of a run beside the outcomes that package archive/writer names.
const (
	running = "running"
	crashed = "crashed"
)

// ending is how a run ended.
type ending struct {
	state     string
	statement manifest.Digest
}

func (e ending) validate() error {
	if !slices.Contains([]string{writer.Done, writer.Failed, writer.Continuation}, e.state) {
		return fault.New(fault.Bug, "a run that ended %q", e.state)
	}
	if e.state == writer.Done || !e.statement.IsZero() {
		if err := e.statement.Validate(); err != nil {
			return fault.New(fault.Bug, "a run that ended %s: %w", e.state, err)
		}
	}
	return nil
}

// Run says which run it is.
func (c *claim) Run() backup.Claimed { return c.run }

// Finish says how the run ended and lets it go, in the transaction that holds it. When that fails, or its reply is lost, the
// row is asked on a fresh connection, and written there if it still says that the run is under way. See backup.Claim.
//
// Errors: fault.UnknownOutcome when neither way the row could be read; ErrLost, which is fault.Fenced, when another process took
// the run for crashed. Either way the claim is over.
func (c *claim) Finish(ctx context.Context, outcome string, statement manifest.Digest) error {
	end := ending{outcome, statement}
	if err := end.validate(); err != nil {
		return err
	}
	if c.over {
		return fault.New(fault.Bug, "run %s ended before", c.run.RunID)
	}
	c.over = true
	err := c.runs.end(ctx, c.tx, c.run.RunID, end)
	if err == nil {
		err = classify(c.tx.Commit(ctx))
	}
	_ = c.conn.Close(ctx) // committed or not, that is over
	if err != nil {
		err = c.runs.settle(ctx, c.run.RunID, end, err)
	}
	return err
}

// Fence makes a target that is live in the claimed life change nothing any more. Called again, or when it lives another life or is
// not live, it changes nothing. See backup.Claim.
//
// Errors: as the database has them; the next backup of this life comes here again.
func (c *claim) Fence(ctx context.Context, why string) error {
	conn, err := c.runs.connect(ctx)
	if err != nil {
		return fmt.Errorf("fence the target: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }() // committed or not, that is over
	err = c.runs.inTransaction(ctx, conn, short(), func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, postgres.LockCheckpoints(c.runs.schema)); err != nil {
			return classify(err)
		}
		tag, err := tx.Exec(ctx, "UPDATE "+c.runs.schema+".target SET state = $2, reason = $3 WHERE incarnation = $1::uuid AND state = 'live'",
			c.run.Incarnation.String(), string(apply.StateFenced), why)
		if err != nil || tag.RowsAffected() == 0 {
			return classify(err)
		}
		_, err = tx.Exec(ctx, "INSERT INTO "+c.runs.schema+".audit (actor, act, arguments) VALUES ($1, 'fence', jsonb_build_object('why', $2::text))",
			"backup "+c.run.RunID.String(), why)
		return classify(err)
	})
	if err != nil {
		return fmt.Errorf("fence the target: %w", err)
	}
	return nil
}

// Close lets the run go without an end: the next claim takes it for crashed. It does nothing after Finish.
//
// Errors: when the database cannot be told, and finds out by itself.
func (c *claim) Close(ctx context.Context) error {
	if c.over {
		return nil
	}
	c.over = true
	err := rollback(ctx, c.tx)
	_ = c.conn.Close(ctx) // the rollback is what counts
	if err != nil {
		return fmt.Errorf("let run %s go: %w", c.run.RunID, err)
	}
	return nil
}

// end writes the end of a run whose row the transaction has locked.
func (r *Runs) end(ctx context.Context, tx pgx.Tx, id manifest.RunID, e ending) error {
	tag, err := tx.Exec(ctx, "UPDATE "+r.schema+".backup_run SET state = $2, ended_at = clock_timestamp(), statement = nullif($3, '')"+
		" WHERE run_id = $1::uuid AND state = 'running'", id.String(), e.state, e.statement.String())
	if err != nil {
		return classify(err)
	}
	if tag.RowsAffected() != 1 {
		return fault.New(fault.Bug, "run %s was changed under its lock", id)
	}
	return nil
}

// settle finds out how a run stands whose end may have been committed, and ends it if it has not. The row's lock is what tells:
// it comes free when the first session is gone, and nobody can be between then.
func (r *Runs) settle(ctx context.Context, id manifest.RunID, e ending, first error) error {
	conn, err := r.connect(ctx)
	if err == nil {
		err = r.inTransaction(ctx, conn, short(), func(tx pgx.Tx) error { return r.endAnew(ctx, tx, id, e) })
		_ = conn.Close(ctx) // committed or not, that is over
	}
	switch {
	case err == nil:
		return nil
	case fault.Is(err, fault.Retryable):
		return fault.New(fault.UnknownOutcome, "end run %s: %w; ask how it stands: %w", id, first, err).
			WithHint("SELECT state, statement FROM %s.backup_run WHERE run_id = '%s'", r.schema, id)
	}
	return fmt.Errorf("end run %s: %w", id, err)
}

func (r *Runs) endAnew(ctx context.Context, tx pgx.Tx, id manifest.RunID, e ending) error {
	row, err := r.lockRow(ctx, tx, id)
	switch {
	case err != nil:
		return err
	case row == e:
		return nil
	case row.state == running:
		return r.end(ctx, tx, id, e)
	case row.state == crashed:
		return fault.New(fault.Fenced, "%w: another process found its connection gone and took the run for crashed", ErrLost).
			WithHint("what the run has listed in the archive is as good as any; the next attempt has a number of its own")
	}
	return fault.New(fault.Bug, "the run ended %s already", row.state)
}

// lockRow waits for the lock on a run's row and says how the run stands then.
func (r *Runs) lockRow(ctx context.Context, tx pgx.Tx, id manifest.RunID) (ending, error) {
	var row ending
	err := tx.QueryRow(ctx, "SELECT state, coalesce(statement, '') FROM "+r.schema+".backup_run WHERE run_id = $1::uuid FOR UPDATE",
		id.String()).Scan(&row.state, &row.statement)
	if errors.Is(err, pgx.ErrNoRows) {
		return row, fault.New(fault.Fenced, "%w: the ledger does not know the run any more", ErrLost).
			WithHint("the database was put back to an older state while the backup ran")
	}
	return row, classify(err)
}

var (
	_ backup.Runs  = (*Runs)(nil)
	_ backup.Claim = (*claim)(nil)
)
