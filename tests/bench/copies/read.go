package copies

import (
	"context"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"tidemark/tests/bench/original"
)

// copyAll reads all tables to nowhere over n connections, the largest first: what the server can do at best.
func copyAll(ctx context.Context, d *original.Database, n int) error {
	queue := make(chan original.Table, len(d.Tables))
	for _, t := range d.Tables {
		queue <- t
	}
	close(queue)
	group, ctx := errgroup.WithContext(ctx)
	for range n {
		group.Go(func() error {
			return d.With(ctx, func(conn *pgx.Conn) error {
				for t := range queue {
					if _, err := t.Copy(ctx, conn); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
	return group.Wait()
}
