package claim

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tidemark/shared/fault"
	"tidemark/shared/postgres"
)

// Session is one connection, used by one goroutine.
type Session struct {
	db   *Database
	conn *pgx.Conn
}

// Connect opens a session with a server that can be written. Nothing is prepared: tables and types change under it.
func (d *Database) Connect(ctx context.Context) (*Session, error) {
	own := d.address.Copy()
	own.RuntimeParams["client_encoding"] = "UTF8"
	if own.RuntimeParams["application_name"] == "" {
		own.RuntimeParams["application_name"] = "tidemark recover"
	}
	own.DefaultQueryExecMode = pgx.QueryExecModeExec
	if own.ValidateConnect == nil {
		own.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	dial := own.DialFunc
	own.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if tcp, ok := conn.(*net.TCPConn); ok && err == nil {
			err = tcp.SetKeepAliveConfig(keepAlive())
		}
		return conn, err
	}
	limited, cancel := context.WithTimeout(ctx, d.options.ConnectTimeout)
	defer cancel()
	conn, err := postgres.Connect(limited, own)
	if err != nil {
		return nil, fmt.Errorf("connect to the database: %w", Classify(err))
	}
	s := &Session{db: d, conn: conn}
	// A server that cannot look after its clients says so, and goes on building for one that is gone.
	_ = s.Run(ctx, "SET client_connection_check_interval = '2s'")
	return s, nil
}

// keepAlive finds a dead path within two minutes and keeps what lies between from forgetting a session that waits for an
// index.
func keepAlive() net.KeepAliveConfig {
	return net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 15 * time.Second, Count: 6}
}

// farewell bounds what is still said to a session whose call has ended.
const farewell = 5 * time.Second

// Close ends the session, whatever has become of the call that used it.
func (s *Session) Close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	_ = s.conn.Close(ctx) // nothing is under way that counts
}

// Run runs statements of this package's own, which return nothing.
func (s *Session) Run(ctx context.Context, statements string) error {
	_, err := s.conn.PgConn().Exec(ctx, statements).ReadAll()
	return err
}

const begin = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; "

// peek runs do in a transaction that changes nothing.
func (s *Session) peek(ctx context.Context, do func() error) error {
	if err := s.Run(ctx, begin+postgres.Unlimited(s.conn.PgConn())+"; SET TRANSACTION READ ONLY"); err != nil {
		s.rollback(ctx)
		return Classify(err)
	}
	defer s.rollback(ctx)
	return Classify(do())
}

// act runs do in a transaction that waits for others as long as the options say, and whose commit is on disk. It belongs to
// no step.
//
// Errors: fault.UnknownOutcome when the reply to its COMMIT was lost: the same call finds out.
func (s *Session) act(ctx context.Context, name string, do func() error) error {
	if err := s.open(ctx); err != nil {
		return err
	}
	if err := do(); err != nil {
		s.rollback(ctx)
		return Classify(err)
	}
	return s.finish(ctx, name)
}

// open begins the transaction of an act.
func (s *Session) open(ctx context.Context) error {
	wait := strconv.FormatInt(max(1, s.db.options.LockTimeout.Milliseconds()), 10)
	err := s.Run(ctx, begin+postgres.Unlimited(s.conn.PgConn())+"; SET LOCAL lock_timeout = "+wait)
	if err != nil {
		s.rollback(ctx)
	}
	return Classify(err)
}

// finish commits an act.
func (s *Session) finish(ctx context.Context, name string) error {
	err := s.commit(ctx, name)
	if fault.Is(err, fault.Retryable) && s.conn.IsClosed() {
		return fault.New(fault.UnknownOutcome, "%w", err).WithHint("run the same command again: it finds out what was committed")
	}
	return err
}

// Conn is the session's connection.
func (s *Session) Conn() *pgx.Conn { return s.conn }

// Step runs do in a transaction with the step's mark, under these settings, unless the step is done: then it answers false. The
// mark comes first: another session that is in the midst of the step, perhaps that of a process that was killed, is waited for.
//
// Errors: those of do as they are.
func (s *Session) Step(ctx context.Context, name, settings string, do func() error) (bool, error) {
	err := s.Run(ctx, begin+postgres.Unlimited(s.conn.PgConn())+"; SET LOCAL lock_timeout = 0; SET LOCAL synchronous_commit = off; "+settings)
	if err != nil {
		s.rollback(ctx)
		return false, Classify(err)
	}
	tag, err := s.conn.Exec(ctx, "INSERT INTO "+s.db.table("done")+" (step) VALUES ($1::text) ON CONFLICT DO NOTHING", name)
	if err != nil || tag.RowsAffected() == 0 {
		s.rollback(ctx)
		return false, Classify(err)
	}
	if err := do(); err != nil {
		s.rollback(ctx)
		return false, err
	}
	return true, s.commit(ctx, name)
}

// commit ends a transaction. A COMMIT is answered ROLLBACK when the transaction had failed.
func (s *Session) commit(ctx context.Context, name string) error {
	at := Moment{Step: name, PID: s.conn.PgConn().PID()}
	if err := s.db.options.Reached(ctx, at); err != nil {
		s.rollback(ctx)
		return Classify(err)
	}
	tag, err := s.conn.Exec(ctx, "COMMIT")
	if err != nil {
		return Classify(err)
	}
	if tag.String() != "COMMIT" {
		return fault.New(fault.Bug, "the server answered COMMIT by %s", tag)
	}
	at.Committed = true
	return Classify(s.db.options.Reached(ctx, at))
}

// rollback ends a transaction without effect. A connection that broke does so by itself.
func (s *Session) rollback(ctx context.Context) {
	if s.conn.IsClosed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	if err := s.Run(ctx, "ROLLBACK"); err != nil {
		_ = s.conn.Close(ctx) // whatever it was in the midst of
	}
}
