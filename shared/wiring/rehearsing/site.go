package rehearsing

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/config"
	"tidemark/shared/config/connstring"
	"tidemark/shared/fault"
	"tidemark/shared/postgres"
	"tidemark/shared/postgres/address"
	"tidemark/shared/postgres/scratch"
	"tidemark/shared/recovery/refusal"
	"tidemark/shared/secret"
	"tidemark/shared/wiring"
	"tidemark/shared/wiring/login"
)

// site is the scratch database.
type site struct {
	process config.Process // of whoever works on it
	at      *pgx.ConnConfig
	made    bool
}

// place finds the scratch database that the environment names, or makes one beside the live target.
func place(ctx context.Context, c *config.Recovery, live *pgx.ConnConfig, request Request) (s site, err error) {
	s.process = c.Process
	if s.process.Database = c.Scratch; c.Scratch.IsZero() {
		name := scratch.Name(wiring.NewRunID().String())
		if s.process.Database, err = connstring.WithDatabase(c.Database, name); err != nil {
			return s, fault.New(fault.Bug, "name a scratch database: %w", err)
		}
		s.made = true
	}
	if s.at, err = address.Parse(s.process.Database.Reveal(), c.ConnectTimeout); err != nil {
		return s, err
	}
	if s.at.Password != "" && !s.made { // it has a login of its own
		s.process.DatabaseSecret, s.process.DatabaseIAM = secret.Name{}, false
	}
	postgres.LogInWith(&s.at.Config, login.Database(&s.process, request.Now))
	if s.made && request.DryRun {
		return s, nil
	}
	if s.made {
		return s, scratch.Create(ctx, live, s.at.Database)
	}
	return s, apart(ctx, s.at, live, request)
}

// apart refuses a scratch database that is the live target's. A live target that does not answer is another one than a scratch
// database that does.
func apart(ctx context.Context, at, live *pgx.ConnConfig, request Request) error {
	if at.Host == live.Host && at.Port == live.Port && at.Database == live.Database {
		return same()
	}
	own, err := scratch.Identify(ctx, at)
	if err != nil {
		return err
	}
	other, err := scratch.Identify(ctx, live)
	switch {
	case err != nil && request.NoLive:
		return nil
	case err != nil:
		return err
	case own.Is(other):
		return same()
	}
	return nil
}

func same() error {
	return refusal.Of(fault.Misconfigured, &refusal.Error{
		Name: refusal.IdentityMismatch, What: "TIDEMARK_SCRATCH_DATABASE_URL and TIDEMARK_DATABASE_URL lead to one database",
		Override: "naming an empty database, or none, and one is made", Loses: "nothing",
	})
}

// Close ends the connections and drops the database that was made.
//
// Errors: those of the drop, which names the database: it is to be dropped by hand then.
func (r *Rehearsal) Close(ctx context.Context) error {
	const farewell = 30 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	if r.recovery != nil {
		r.recovery.Close(ctx)
	}
	if !r.Made || r.request.Keep {
		return nil
	}
	return scratch.Drop(ctx, r.server, r.Database)
}

func joined(err, also error) error {
	if also == nil {
		return err
	}
	return errors.Join(err, also)
}
