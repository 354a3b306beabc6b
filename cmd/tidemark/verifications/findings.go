package verifications

import (
	"context"
	"fmt"
	"slices"

	"tidemark/cmd/tidemark/exit"
	"tidemark/shared/archive/history"
	"tidemark/shared/fault"
)

// findings are those of one command.
type findings struct {
	list     []finding
	warnings []string
}

// wanted are the manifests that may have to be looked at, the newest first.
func (v *checker) wanted() ([]history.Entry, error) {
	if v.asked.manifest != "" {
		e, err := v.seen.Find(v.asked.manifest)
		return []history.Entry{e}, err
	}
	entries := slices.DeleteFunc(slices.Clone(v.seen.History.Entries), func(e history.Entry) bool { return e.Revoked })
	if len(entries) > 0 {
		return entries, nil
	}
	if err := v.seen.History.Reached(); err != nil {
		return nil, exit.Archive(fault.New(fault.ClassOf(err), "no manifest in what could be listed, and not all could: %w", err))
	}
	return nil, exit.Archive(fault.New(fault.Misconfigured, "verify: %w", history.ErrNoBackup).
		WithHint("check TIDEMARK_ARCHIVE, its prefix above all; tidemark backup makes one"))
}

// all looks at what was asked for: without a word, down to the newest manifest that can be used.
func (v *checker) all(ctx context.Context) (all findings, err error) {
	all.warnings = v.seen.Warnings()
	entries, err := v.wanted()
	if err != nil {
		return all, err
	}
	for _, e := range entries {
		m := v.seen.Read(ctx, e)
		f, err := v.check(ctx, m)
		all.list = append(all.list, f)
		if err != nil {
			return all, exit.Archive(err)
		}
		if !v.asked.all && m.Problem == nil {
			break
		}
	}
	return all, nil
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
