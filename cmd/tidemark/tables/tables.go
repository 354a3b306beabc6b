// Package tables owns what the verb that restores single tables shows, and whose word an error is.
//
// It decides nothing: package extraction does. It refuses to let a name from a database reach a terminal as it is. No state;
// what it returns belongs to one command.
package tables

import (
	"context"
	"errors"
	"io"
	"time"

	"tidemark/cmd/tidemark/exit"
	"tidemark/shared/archive"
	"tidemark/shared/config"
	"tidemark/shared/manifest"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/extraction"
	"tidemark/shared/wiring/recovering"
)

// Restoration is one restore of single tables, as the command line has it.
type Restoration struct {
	Tables           []string // as a person names them
	Into, AllowOlder string
	Jobs             int
	DryRun, JSON     bool
	// Find gives the run of the manifest that a person means, none for the newest.
	Find       func(ctx context.Context, opened *archive.Archive) (manifest.RunID, error)
	OnProgress func(done, of int64)
}

// Run restores the tables and tells of it. Errors: marked with where they came from.
func (r Restoration) Run(ctx context.Context, out io.Writer) error {
	options, err := r.options(ctx)
	if err != nil {
		return err
	}
	plan, err := extraction.Prepare(ctx, options)
	switch {
	case errors.Is(err, extraction.ErrUnknownTable):
		return exit.Usage(err)
	case err != nil:
		return exit.Archive(err)
	}
	told := outcome{plan, recovery.Restored{}, r.DryRun}
	if err := told.showPlan(out, r.JSON); err != nil || r.DryRun {
		return err
	}
	if told.done, err = extraction.Run(ctx, options, plan); err != nil {
		return exit.Archive(err)
	}
	if err := told.show(out, r.JSON); err != nil {
		return err
	}
	if n := len(told.warnings()); n > 0 {
		return exit.Warnedf("the tables are there, with %d warnings", n)
	}
	return nil
}

func (r Restoration) options(ctx context.Context) (o extraction.Options, err error) {
	environment, err := config.LoadCommand(config.OS())
	if err != nil {
		return o, err
	}
	archivist, err := config.LoadArchivist(config.OS())
	if err != nil {
		return o, err
	}
	if o, err = recovering.Tables(ctx, &environment.Process, &archivist, time.Now); err != nil {
		return o, exit.Archive(err)
	}
	o.AllowOlder, o.Tables, o.Into, o.Jobs = r.AllowOlder, r.Tables, r.Into, r.Jobs
	o.Database, o.OnProgress = markedDatabase{o.Database}, r.OnProgress
	if o.Manifest, err = r.Find(ctx, o.Archive); err != nil {
		return o, exit.Archive(err)
	}
	return o, nil
}
