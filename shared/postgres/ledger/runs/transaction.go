package runs

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/fault"
	"tidemark/shared/postgres"
)

// limits are a transaction's limits, as settings of the server.
type limits struct{ idle, lock string }

// short is for transactions that end at once. One whose process stands still ends before others give up waiting for it.
func short() limits { return limits{idle: "10s", lock: patience} }

// lasting is for the transaction that holds a claim: it idles for hours.
func lasting() limits { return limits{idle: "0", lock: patience} }

const patience = "20s"

// The server looks after a client that is silent, or one that vanished would hold its run for hours. What a role sets as its
// limits is for ordinary sessions; no statement here takes long or waits beyond lock_timeout, and a limit that meets a COMMIT
// would make it succeed without its standby. A run must be durable before its manifest is, whatever the role's default for commits.
const settingsSQL = "SELECT set_config(s.name, v.value, true) FROM (VALUES" +
	" ('idle_in_transaction_session_timeout', $1::text), ('lock_timeout', $2::text), ('transaction_timeout', '0')," +
	" ('statement_timeout', '0'), ('tcp_keepalives_idle', '10'), ('tcp_keepalives_interval', '5')," +
	" ('tcp_keepalives_count', '3'), ('DateStyle', 'ISO'), ('synchronous_commit'," +
	" CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END))" +
	" AS v (name, value) JOIN pg_catalog.pg_settings AS s USING (name)" // an older server lacks some

func (r *Runs) beginTransaction(ctx context.Context, conn *pgx.Conn, l limits) (pgx.Tx, error) {
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite})
	if err != nil {
		return nil, classify(err)
	}
	if _, err := tx.Exec(ctx, settingsSQL, l.idle, l.lock); err != nil {
		return nil, errors.Join(classify(err), rollback(ctx, tx))
	}
	return tx, nil
}

// inTransaction runs do in a transaction of its own. An error means that nothing was committed, unless it came of the commit
// and is no reply of the server's.
func (r *Runs) inTransaction(ctx context.Context, conn *pgx.Conn, l limits, do func(pgx.Tx) error) error {
	tx, err := r.beginTransaction(ctx, conn, l)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		_ = rollback(ctx, tx) // the first error counts; a connection that is given up rolls back as well
		return err
	}
	return classify(tx.Commit(ctx))
}

// rollback ends a transaction, with the server's word that its locks are gone.
func rollback(ctx context.Context, tx pgx.Tx) error {
	if err := tx.Rollback(ctx); err != nil && !errors.Is(err, pgx.ErrTxClosed) {
		return classify(err)
	}
	return nil
}

// lockNotAvailable is the SQLSTATE of a lock that another session holds.
const lockNotAvailable = "55P03"

func isLocked(err error) bool { return postgres.StateOf(err) == lockNotAvailable }

// classify gives an error of the driver its class. No record is written here, so nothing is poison: a value that the server
// refuses is a mistake of this package.
func classify(err error) error {
	classified := postgres.Classify(err)
	switch {
	case fault.Is(classified, fault.Poison):
		return fault.New(fault.Bug, "%w", classified)
	case fault.Is(classified, fault.Misconfigured) && fault.HintOf(classified) == "":
		return fault.New(fault.Misconfigured, "%w", classified).WithHint("is the ledger there? run: tidemark migrate")
	}
	return classified
}
