package claim

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/fault"
	"tidemark/shared/postgres"
	"tidemark/shared/recovery"
)

// Hold is a try that this process goes on with: a session whose transaction locks the try.
type Hold struct {
	Session *Session
	// Restored says that an earlier hold ended with every step done, Done which steps were when this one began.
	Restored bool
	Done     map[string]bool

	try recovery.Try
}

// Hold makes sure that the database is this try's and that nobody else goes on with it.
//
// Errors: fault.Retryable while another process does; fault.Fenced with recovery.ErrNotEmpty when another try has the
// database; fault.Bug when none has.
func (d *Database) Hold(ctx context.Context, t recovery.Try) (*Hold, error) {
	if err := validate(t); err != nil {
		return nil, err
	}
	s, err := d.Connect(ctx)
	if err != nil {
		return nil, err
	}
	h := &Hold{Session: s, try: t, Done: map[string]bool{}}
	if err := h.take(ctx); err != nil {
		s.Close(ctx)
		return nil, err
	}
	return h, nil
}

func (h *Hold) take(ctx context.Context) error {
	if err := h.Session.open(ctx); err != nil {
		return err
	}
	try, restored, err := h.Session.readTry(ctx, " FOR UPDATE")
	switch {
	case postgres.StateOf(err) == lockNotAvailable:
		return fault.New(fault.Retryable, "recovery %s is under way in another process: %w", h.try.RunID, Classify(err)).
			WithHint("let that one end, or end it; then run the same command again")
	case err != nil:
		return Classify(err)
	case try == nil:
		return fault.New(fault.Bug, "the database was not claimed for recovery %s", h.try.RunID)
	}
	if err := owned(*try, h.try); err != nil {
		return err
	}
	h.Restored = restored
	rows, err := h.Session.conn.Query(ctx, "SELECT step FROM "+h.Session.db.table("done"))
	if err != nil {
		return Classify(err)
	}
	steps, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for _, step := range steps {
		h.Done[step] = true
	}
	return Classify(err)
}

// Finish says that every step is done. Its commit comes last and is on disk with all that was committed before it.
func (h *Hold) Finish(ctx context.Context) error {
	if _, err := h.Session.conn.Exec(ctx, "UPDATE "+h.Session.db.table("try")+" SET restored = true"); err != nil {
		return fmt.Errorf("end the restore: %w", Classify(err))
	}
	return h.Session.finish(ctx, "restored")
}

// Close lets the try go.
func (h *Hold) Close(ctx context.Context) { h.Session.Close(ctx) }
