package tables

import (
	"context"

	"tidemark/cmd/tidemark/exit"
	"tidemark/cmd/tidemark/origin"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/extraction"
)

// markedDatabase marks what the database refuses. What an archive said meanwhile stays the archive's.
type markedDatabase struct{ extraction.Database }

// Outline says what would be made. See extraction.Database.
func (d markedDatabase) Outline(ctx context.Context, r extraction.Request) (extraction.Outline, error) {
	outline, err := d.Database.Outline(ctx, r)
	return outline, exit.FromDatabase(err)
}

// Extract makes the tables. See extraction.Database.
func (d markedDatabase) Extract(ctx context.Context, r extraction.Request) (recovery.Restored, error) {
	r.Fetch = origin.Fetch(r.Fetch)
	done, err := d.Database.Extract(ctx, r)
	return done, exit.FromDatabase(err)
}
