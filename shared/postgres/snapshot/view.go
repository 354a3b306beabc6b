package snapshot

import (
	"context"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/backup"
	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres"
)

// view is one state of the database. The server forgets it when the exporter's session ends.
type view struct {
	source   *Source
	exporter *exporter
	id       string
	content  backup.Content
	tables   relations
	readable map[body.Name]readable

	mu     sync.Mutex
	idle   []*pgx.Conn // sessions of readers that were closed
	closed bool
}

// exporter is the session that holds the snapshot and the locks. Whoever opens readers refers to it: a session that
// nobody refers to is closed by the garbage collector, and with it goes the snapshot.
type exporter struct {
	mu   sync.Mutex
	conn *pgx.Conn
	tx   pgx.Tx // nil: closed
}

// isThere asks the session for a sign. No caller's deadline cuts it short: what ends a question ends the session.
func (e *exporter) isThere(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.tx == nil {
		return fault.New(fault.Bug, "%w: the snapshot was closed", ErrGone)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if err := e.conn.PgConn().Ping(ctx); err != nil {
		return gone(err)
	}
	return nil
}

// blockers names the sessions that have or await an exclusive lock of a table of this database; empty when there are none any
// more, or nobody answers.
func (e *exporter) blockers(ctx context.Context) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.tx == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	const question = `SELECT coalesce(string_agg(DISTINCT format('session %s (%s) on table %s', l.pid,
	    coalesce(nullif(a.application_name, ''), 'no name'), l.relation::regclass), '; '), '')
	  FROM pg_locks AS l LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid
	 WHERE l.locktype = 'relation' AND l.mode = 'AccessExclusiveLock' AND l.relation >= 16384
	   AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`
	var who string
	if err := e.tx.QueryRow(ctx, question).Scan(&who); err != nil {
		return ""
	}
	return who
}

func (e *exporter) close(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.tx == nil {
		return nil
	}
	err := e.tx.Rollback(ctx)
	e.tx = nil
	giveUp(ctx, e.conn)
	if err != nil {
		return fmt.Errorf("close the snapshot: %w", gone(err))
	}
	return nil
}

// Content is what was read with the snapshot.
func (v *view) Content() backup.Content { return v.content }

// Close ends the snapshot and lets the tables go. Readers that are open keep what they see and their locks.
// Errors: fault.Retryable with ErrGone when the session had ended before: readers opened since then were refused.
func (v *view) Close(ctx context.Context) error {
	v.mu.Lock()
	idle := v.idle
	v.idle, v.closed = nil, true
	v.mu.Unlock()
	for _, conn := range idle {
		giveUp(ctx, conn)
	}
	return v.exporter.close(ctx)
}

// Reader gives a session that sees the same state: one that another reader has left, or a new one.
//
// A new one locks every table for itself. A session that asks for a lock while an ALTER TABLE waits for the snapshot's own
// queues up behind it, and both would wait for the end of the backup; who holds the lock already never asks again, which
// is why sessions are kept. And what a reader sees from then on no longer hangs on the snapshot's session, which is
// asked at last: until then it let go of no lock.
// Errors: fault.Retryable with ErrGone when the snapshot's session is gone, and where a lock was not to be had.
func (v *view) Reader(ctx context.Context) (backup.Reader, error) {
	for {
		conn, err := v.left()
		if err != nil {
			return nil, err
		}
		if conn == nil {
			break
		}
		if isInTransaction(conn) && conn.PgConn().Ping(ctx) == nil {
			return &reader{view: v, conn: conn}, nil
		}
		giveUp(ctx, conn)
	}
	if err := v.exporter.isThere(ctx); err != nil {
		return nil, err
	}
	conn, err := v.source.connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := v.join(ctx, conn); err != nil {
		giveUp(ctx, conn)
		return nil, fmt.Errorf("join the snapshot: %w", err)
	}
	return &reader{view: v, conn: conn}, nil
}

// left takes a session that a reader left, nil when there is none.
func (v *view) left() (*pgx.Conn, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return nil, fault.New(fault.Bug, "%w: the snapshot was closed", ErrGone)
	}
	last := len(v.idle) - 1
	if last < 0 {
		return nil, nil //nolint:nilnil // none is no error
	}
	conn := v.idle[last]
	v.idle = v.idle[:last]
	return conn, nil
}

// leave takes a session back. One that has failed is of no more use.
func (v *view) leave(ctx context.Context, conn *pgx.Conn) {
	v.mu.Lock()
	keep := !v.closed && isInTransaction(conn)
	if keep {
		v.idle = append(v.idle, conn)
	}
	v.mu.Unlock()
	if !keep {
		giveUp(ctx, conn)
	}
}

func isInTransaction(conn *pgx.Conn) bool { return !conn.IsClosed() && conn.PgConn().TxStatus() == 'T' }

func (v *view) join(ctx context.Context, conn *pgx.Conn) error {
	if _, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}); err != nil {
		return classify(err)
	}
	if err := v.source.set(ctx, conn); err != nil {
		return err
	}
	if _, err := conn.PgConn().Exec(ctx, "SET TRANSACTION SNAPSHOT "+postgres.QuoteText(v.id)).ReadAll(); err != nil {
		if postgres.StateOf(err) == "" {
			return classify(err)
		}
		return gone(err) // also what a server says that never had it, behind an address that leads to several
	}
	if err := lock(ctx, conn.PgConn(), v.tables); err != nil {
		return barred(err, v.exporter.blockers(ctx))
	}
	return v.exporter.isThere(ctx)
}
