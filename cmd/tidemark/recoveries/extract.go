package recoveries

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"tidemark/cmd/tidemark/exit"
	"tidemark/cmd/tidemark/tables"
	"tidemark/shared/archive"
	"tidemark/shared/manifest"
)

// Extracts says whether single tables are wanted, and no recovery.
func (f *Flags) Extracts() bool { return len(f.into.tables) > 0 }

// Extract restores single tables and tells of it. Errors: marked with where they came from.
func (f *Flags) Extract(ctx context.Context, out, progress io.Writer) error {
	if err := f.alone(); err != nil {
		return err
	}
	return tables.Restoration{
		Tables: f.into.tables, Into: f.into.name, AllowOlder: f.allowOlder, Jobs: f.jobs, DryRun: f.DryRun, JSON: f.JSON,
		Find:       func(ctx context.Context, a *archive.Archive) (manifest.RunID, error) { return find(ctx, a, f.manifest) },
		OnProgress: NewWatch(progress, f.JSON, time.Now).Restore,
	}.Run(ctx, out)
}

// alone refuses what a restore of single tables has no use for, and a schema that cannot be.
func (f *Flags) alone() error {
	const longest = 63 // bytes of a name: what is longer the server would cut off
	switch name := f.into.name; {
	case f.allowGap != "" || len(f.flows) > 0 || len(f.extent.from)+len(f.extent.until) > 0 || f.into.schema != "" || f.mintInSecondary || f.fromBucket != "" ||
		len(f.switching.Asked) > 0 || f.commands:
		return exit.Usage(errors.New("--table restores as of the manifest's cut and replays nothing: it takes --into, --manifest, " +
			"--allow-older, --jobs, --dry-run and --json alone"))
	case name == "" || len(name) > longest || strings.Contains(name, "\x00") || strings.HasPrefix(name, "pg_"):
		return exit.Usage(errors.New("--table needs --into SCHEMA: the name of a schema that is to be made, of at most 63 bytes, not beginning pg_"))
	case f.jobs < 1 || f.jobs > mostJobs:
		return exit.Usage(errJobs)
	}
	return nil
}
