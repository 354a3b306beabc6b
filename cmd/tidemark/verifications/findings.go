package verifications

import (
	"context"
	"fmt"

	"tidemark/cmd/tidemark/exit"
	"tidemark/shared/archive/history"
	"tidemark/shared/fault"
)

// findings are those of one command.
type findings struct {
	list     []finding
	warnings []string
}

// all looks at what was asked for.
func (v *checker) all(ctx context.Context) (all findings, err error) {
	all.warnings = v.seen.Warnings()
	for _, e := range v.seen.History.Entries {
		if e.Revoked {
			continue
		}
		if v.asked.manifest != "" {
			if e, err = v.seen.Find(v.asked.manifest); err != nil {
				return all, err
			}
		}
		m := v.seen.Read(ctx, e)
		f, err := v.check(ctx, m)
		all.list = append(all.list, f)
		if err != nil {
			return all, exit.Archive(err)
		}
		if v.asked.manifest != "" || !v.asked.all && m.Problem == nil {
			return all, nil
		}
	}
	if len(all.list) == 0 && v.seen.History.Reached() == nil {
		err = exit.Archive(fault.New(fault.Misconfigured, "verify: %w", history.ErrNoBackup).
			WithHint("check TIDEMARK_ARCHIVE, its prefix above all; tidemark backup makes one"))
	}
	return all, err
}

// end is how the command ends.
func (all findings) end(failed error) error {
	var errs []error
	warned := len(all.warnings)
	for _, f := range all.list {
		warned += len(f.outcome.Warnings) + len(f.written.Warnings) + len(f.Ignored)
		if f.err != nil {
			errs = append(errs, exit.Archive(fmt.Errorf("manifest %s: %w", f.ID, f.err)))
		}
	}
	if failed != nil {
		errs = append(errs, failed)
	}
	switch err := exit.Gravest(errs); {
	case err != nil:
		return err
	case warned > 0:
		return exit.Warnedf("done, with warnings: %d of them", warned)
	}
	return nil
}
