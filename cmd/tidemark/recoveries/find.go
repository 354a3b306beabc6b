package recoveries

import (
	"context"

	"tidemark/cmd/tidemark/backups"
	"tidemark/shared/archive"
	"tidemark/shared/manifest"
)

// find gives the run that a person means, none when nobody named one.
func find(ctx context.Context, opened *archive.Archive, meant string) (manifest.RunID, error) {
	if meant == "" {
		return "", nil
	}
	seen, err := backups.Look(ctx, opened, "")
	if err != nil {
		return "", err
	}
	entry, err := seen.Find(meant)
	return entry.Run, err
}
