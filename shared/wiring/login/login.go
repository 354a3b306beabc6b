// Package login owns where the logins of a process come from, as the configuration names it: Secrets Manager, IAM, or nowhere
// but the configuration itself.
//
// It is apart from package wiring so that the apply function carries no archive. It asks for nothing: the first connection does.
// What it returns may be used by several goroutines.
package login

import (
	"context"
	"time"

	"tidemark/shared/config"
	"tidemark/shared/config/brokers"
	"tidemark/shared/fault"
	"tidemark/shared/postgres"
	"tidemark/shared/postgres/address"
	"tidemark/shared/secret"
	"tidemark/shared/secret/iamtoken"
	"tidemark/shared/secret/manager"
)

// Database gives the logins of a process at its database, nil when its connection string holds all there is.
func Database(c *config.Process, now func() time.Time) postgres.Logins {
	switch {
	case c.DatabaseIAM:
		return signed{c, iamtoken.New(iamtoken.Options{Now: now})}
	case c.DatabaseSecret.IsZero():
		return nil
	}
	return Kept(open(c.DatabaseSecret, c.SecretTTL, now))
}

// signed logs in with tokens of IAM.
type signed struct {
	process *config.Process
	signer  *iamtoken.Signer
}

// Login signs a token for the address's user. See postgres.Logins.
func (s signed) Login(ctx context.Context) (user, token string, err error) {
	at, err := address.Parse(s.process.Database.Reveal(), s.process.ConnectTimeout)
	if err != nil {
		return "", "", err
	}
	token, err = s.signer.Token(ctx, at.Host, at.Port, at.User)
	return "", token, err
}

// Refused has no other login: each token is new. See postgres.Logins.
func (signed) Refused(context.Context, string) bool { return false }

// Kept gives logins at a database that a source keeps.
func Kept(source *secret.Source) postgres.Logins { return kept{source} }

func open(name secret.Name, ttl time.Duration, now func() time.Time) *secret.Source {
	return secret.NewSource(secret.Options{Fetch: manager.New(manager.Options{}, name).Fetch, TTL: ttl, Now: now})
}

type kept struct{ source *secret.Source }

// Login is the login of the moment. See postgres.Logins.
func (k kept) Login(ctx context.Context) (user, password string, err error) {
	login, err := k.source.Current(ctx)
	return login.User, login.Password.Reveal(), err
}

// Refused says that a password is not the one, and answers whether there is another. See postgres.Logins.
func (k kept) Refused(ctx context.Context, password string) bool {
	refused := secret.New(password)
	k.source.Refused(refused)
	login, err := k.source.Current(ctx)
	return err == nil && !login.Password.Equal(refused)
}

// Kafka gives the user that logs in at the brokers, and the password of each connection.
//
// Errors: those of a secret that has to be asked for the user.
func Kafka(ctx context.Context, c *brokers.Kafka, now func() time.Time) (string, func(context.Context) (string, error), error) {
	if c.Secret.IsZero() {
		return c.User, func(context.Context) (string, error) { return c.Password.Reveal(), nil }, nil
	}
	return KeptKafka(ctx, c, open(c.Secret, c.SecretTTL, now))
}

// KeptKafka is Kafka for a login that a source keeps. A client has one user for its life: a secret that names another one is
// refused from then on.
func KeptKafka(ctx context.Context, c *brokers.Kafka, source *secret.Source) (string, func(context.Context) (string, error), error) {
	user := c.User
	if user == "" {
		login, err := source.Current(ctx)
		if err != nil {
			return "", nil, err
		}
		if user = login.User; user == "" {
			return "", nil, fault.New(fault.Misconfigured, "secret %s names no user", c.Secret.ID).
				WithHint("set TIDEMARK_KAFKA_USER, or keep JSON with username and password in the secret")
		}
	}
	return user, func(ctx context.Context) (string, error) {
		login, err := source.Current(ctx)
		if err == nil && c.User == "" && login.User != user {
			return "", fault.New(fault.Misconfigured, "secret %s names another user than when this process began", c.Secret.ID).
				WithHint("start the command again: it goes on where it was")
		}
		return login.Password.Reveal(), err
	}, nil
}
