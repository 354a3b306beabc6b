// Package extraction owns how named tables come out of a backup into a schema of their own, as they were at the manifest's
// cut: beside a target that goes on living, or anywhere else.
//
// It takes the manifest that a recovery would take and fetches objects under the same checks. It refuses tables that the
// manifest does not have, with names that are like theirs. It takes no life, replays nothing and touches no ledger: what it
// makes is a copy, and says so. All of it is there afterwards, or nothing. Nothing is shared between calls.
package extraction

import (
	"context"
	"errors"
	"fmt"

	"tidemark/shared/archive"
	"tidemark/shared/archive/history"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/refusal"
)

// Options says what comes out of which archive to where.
type Options struct {
	Archive    *archive.Archive
	HighWater  history.HighWater // nil: nobody remembers the newest manifest
	Manifest   manifest.RunID    // that one and no other; zero: the newest that may be used
	AllowOlder string            // why a manifest may be older than what was seen
	Tables     []string          // as a person names them: schema.table, each part in quotes where it must be
	Into       string            // the schema's name, without quotes
	Jobs       int               // objects that are fetched side by side
	Database   Database
	OnProgress func(done, of int64) // of plain bytes
}

// Database is where the tables come to.
type Database interface {
	// Outline says what a request would make, and refuses what cannot be. It writes nothing.
	Outline(ctx context.Context, r Request) (Outline, error)
	// Extract makes the schema with the tables and their rows, all or nothing.
	Extract(ctx context.Context, r Request) (recovery.Restored, error)
}

// Request is what a database is asked for.
type Request struct {
	Body       body.Body
	Tables     []body.Name // each once
	Into       string
	Jobs       int
	Fetch      func(ctx context.Context, object manifest.Object) ([]byte, error)
	OnProgress func(done, of int64)
}

// Outline is what a request makes.
type Outline struct {
	Tables   []body.Table // with rows: those that were asked for, and their partitions
	Warnings []string     // what is left out, by name
}

// Plan is what comes out.
type Plan struct {
	Choice   history.Choice
	Request  Request
	Outline  Outline
	Warnings []string
}

// Prepare chooses the manifest, finds the tables in it and asks the database. It writes nothing.
//
// Errors: a refusal.Error by name, ErrUnknownTable, the archive's and the database's own.
func Prepare(ctx context.Context, o Options) (Plan, error) {
	choice, warnings, err := recovery.Choose(ctx, recovery.Options{
		Archive: o.Archive, HighWater: o.HighWater, Manifest: o.Manifest, AllowOlder: o.AllowOlder,
	})
	plan := Plan{Choice: choice, Warnings: warnings}
	if err != nil {
		return plan, err
	}
	names, err := find(choice.Body, o.Tables)
	if err != nil {
		return plan, fmt.Errorf("manifest %s: %w", choice.Manifest.ID, err)
	}
	plan.Request = Request{
		Body: choice.Body, Tables: names, Into: o.Into, Jobs: max(o.Jobs, 1), Fetch: o.fetch, OnProgress: o.OnProgress,
	}
	plan.Outline, err = o.Database.Outline(ctx, plan.Request)
	plan.Warnings = append(plan.Warnings, plan.Outline.Warnings...)
	return plan, taken(err)
}

// taken names the refusal of a schema that is there.
func taken(err error) error {
	if !errors.Is(err, recovery.ErrNotEmpty) {
		return err
	}
	return fault.New(fault.Misconfigured, "%w", &refusal.Error{Name: refusal.TargetNotEmpty, What: err.Error(), Err: err}).
		WithHint("%s", fault.HintOf(err))
}

// Run makes what Prepare planned. Warnings of the plan are not among its own.
func Run(ctx context.Context, o Options, plan Plan) (recovery.Restored, error) {
	if len(plan.Request.Tables) == 0 {
		return recovery.Restored{}, fault.New(fault.Bug, "no table is planned")
	}
	done, err := o.Database.Extract(ctx, plan.Request)
	if err != nil {
		return done, fmt.Errorf("restore tables of manifest %s: %w", plan.Choice.Manifest.ID, taken(err))
	}
	return done, nil
}

func (o Options) fetch(ctx context.Context, object manifest.Object) ([]byte, error) {
	stored, err := o.Archive.Fetch(ctx, object, nil)
	if err != nil {
		return nil, err
	}
	return o.Archive.Unpack(stored, object, object.PlainSize)
}
