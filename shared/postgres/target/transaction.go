package target

import (
	"context"
	"errors"
	"slices"

	"tidemark/shared/apply"
	"tidemark/shared/fault"
	"tidemark/shared/postgres"
	"tidemark/shared/postgres/catalog"
	"tidemark/shared/postgres/ledger"
)

// transaction is one open transaction.
type transaction struct {
	target *Target
	c      *connection
	ledger apply.Ledger
}

// settingsSQL bounds the transaction in time and fixes how values look as text. No time limit runs while the server waits for
// the rest of a pipeline, so a client that vanished there is found by keepalives, or it would hold its locks for hours.
const settingsSQL = "SELECT set_config('statement_timeout', $1::text, true), set_config('lock_timeout', $2::text, true)," +
	" set_config('idle_in_transaction_session_timeout', $3::text, true), set_config('datestyle', 'ISO', true)," +
	" set_config('intervalstyle', 'postgres', true), set_config('timezone', 'UTC', true)," +
	" set_config('bytea_output', 'hex', true), set_config('lc_monetary', 'C', true)," +
	" set_config('extra_float_digits', '1', true), set_config('row_security', 'off', true)," +
	" set_config('tcp_keepalives_idle', '10', true), set_config('tcp_keepalives_interval', '5', true)," +
	" set_config('tcp_keepalives_count', '3', true)"

// Begin opens a transaction in one round trip. See apply.Target.
func (t *Target) Begin(ctx context.Context, opening apply.Opening) (apply.Transaction, error) {
	statement, lock, idle := t.limits(ctx)
	statements := []postgres.Statement{
		{SQL: "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"},
		{SQL: settingsSQL, Params: [][]byte{[]byte(statement), []byte(lock), []byte(idle)}},
	}
	preamble := len(statements)
	statements = append(statements, t.ledger.Open(opening)...)
	var answers []answer
	c, err := t.onFresh(ctx, func(c *connection) (err error) {
		answers, err = c.flight(ctx, statements)
		return err
	})
	if err != nil {
		return nil, err
	}
	rows := make([]ledger.Rows, 0, len(answers))
	for _, a := range answers[preamble:] {
		rows = append(rows, a.rows)
	}
	tx := &transaction{target: t, c: c}
	if tx.ledger, err = ledger.ReadOpen(rows); err != nil {
		tx.Rollback(ctx)
		return nil, err
	}
	return tx, nil
}

// Ledger is what Begin read.
func (tx *transaction) Ledger() apply.Ledger { return tx.ledger }

// Commit writes work and commits in one round trip. See apply.Transaction.
func (tx *transaction) Commit(ctx context.Context, work apply.Work) error {
	f, err := tx.prepare(work)
	if err != nil {
		tx.Rollback(ctx)
		return err
	}
	answers, err := tx.c.flight(ctx, f.statements)
	if err != nil {
		if failed := tx.failed(ctx, err, f.groupOf(len(answers))); len(answers) != f.identities || !isRefusal(failed) {
			return failed
		}
		return fault.New(fault.Retryable, "commit: %w", apply.ErrIdentityTaken)
	}
	// A COMMIT in a failed transaction answers ROLLBACK, without an error. A warning beside COMMIT says that the server
	// gave up waiting for a standby: committed here, perhaps not there.
	tag, warned := answers[len(answers)-1].tag, tx.c.warned.Load()
	switch {
	case tag != "COMMIT":
		tx.target.discard(tx.c)
		return fault.New(fault.Bug, "the server answered COMMIT with %q", tag)
	case warned:
		tx.target.discard(tx.c)
		return fault.New(fault.UnknownOutcome, "commit: the server warned beside its answer")
	}
	tx.target.release(tx.c)
	return nil
}

// prepared is the second round trip: the statements of each group, advance and COMMIT.
type prepared struct {
	statements []postgres.Statement
	ends       []int // for each group, the index behind its last statement
	identities int   // the index of the statement that records identities, -1 when there is none
}

// groupOf is the group that a statement belongs to, -1 for advance and COMMIT.
func (p prepared) groupOf(statement int) int {
	if len(p.ends) == 0 || statement >= p.ends[len(p.ends)-1] {
		return -1
	}
	group, _ := slices.BinarySearch(p.ends, statement+1)
	return group
}

func (tx *transaction) prepare(work apply.Work) (prepared, error) {
	p := prepared{identities: -1}
	for i, g := range work.Groups {
		table, err := catalog.Of(g.Relation)
		if err != nil {
			return p, err
		}
		if p.statements, err = tx.target.writer.Append(p.statements, table, g); err != nil {
			return p, &apply.WorkError{Err: err, Group: i}
		}
		p.ends = append(p.ends, len(p.statements))
	}
	if len(work.Identities) > 0 {
		p.identities = len(p.statements)
		p.statements = append(p.statements, tx.target.ledger.Remember(work))
	}
	if len(work.Advances) > 0 {
		p.statements = append(p.statements, tx.target.ledger.Advance(work))
	}
	p.statements = append(p.statements, postgres.Statement{SQL: "COMMIT"})
	return p, nil
}

// failed judges an error of the second round trip. An error that the server replied with, even to COMMIT itself, means
// that nothing was applied. Anything else leaves the outcome open, because COMMIT was on its way.
func (tx *transaction) failed(ctx context.Context, err error, group int) error {
	if !isServerReply(err) {
		tx.target.discard(tx.c)
		return fault.New(fault.UnknownOutcome, "commit: %w", err)
	}
	tx.Rollback(ctx)
	classified := postgres.Classify(err)
	if postgres.IsRefusal(err) {
		return &apply.WorkError{Err: classified, Group: group}
	}
	return classified
}

func isRefusal(err error) bool {
	_, ok := errors.AsType[*apply.WorkError](err)
	return ok
}

// Rollback ends the transaction. If the server cannot be told, cutting the connection tells it.
func (tx *transaction) Rollback(ctx context.Context) {
	if _, err := tx.c.flight(ctx, []postgres.Statement{{SQL: "ROLLBACK"}}); err != nil {
		tx.target.discard(tx.c)
		return
	}
	tx.target.release(tx.c)
}
