package restore

import (
	"context"
	"fmt"

	"tidemark/shared/postgres/restore/claim"
	"tidemark/shared/postgres/restore/ddl/extract"
	"tidemark/shared/postgres/restore/ddl/fit"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/extraction"
)

// Outline says what a request would make in this database. It writes nothing.
//
// Errors: fault.Misconfigured for a schema that is there, types that are not, another encoding, each by name.
func (d *Database) Outline(ctx context.Context, r extraction.Request) (extraction.Outline, error) {
	s, err := d.Connect(ctx)
	if err != nil {
		return extraction.Outline{}, err
	}
	defer s.Close(ctx)
	plan, err := outline(ctx, s, r)
	if err != nil {
		return extraction.Outline{}, claim.Classify(err)
	}
	return extraction.Outline{Tables: plan.Tables, Warnings: plan.Warnings}, nil
}

// Extract makes the schema that a request names, with its tables and their rows, in one transaction.
//
// Errors: as Outline's; fault.Misconfigured for what cannot be made here, by kind and name; fault.Corrupt for rows that do not
// fit; fault.UnknownOutcome when the reply to COMMIT was lost; those of Fetch.
func (d *Database) Extract(ctx context.Context, r extraction.Request) (recovery.Restored, error) {
	s, err := d.Connect(ctx)
	if err != nil {
		return recovery.Restored{}, err
	}
	defer s.Close(ctx)
	plan, err := outline(ctx, s, r)
	if err != nil {
		return recovery.Restored{}, claim.Classify(err)
	}
	done, err := plan.Run(ctx, extract.Work{
		Conn: s.Conn(), Settings: d.settings, Fetch: r.Fetch, Jobs: r.Jobs, OnProgress: r.OnProgress,
	})
	return done, claim.Classify(err)
}

// outline plans a request for what this database holds.
func outline(ctx context.Context, s *claim.Session, r extraction.Request) (*extract.Plan, error) {
	plan, err := extract.NewPlan(r.Body, r.Tables, r.Into)
	if err != nil {
		return plan, err
	}
	there, err := see(ctx, s.Conn())
	if err != nil {
		return plan, fmt.Errorf("look at the database: %w", claim.Classify(err))
	}
	return plan, plan.Check(ctx, s.Conn(), r.Body.Snapshot, fit.Types(r.Body, there, plan.Types))
}

var _ extraction.Database = (*Database)(nil)
