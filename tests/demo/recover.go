package main

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// loseAndRecover drops the target's database, makes an empty one of its name, recovers into it and says whether it is what was
// lost.
func (s *stage) loseAndRecover(ctx context.Context, report *report) (bool, error) {
	report.line("")
	report.line("the target's database is dropped, and an empty one made")
	if err := s.destroy(ctx); err != nil {
		return false, err
	}
	report.line("")
	report.line("tidemark recover")
	out, err := s.tidemark(ctx, "recover")
	if err != nil {
		return false, err
	}
	report.indented(out)
	return s.equal(ctx, report)
}

// destroy loses the target.
func (s *stage) destroy(ctx context.Context) (err error) {
	address, err := pgx.ParseConfig(s.postgres.URL())
	if err != nil {
		return err
	}
	name := pgx.Identifier{address.Database}.Sanitize()
	address.Database = "template1"
	conn, err := pgx.ConnectConfig(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	for _, statement := range []string{"DROP DATABASE " + name + " WITH (FORCE)", "CREATE DATABASE " + name + " TEMPLATE template0"} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
