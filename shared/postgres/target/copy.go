package target

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"tidemark/shared/apply/reduction"
	"tidemark/shared/change"
	"tidemark/shared/fault"
	"tidemark/shared/postgres"
	"tidemark/shared/postgres/catalog"
	"tidemark/shared/postgres/writer"
)

// COPY straight into a table is the fastest way in and fails on a row that is there. Rows above the checkpoint that begin as
// inserts are nearly always new, so a large group of them is tried by COPY behind a savepoint, at the price of two round
// trips; if a row of it was there after all, the group is written as an upsert, and its table is not tried for a while.

const (
	leastCopied = 256
	// copyPause is how long a table is not tried after a COPY that failed.
	copyPause = time.Minute
)

func (t *Target) mayCopy(table *catalog.Table, group reduction.Group) bool {
	if len(group.Changes) < t.options.LeastCopied || !writer.CanCopy(table, group) {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.options.Now().Before(t.copyAgain[table.Name])
}

func (t *Target) pauseCopy(name change.Name) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.copyAgain[name] = t.options.Now().Add(copyPause)
}

// copyIn brings a group in by COPY, after everything that is in the script already, which it sends. It returns false when
// the group is still to be written. On an error the transaction is over, and nothing of it was applied: COMMIT was not sent.
func (tx *transaction) copyIn(ctx context.Context, s *script, table *catalog.Table, group reduction.Group) (bool, error) {
	if !tx.target.mayCopy(table, group) {
		return false, nil
	}
	s.add(ownerNone, postgres.Statement{SQL: "SAVEPOINT copied"})
	answers, err := tx.c.flight(ctx, s.statements)
	if err != nil {
		return false, tx.broken(ctx, err, s.ownerOf(len(answers)))
	}
	*s = script{}
	statement, data := writer.Copy(table, group)
	_, err = tx.c.pg.CopyFrom(ctx, data, statement)
	switch {
	case err == nil:
		s.add(ownerNone, postgres.Statement{SQL: "RELEASE SAVEPOINT copied"})
		return true, nil
	case !isAboutData(err):
		return false, tx.broken(ctx, err, ownerNone)
	}
	tx.target.pauseCopy(table.Name)
	s.add(ownerNone, postgres.Statement{SQL: "ROLLBACK TO SAVEPOINT copied"}, postgres.Statement{SQL: "RELEASE SAVEPOINT copied"})
	return false, nil
}

// broken ends a transaction whose COMMIT was not sent: whatever went wrong, nothing of it was applied.
func (tx *transaction) broken(ctx context.Context, err error, owner int) error {
	if !isServerReply(err) {
		tx.target.discard(tx.c)
		return fault.New(fault.Retryable, "write: %w", err)
	}
	return tx.refused(ctx, err, owner)
}

// isAboutData says whether a COPY failed for what it brought, so that the same rows may pass in another way (A11).
func isAboutData(err error) bool {
	server, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || !isServerReply(err) {
		return false
	}
	if server.Code == "0A000" {
		return true
	}
	for _, class := range []string{"22", "23", "54"} {
		if strings.HasPrefix(server.Code, class) {
			return true
		}
	}
	return false
}
