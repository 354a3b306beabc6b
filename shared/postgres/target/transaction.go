package target

import (
	"context"

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

// settings bounds the transaction in time and fixes how values look as text.
const settingsSQL = "SELECT set_config('statement_timeout', $1::text, true), set_config('lock_timeout', $2::text, true)," +
	" set_config('idle_in_transaction_session_timeout', $3::text, true), set_config('datestyle', 'ISO', true)," +
	" set_config('intervalstyle', 'postgres', true), set_config('timezone', 'UTC', true)," +
	" set_config('bytea_output', 'hex', true), set_config('lc_monetary', 'C', true)," +
	" set_config('extra_float_digits', '1', true), set_config('row_security', 'off', true)"

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
	rows := make([]ledger.Rows, 0, ledger.OpenAnswers)
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
	statements, err := tx.statements(work)
	if err != nil {
		tx.Rollback(ctx)
		return err
	}
	answers, err := tx.c.flight(ctx, statements)
	if err != nil {
		return tx.failed(ctx, err)
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

func (tx *transaction) statements(work apply.Work) ([]postgres.Statement, error) {
	var statements []postgres.Statement
	for _, g := range work.Groups {
		table, err := catalog.Of(g.Relation)
		if err != nil {
			return nil, err
		}
		if statements, err = tx.target.writer.Append(statements, table, g); err != nil {
			return nil, &apply.WorkError{Err: err}
		}
	}
	if len(work.Advances) > 0 {
		statements = append(statements, tx.target.ledger.Advance(work))
	}
	return append(statements, postgres.Statement{SQL: "COMMIT"}), nil
}

// failed judges an error of the second round trip. An error that the server replied with, even to COMMIT itself, means
// that nothing was applied. Anything else leaves the outcome open, because COMMIT was on its way.
func (tx *transaction) failed(ctx context.Context, err error) error {
	if !isServerReply(err) {
		tx.target.discard(tx.c)
		return fault.New(fault.UnknownOutcome, "commit: %w", err)
	}
	tx.Rollback(ctx)
	classified := postgres.Classify(err)
	if postgres.IsRefusal(err) {
		return &apply.WorkError{Err: classified}
	}
	return classified
}

// Rollback ends the transaction. If the server cannot be told, cutting the connection tells it.
func (tx *transaction) Rollback(ctx context.Context) {
	if _, err := tx.c.flight(ctx, []postgres.Statement{{SQL: "ROLLBACK"}}); err != nil {
		tx.target.discard(tx.c)
		return
	}
	tx.target.release(tx.c)
}
