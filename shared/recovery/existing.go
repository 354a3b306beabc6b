package recovery

import (
	"context"
	"errors"
	"slices"

	"tidemark/shared/fault"
	"tidemark/shared/recovery/refusal"
)

// look says what is in the database. Tables that somebody made and put nothing into are nothing to a recovery that loads into
// them.
func (o Options) look(ctx context.Context) (Found, error) {
	found, err := o.Database.Look(ctx)
	tables := errors.Is(err, ErrOnlyTables)
	switch {
	case tables && o.Existing:
		return Found{}, nil
	case tables, o.Existing && errors.Is(err, ErrNotEmpty) && fault.Is(err, fault.Misconfigured): // it knows what would help
		return found, refusal.Of(fault.Misconfigured, &refusal.Error{Name: refusal.TargetNotEmpty, What: err.Error(), Err: err})
	}
	return found, notEmpty(err)
}

// fit holds the base against the tables that it is to be loaded into, before anything is written.
func (o Options) fit(ctx context.Context, plan *Plan) error {
	if !o.Existing || plan.Resumed != nil {
		return nil
	}
	if o.Fits == nil {
		return fault.New(fault.Bug, "nobody says whether the base fits the database's tables")
	}
	warnings, err := o.Fits(ctx, plan.Choice.Body)
	plan.Warnings = append(plan.Warnings, warnings...)
	return mismatch(err)
}

// mismatch names the refusal of tables that do not fit.
func mismatch(err error) error {
	if !errors.Is(err, ErrMisfit) {
		return err
	}
	return refusal.Of(fault.Misconfigured, &refusal.Error{
		Name: refusal.SchemaMismatch, What: err.Error(), Err: err, Override: "correct the tables, or name an empty database and leave out --schema",
		Loses: "nothing",
	})
}

// union adds what is not told yet: a plan and what comes of it may tell the same of a database.
func union(told, more []string) []string {
	for _, warning := range more {
		if !slices.Contains(told, warning) {
			told = append(told, warning)
		}
	}
	return told
}

// ErrOnlyTables says, beside ErrNotEmpty, that a database has no ledger and nothing in its tables.
var ErrOnlyTables = errors.New("and nothing is in its tables")

// ErrMisfit says that a base does not fit the tables that are there.
var ErrMisfit = errors.New("the database's tables do not fit the base")
