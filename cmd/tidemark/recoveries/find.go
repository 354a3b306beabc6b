package recoveries

import (
	"context"

	"tidemark/cmd/tidemark/backups"
	"tidemark/shared/manifest"
	"tidemark/shared/wiring/recovering"
)

// find gives the run that a person means.
func find(ctx context.Context, opened *recovering.Recovery, meant string) (manifest.RunID, error) {
	seen, err := backups.Look(ctx, opened.Options.Archive, "")
	if err != nil {
		return "", err
	}
	entry, err := seen.Find(meant)
	return entry.Run, err
}
