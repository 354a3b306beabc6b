package target

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"tidemark/shared/postgres"
	"tidemark/shared/postgres/ledger"
)

// connection is one connection to the database, used by one goroutine at a time.
type connection struct {
	pg     *pgconn.PgConn
	warned atomic.Bool // a warning came in since the last flight began
	often  often
	used   time.Time // when it was last given back, by the wall clock
}

var errNoCancel = errors.New("cancel requests are never sent: a cancelled COMMIT may succeed without its standby")

// connecting marks the context of a connection that is being made: a dial without the mark is for a cancel request.
type connecting struct{}

// connect opens a connection and checks that it leads to a server that can be written.
//
// The driver sends a cancel request when it gives a connection up. One that meets a COMMIT waiting for a standby makes
// the COMMIT succeed without it, so the dialer refuses whatever is not the making of the connection itself (A14).
func connect(ctx context.Context, config *pgconn.Config, timeout time.Duration, prepare bool) (*connection, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	c := &connection{often: newOften(prepare)}
	own := config.Copy()
	own.RuntimeParams["client_encoding"] = "UTF8" // texts are UTF-8, whatever the role or the database prefers
	dial := own.DialFunc
	own.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if ctx.Value(connecting{}) == nil {
			return nil, errNoCancel
		}
		return dial(ctx, network, address)
	}
	own.OnNotice = func(_ *pgconn.PgConn, notice *pgconn.Notice) {
		if notice.SeverityUnlocalized == "WARNING" {
			c.warned.Store(true)
		}
	}
	if own.ValidateConnect == nil {
		own.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	pg, err := postgres.ConnectLow(context.WithValue(ctx, connecting{}, true), own)
	if err != nil {
		return nil, fmt.Errorf("connect to the database: %w", postgres.Classify(err))
	}
	c.pg = pg
	return c, nil
}

// binaryFormat is the protocol's code for parameters in binary form.
const binaryFormat = 1

// answer is what one statement of a flight gave.
type answer struct {
	rows ledger.Rows
	tag  string
}

// flight sends statements in one round trip and reads their answers in order. On an error of a statement the server
// passes over the rest of the flight; the answers are then those before it.
func (c *connection) flight(ctx context.Context, statements []postgres.Statement) ([]answer, error) {
	c.warned.Store(false)
	batch := &pgconn.Batch{}
	for i := range statements {
		var formats []int16 // none: text
		if statements[i].Binary {
			formats = []int16{binaryFormat}
		}
		if name, ok := c.often.use(statements[i]); ok {
			batch.ExecPrepared(name, statements[i].Params, formats, nil)
			continue
		}
		batch.ExecParams(statements[i].SQL, statements[i].Params, nil, formats, nil)
	}
	results := c.pg.ExecBatch(ctx, batch)
	answers := make([]answer, 0, len(statements))
	for results.NextResult() {
		read := results.ResultReader().Read()
		if read.Err != nil {
			break // Close returns the same error, with what is known of the connection
		}
		answers = append(answers, answer{rows: read.Rows, tag: read.CommandTag.String()})
	}
	return answers, results.Close()
}

// isAlive asks the server for a sign within limit.
func (c *connection) isAlive(ctx context.Context, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return c.pg.Ping(ctx) == nil
}

// isIdle says whether no transaction is open on the connection.
func (c *connection) isIdle() bool { return !c.pg.IsClosed() && c.pg.TxStatus() == 'I' }

// cut closes the socket and nothing else: the server finds out by itself.
func (c *connection) cut() {
	_ = c.pg.Conn().Close() // it is given up: there is nobody to tell
}

// isServerReply says whether err is the server's answer to a statement over a connection that lives on. A FATAL error is
// not: it may come between a commit and its reply.
func isServerReply(err error) bool {
	server, ok := errors.AsType[*pgconn.PgError](err)
	return ok && server.SeverityUnlocalized == "ERROR"
}
