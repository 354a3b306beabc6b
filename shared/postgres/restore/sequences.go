package restore

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres"
	"tidemark/shared/postgres/restore/claim"
)

// setSequences puts sequences where the base says.
func (r *restoring) setSequences(ctx context.Context) error {
	return r.step(ctx, "sequences", func(s *claim.Session) error {
		const atOnce = 500
		all, err := r.sequences(ctx, s)
		if err != nil {
			return err
		}
		for len(all) > 0 {
			part := all[:min(len(all), atOnce)]
			all = all[len(part):]
			names, lasts, called := make([]string, len(part)), make([]int64, len(part)), make([]bool, len(part))
			for i, q := range part {
				names[i], lasts[i], called[i] = postgres.QuoteTable(q.Schema, q.Name.Name), q.Last, q.Called
			}
			_, err := s.Conn().Exec(ctx, "SELECT setval(v.name::regclass, v.last, v.called)"+
				" FROM unnest($1::text[], $2::bigint[], $3::boolean[]) AS v (name, last, called)", names, lasts, called)
			if err != nil {
				return fmt.Errorf("set the sequences: %w", claim.Classify(err))
			}
		}
		return nil
	})
}

// sequences are those that are there. A database whose tables were there may have others.
func (r *restoring) sequences(ctx context.Context, s *claim.Session) ([]body.Sequence, error) {
	if !r.base.Try.Existing {
		return r.base.Body.Sequences, nil
	}
	rows, err := s.Conn().Query(ctx, "SELECT n.nspname, c.relname FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n"+
		" ON n.oid = c.relnamespace WHERE c.relkind = 'S'")
	if err != nil {
		return nil, claim.Classify(err)
	}
	have, err := pgx.CollectRows(rows, pgx.RowToStructByPos[body.Name])
	var there []body.Sequence
	for _, q := range r.base.Body.Sequences {
		if slices.Contains(have, q.Name) {
			there = append(there, q)
		} else {
			r.warn("sequence %s is in the base and not there: where it stood is lost", q.Name)
		}
	}
	return there, claim.Classify(err)
}

// analyze gives the server its statistics, without which the first queries of a recovered database would crawl. Each table is
// a transaction of its own there.
func (r *restoring) analyze(ctx context.Context) error {
	const name = "analyze"
	if r.hold.Done[name] {
		return nil
	}
	s, err := r.session(ctx, 0)
	if err != nil {
		return err
	}
	if err := s.Run(ctx, "SET statement_timeout = 0; SET client_min_messages = error; SET synchronous_commit = off"); err != nil {
		return claim.Classify(err)
	}
	if err := s.Run(ctx, "ANALYZE"); err != nil {
		return fmt.Errorf("analyze: %w", claim.Classify(err))
	}
	_, err = s.Step(ctx, name, r.db.settings, func() error { return nil })
	return err
}
