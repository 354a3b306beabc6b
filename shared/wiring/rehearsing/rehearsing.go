// Package rehearsing owns which driver stands behind which part of a rehearsal, as the configuration and the flow files name it,
// where its scratch database comes from, and how what it found is signed.
//
// It refuses a scratch database that is the live target's, whatever the addresses say, before anything is written. A database
// that it makes it drops, whatever became of the rehearsal, unless it is to be kept; one that was named it leaves as it is. A
// Rehearsal belongs to one goroutine.
package rehearsing

import (
	"context"
	"time"

	"tidemark/shared/archive/attestation"
	"tidemark/shared/config"
	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres"
	"tidemark/shared/postgres/address"
	"tidemark/shared/postgres/digest"
	"tidemark/shared/postgres/scratch"
	"tidemark/shared/recovery"
	"tidemark/shared/rehearsal"
	"tidemark/shared/verify"
	"tidemark/shared/wiring"
	"tidemark/shared/wiring/login"
	"tidemark/shared/wiring/recovering"
)

// Request is what the caller asks for.
type Request struct {
	Files       []string // flow files beside the one that the environment names
	NoLive      bool     // compare with the archive alone
	Jobs        int
	Keep        bool // leave the database that was made
	DryRun      bool // make none: a rehearsal that is opened so can be planned, and not run
	Actor, Tool string
	Now         func() time.Time
}

// Rehearsal is a rehearsal that is put together.
type Rehearsal struct {
	Options  rehearsal.Options
	Database string // the scratch database's name
	Made     bool   // it is dropped by Close, unless it is to be kept

	recovery *recovering.Recovery
	attest   attestation.Options
	server   *scratch.Database // beside which the made database is dropped
	request  Request
}

// Open makes the scratch database, unless the environment names one, and puts the rehearsal together. The caller closes it.
//
// Errors: fault.Misconfigured, also for a scratch database that is the live target's; fault.Retryable when a server or a service
// that holds a key is away.
func Open(ctx context.Context, c *config.Recovery, log recovery.Log, request Request) (*Rehearsal, error) {
	at, err := address.Parse(c.Database.Reveal(), c.ConnectTimeout)
	if err != nil {
		return nil, err
	}
	postgres.LogInWith(&at.Config, login.Database(&c.Process, request.Now))
	live := scratch.At(at)
	s, err := place(ctx, c, live, request)
	if err != nil {
		return nil, err
	}
	r := &Rehearsal{Database: s.database.Name(), Made: s.made && !request.DryRun, server: live, request: request}
	if err := r.assemble(ctx, c, s, log); err != nil {
		return nil, joined(err, r.Close(ctx))
	}
	if !request.NoLive {
		r.Options.Live = tables{digest.New(at, counting(c, request))}
	}
	return r, nil
}

// assemble puts the parts together on the scratch database.
func (r *Rehearsal) assemble(ctx context.Context, c *config.Recovery, s site, log recovery.Log) (err error) {
	own := *c
	own.Process = s.process
	if r.recovery, err = recovering.New(ctx, &own, r.request.Files, log, r.request.Now); err != nil {
		return err
	}
	o := r.recovery.Options
	o.Rehearsal, o.Jobs, o.Actor, o.Tool = true, max(r.request.Jobs, 1), r.request.Actor, r.request.Tool
	if r.request.DryRun && s.made {
		o.Database = nowhere{}
	}
	r.attest = attestation.Options{Archive: o.Archive, Now: r.request.Now, Signers: o.Signers}
	unpackers, err := wiring.Unpackers(c.Archive)
	if err != nil {
		return err
	}
	r.Options = rehearsal.Options{
		Recovery: o, Scratch: s.counted,
		Check: func(ctx context.Context, plan recovery.Plan) (verify.Outcome, error) {
			if err := r.recovery.Covers(plan); err != nil {
				return verify.Outcome{}, err
			}
			subject := wiring.Subject(plan.Choice.Manifest, plan.Choice.Body, nil, "")
			return verify.Check(ctx, subject, verify.Options{Level: verify.Hash, Jobs: r.request.Jobs, NewUnpacker: unpackers})
		},
	}
	return nil
}

// nowhere is a database that will be made, and is empty.
type nowhere struct{ recovery.Database }

// Look finds nothing. See recovery.Database.
func (nowhere) Look(context.Context) (recovery.Found, error) { return recovery.Found{}, nil }

// counting is how tables are counted.
func counting(c *config.Recovery, request Request) digest.Options {
	return digest.Options{LedgerSchema: c.LedgerSchema, ConnectTimeout: c.ConnectTimeout, Jobs: request.Jobs}
}

// tables is a database whose tables are counted.
type tables struct{ database *digest.Database }

// Read counts tables. See rehearsal.Tables.
func (t tables) Read(ctx context.Context, wanted []body.Table) (rehearsal.State, error) {
	s, err := t.database.Read(ctx, wanted)
	return rehearsal.State{Tables: s.Tables, Cut: s.Cut, Taken: s.Taken}, err
}
