package recoveries

import (
	"context"
	"errors"
	"io"
	"time"

	"tidemark/cmd/tidemark/exit"
	"tidemark/shared/config"
	"tidemark/shared/recovery"
	core "tidemark/shared/recovery/extraction"
	"tidemark/shared/wiring/recovering"
)

// extraction is one restore of single tables.
type extraction struct {
	flags *Flags
	out   io.Writer
	watch *Watch
}

func (e extraction) run(ctx context.Context) error {
	options, err := e.options(ctx)
	if err != nil {
		return err
	}
	plan, err := core.Prepare(ctx, options)
	switch {
	case errors.Is(err, core.ErrUnknownTable):
		return exit.Usage(err)
	case err != nil:
		return exit.Archive(err)
	}
	told := extracted{plan, recovery.Restored{}, e.flags.DryRun}
	if err := told.showPlan(e.out, e.flags.JSON); err != nil || e.flags.DryRun {
		return err
	}
	if told.done, err = core.Run(ctx, options, plan); err != nil {
		return exit.Archive(err)
	}
	if err := told.show(e.out, e.flags.JSON); err != nil {
		return err
	}
	if n := len(told.warnings()); n > 0 {
		return exit.Warnedf("the tables are there, with %d warnings", n)
	}
	return nil
}

func (e extraction) options(ctx context.Context) (core.Options, error) {
	environment, err := config.LoadCommand(config.OS())
	if err != nil {
		return core.Options{}, err
	}
	archivist, err := config.LoadArchivist(config.OS())
	if err != nil {
		return core.Options{}, err
	}
	o, err := recovering.Tables(ctx, &environment.Process, &archivist, time.Now)
	if err != nil {
		return o, exit.Archive(err)
	}
	f := e.flags
	o.AllowOlder, o.Tables, o.Into, o.Jobs = f.allowOlder, f.into.tables, f.into.name, f.jobs
	o.Database, o.OnProgress = markedTables{o.Database}, e.watch.Restore
	if o.Manifest, err = find(ctx, o.Archive, f.manifest); err != nil {
		return o, exit.Archive(err)
	}
	return o, nil
}
