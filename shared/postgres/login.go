package postgres

import (
	"context"
	"net"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Logins gives who logs in at a database, as it is kept somewhere else and may change while this process runs.
type Logins interface {
	// Login is asked for each connection. An empty user is the address's own.
	Login(ctx context.Context) (user, password string, err error)
	// Refused says that the server refused this password, and answers whether there is another login by now.
	Refused(ctx context.Context, password string) bool
}

// LogInWith makes every connection of config ask for its login when it is made, and those of its copies too. Nil logins leave
// config as it is.
func LogInWith(config *pgconn.Config, logins Logins) {
	if logins == nil {
		return
	}
	own := config.User
	config.AfterNetConnect = func(ctx context.Context, used *pgconn.Config, conn net.Conn) (net.Conn, error) {
		user, password, err := logins.Login(ctx)
		if err != nil {
			return conn, err
		}
		if user == "" {
			user = own
		}
		// The login is sent after this hook. used belongs to the one who connects and to nobody else: Connect and pgx copy it.
		used.User, used.Password = user, password
		if asker, ok := ctx.Value(asking{}).(*asker); ok {
			asker.logins, asker.password = logins, password
		}
		return conn, nil
	}
}

// asking marks the context of a connection that is being made and may be made once more.
type asking struct{}

// asker learns which password was sent, and whom to tell what became of it.
type asker struct {
	logins   Logins
	password string
}

// again says whether err is the refusal of a login that has another one in its place by now.
func (a *asker) again(ctx context.Context, err error) bool {
	state := StateOf(err)
	return (state == "28P01" || state == "28000") && a.logins != nil && a.logins.Refused(ctx, a.password)
}

// Connect is pgx.ConnectConfig, once more when the server refuses a login that was replaced meanwhile. See LogInWith.
func Connect(ctx context.Context, config *pgx.ConnConfig) (*pgx.Conn, error) {
	return connect(ctx, config, pgx.ConnectConfig)
}

// ConnectLow is pgconn.ConnectConfig as Connect is pgx.ConnectConfig.
func ConnectLow(ctx context.Context, config *pgconn.Config) (*pgconn.PgConn, error) {
	return connect(ctx, config.Copy(), pgconn.ConnectConfig)
}

func connect[Config, Conn any](
	ctx context.Context, config *Config, dial func(context.Context, *Config) (*Conn, error),
) (*Conn, error) {
	var asked asker
	conn, err := dial(context.WithValue(ctx, asking{}, &asked), config)
	if err != nil && asked.again(ctx, err) {
		return dial(ctx, config)
	}
	return conn, err
}
