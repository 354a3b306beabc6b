package origin

import (
	"context"

	"tidemark/cmd/tidemark/exit"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/position"
	"tidemark/shared/recovery"
)

// Database marks what the database refuses. What an archive said meanwhile stays the archive's.
func Database(d recovery.Database) recovery.Database { return markedDatabase{d} }

type markedDatabase struct{ recovery.Database }

// Checkpoints mark what the database refuses.
func Checkpoints(c recovery.Checkpoints) recovery.Checkpoints { return markedCheckpoints{c} }

type markedCheckpoints struct{ recovery.Checkpoints }

// Look says what is there. See recovery.Database.
func (d markedDatabase) Look(ctx context.Context) (recovery.Found, error) {
	found, err := d.Database.Look(ctx)
	return found, exit.FromDatabase(err)
}

// Claim is the first act. See recovery.Database.
func (d markedDatabase) Claim(ctx context.Context, t recovery.Try) error {
	return exit.FromDatabase(d.Database.Claim(ctx, t))
}

// Restore brings the base in. See recovery.Database.
func (d markedDatabase) Restore(ctx context.Context, b recovery.Base) (recovery.Restored, error) {
	b.Fetch = Fetch(b.Fetch)
	restored, err := d.Database.Restore(ctx, b)
	return restored, exit.FromDatabase(err)
}

// Fetch marks what an archive says while a base comes.
func Fetch(of Fetcher) Fetcher {
	return func(ctx context.Context, object manifest.Object) ([]byte, error) {
		plain, err := of(ctx, object)
		if err != nil {
			err = exit.Archive(err)
		}
		return plain, err
	}
}

// Fetcher gives the plain bytes of an object.
type Fetcher = func(ctx context.Context, object manifest.Object) ([]byte, error)

// Positions are where the flow's partitions stand. See recovery.Checkpoints.
func (d markedCheckpoints) Positions(ctx context.Context, flow string) (position.Cut, error) {
	at, err := d.Checkpoints.Positions(ctx, flow)
	return at, exit.FromDatabase(err)
}

// Pass passes over gaps. See recovery.Checkpoints.
func (d markedCheckpoints) Pass(ctx context.Context, t recovery.Try, gaps []body.Gap) error {
	return exit.FromDatabase(d.Checkpoints.Pass(ctx, t, gaps))
}

// Settle ends the recovery. See recovery.Database.
func (d markedDatabase) Settle(ctx context.Context, s recovery.Settlement) error {
	return exit.FromDatabase(d.Database.Settle(ctx, s))
}
