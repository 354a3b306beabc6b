package snapshot

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/postgres"
	"tidemark/shared/postgres/capture"
)

// keepAlive finds a dead path within two minutes and keeps what lies between from forgetting the session.
func keepAlive() net.KeepAliveConfig {
	return net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 15 * time.Second, Count: 6}
}

// connect opens a session of its own.
func (s *Source) connect(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.ConnectTimeout)
	defer cancel()
	own := s.address.Copy()
	own.RuntimeParams["client_encoding"] = "UTF8"
	if own.RuntimeParams["application_name"] == "" {
		own.RuntimeParams["application_name"] = "tidemark backup"
	}
	dial := own.DialFunc
	own.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if tcp, ok := conn.(*net.TCPConn); ok && err == nil {
			err = tcp.SetKeepAliveConfig(keepAlive())
		}
		return conn, err
	}
	conn, err := postgres.Connect(ctx, own)
	if err != nil {
		return nil, fmt.Errorf("connect to the database: %w", classify(err))
	}
	return conn, nil
}

// giveUp closes a session, whatever has become of the call that used it.
func giveUp(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	_ = conn.Close(ctx) // it only read
}

const (
	farewell = 5 * time.Second  // for what is still said to a session that ends
	patience = 30 * time.Second // for a sign of the snapshot's session
)

// settings make the server print values in one way, wait as long as it takes for anything but a lock, and read a table
// from its first page on. Readers stand beside each other already, so none of them takes more of the target's cores.
const settings = capture.Session + `;
SET LOCAL lc_monetary = 'C';
SET LOCAL synchronize_seqscans = off;
SET LOCAL max_parallel_workers_per_gather = 0;
SET LOCAL jit = off`

// set sends the settings for the transaction. None of them takes a snapshot.
func (s *Source) set(ctx context.Context, conn *pgx.Conn) error {
	text := settings + ";\n" + postgres.Unlimited(conn.PgConn()) + ";\nSET LOCAL lock_timeout = " +
		strconv.FormatInt(max(1, s.options.LockTimeout.Milliseconds()), 10)
	_, err := conn.PgConn().Exec(ctx, text).ReadAll()
	return classify(err)
}
