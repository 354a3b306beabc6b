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

// settingsSQL bounds the transaction in time and fixes how values look as text. No time limit runs while the server waits for
// the rest of a pipeline, so a client that vanished there is found by keepalives, or it would hold its locks for hours. A
// commit is answered when it is durable, whatever the role's default: what is answered is never delivered again.
const settingsSQL = "SELECT set_config('statement_timeout', $1::text, true), set_config('lock_timeout', $2::text, true)," +
	" set_config('idle_in_transaction_session_timeout', $3::text, true), set_config('datestyle', 'ISO', true)," +
	" set_config('intervalstyle', 'postgres', true), set_config('timezone', 'UTC', true)," +
	" set_config('bytea_output', 'hex', true), set_config('lc_monetary', 'C', true)," +
	" set_config('extra_float_digits', '1', true), set_config('row_security', 'off', true)," +
	" set_config('tcp_keepalives_idle', '10', true), set_config('tcp_keepalives_interval', '5', true)," +
	" set_config('tcp_keepalives_count', '3', true)," +
	" set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'" +
	" ELSE current_setting('synchronous_commit') END, true)"

// Begin opens a transaction in one round trip. See apply.Target.
func (t *Target) Begin(ctx context.Context, opening apply.Opening) (apply.Transaction, error) {
	statement, lock, idle := t.limits(ctx)
	statements := []postgres.Statement{
		{SQL: "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"},
		{SQL: settingsSQL, Params: [][]byte{[]byte(statement), []byte(lock), []byte(idle)}, Stable: true},
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

// Commit writes work and commits in one round trip, or in a few more where groups come in by COPY. See
// apply.Transaction.
func (tx *transaction) Commit(ctx context.Context, work apply.Work) error {
	s := script{}
	for i, g := range work.Groups {
		table, err := catalog.Of(g.Relation)
		if err != nil {
			tx.Rollback(ctx)
			return err
		}
		copied, err := tx.copyIn(ctx, &s, table, g)
		if err != nil {
			return err
		}
		if copied {
			continue
		}
		statements, err := tx.target.writer.Append(nil, table, g)
		if err != nil {
			tx.Rollback(ctx)
			return &apply.WorkError{Err: err, Group: i}
		}
		s.add(i, statements...)
	}
	if len(work.Identities) > 0 {
		s.add(ownerIdentities, tx.target.ledger.Remember(work))
	}
	if len(work.Advances) > 0 {
		s.add(ownerNone, tx.target.ledger.Advance(work))
	}
	s.add(ownerNone, postgres.Statement{SQL: "COMMIT"})
	return tx.conclude(ctx, &s)
}

// conclude sends what is left of a transaction, COMMIT at its end.
func (tx *transaction) conclude(ctx context.Context, s *script) error {
	answers, err := tx.c.flight(ctx, s.statements)
	if err != nil {
		return tx.failed(ctx, err, s.ownerOf(len(answers)))
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
	tx.done(ctx)
	return nil
}

// done gives the connection back. Whatever becomes of it, what is committed is committed.
func (tx *transaction) done(ctx context.Context) {
	if tx.c.prepareDue(ctx) == nil {
		tx.target.release(tx.c)
	} else {
		tx.target.discard(tx.c)
	}
}

// script is what is to be sent: statements, and for each what it belongs to.
type script struct {
	statements []postgres.Statement
	owners     []int // an index of the work's groups, or one of the constants below
}

const (
	ownerNone       = -1 // of the ledger, or of the transaction itself
	ownerIdentities = -2
)

func (s *script) add(owner int, statements ...postgres.Statement) {
	s.statements = append(s.statements, statements...)
	for range statements {
		s.owners = append(s.owners, owner)
	}
}

func (s *script) ownerOf(statement int) int {
	if statement >= len(s.owners) {
		return ownerNone
	}
	return s.owners[statement]
}

// failed judges an error of the round trip that ends in COMMIT. An error that the server replied with, even to COMMIT
// itself, means that nothing was applied. Anything else leaves the outcome open, because COMMIT was on its way.
func (tx *transaction) failed(ctx context.Context, err error, owner int) error {
	if !isServerReply(err) {
		tx.target.discard(tx.c)
		return fault.New(fault.UnknownOutcome, "commit: %w", err)
	}
	return tx.refused(ctx, err, owner)
}

// refused ends a transaction that the server refused to go on with.
func (tx *transaction) refused(ctx context.Context, err error, owner int) error {
	classified := postgres.Classify(err)
	if len(tx.c.often.prepared) > 0 && fault.Is(classified, fault.Unclassified) {
		// A prepared statement may have outlived a type that it was made for; no code says so.
		tx.target.discard(tx.c)
		return fault.New(fault.Retryable, "write: %w: %w", apply.ErrStale, classified)
	}
	tx.Rollback(ctx)
	switch {
	case !postgres.IsRefusal(err):
		return classified
	case owner == ownerIdentities:
		return fault.New(fault.Retryable, "commit: %w", apply.ErrIdentityTaken)
	}
	if postgres.Waits(err) {
		classified = fault.New(fault.ClassOf(classified), "%w: %w", apply.ErrWaits, classified)
	}
	return &apply.WorkError{Err: classified, Group: owner}
}

// Rollback ends the transaction. If the server cannot be told, cutting the connection tells it.
func (tx *transaction) Rollback(ctx context.Context) {
	if _, err := tx.c.flight(ctx, []postgres.Statement{{SQL: "ROLLBACK"}}); err != nil {
		tx.target.discard(tx.c)
		return
	}
	tx.target.release(tx.c)
}
