package rehearsing

import (
	"context"
	"errors"
	"time"

	"tidemark/shared/config"
	"tidemark/shared/config/connstring"
	"tidemark/shared/fault"
	"tidemark/shared/postgres"
	"tidemark/shared/postgres/address"
	"tidemark/shared/postgres/digest"
	"tidemark/shared/postgres/scratch"
	"tidemark/shared/recovery/refusal"
	"tidemark/shared/secret"
	"tidemark/shared/wiring"
	"tidemark/shared/wiring/login"
)

// site is the scratch database.
type site struct {
	process  config.Process // of whoever works on it
	database *scratch.Database
	counted  tables
	made     bool
}

// place finds the scratch database that the environment names, or makes one beside the live target.
func place(ctx context.Context, c *config.Recovery, live *scratch.Database, request Request) (s site, err error) {
	s.process = c.Process
	if s.process.Database = c.Scratch; c.Scratch.IsZero() {
		name := scratch.Name(wiring.NewRunID().String())
		if s.process.Database, err = connstring.WithDatabase(c.Database, name); err != nil {
			return s, fault.New(fault.Bug, "name a scratch database: %w", err)
		}
		s.made = true
	}
	at, err := address.Parse(s.process.Database.Reveal(), c.ConnectTimeout)
	if err != nil {
		return s, err
	}
	if at.Password != "" && !s.made { // it has a login of its own
		s.process.DatabaseSecret, s.process.DatabaseIAM = secret.Name{}, false
	}
	postgres.LogInWith(&at.Config, login.Database(&s.process, request.Now))
	s.database, s.counted = scratch.At(at), tables{digest.New(at, counting(c, request))}
	switch {
	case !s.made:
		return s, apart(ctx, s.database, live, request)
	case request.DryRun:
		return s, nil
	}
	return s, live.Create(ctx, s.database.Name())
}

// apart refuses a scratch database that is the live target's. A live target that does not answer is another one than a scratch
// database that does.
func apart(ctx context.Context, at, live *scratch.Database, request Request) error {
	if at.HasAddressOf(live) {
		return same()
	}
	own, err := at.Identify(ctx)
	if err != nil {
		return err
	}
	other, err := live.Identify(ctx)
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
	return r.server.Drop(ctx, r.Database)
}

func joined(err, also error) error {
	if also == nil {
		return err
	}
	return errors.Join(err, also)
}
