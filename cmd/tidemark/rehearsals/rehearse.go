package rehearsals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"tidemark/cmd/tidemark/exit"
	"tidemark/cmd/tidemark/recoveries"
	"tidemark/shared/archive/attestation"
	"tidemark/shared/rehearsal"
	"tidemark/shared/wiring/rehearsing"
)

// found is a rehearsal that has ended.
type found struct {
	rehearsal.Outcome

	written  attestation.Written
	database string // the scratch database that is left; empty: it is gone
}

// rehearse runs it, signs what was found and shows it.
func (a *asked) rehearse(cmd *cobra.Command, r *rehearsing.Rehearsal) error {
	ctx := cmd.Context()
	watch := recoveries.NewWatch(cmd.ErrOrStderr(), a.asJSON, time.Now)
	r.Options.Recovery.OnRestore, r.Options.Recovery.OnReplay = watch.Restore, watch.Replay
	r.Options.OnPhase = func(phase rehearsal.Phase) {
		if !a.asJSON {
			_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "done: %s\n", phase) // nobody's rehearsal fails because nobody reads
		}
	}
	mark(&r.Options)
	outcome, err := rehearsal.Run(ctx, r.Options)
	f := found{Outcome: outcome}
	if r.Made && a.keep || !r.Made {
		f.database = r.Database
	}
	if !a.noReport && ctx.Err() == nil {
		var failed error
		if f.written, failed = r.Attest(ctx, outcome); failed != nil {
			err = errors.Join(err, exit.Archive(failed))
		}
	}
	if err := f.show(cmd.OutOrStdout(), a.asJSON); err != nil {
		return err
	}
	return f.end(ctx, err)
}

// end is how the command ends.
func (f found) end(ctx context.Context, failed error) error {
	warned := len(f.Warnings) + len(f.written.Warnings)
	for _, d := range f.Differences {
		if d.Unwritten {
			warned++
		}
	}
	switch {
	case failed != nil && ctx.Err() != nil:
		return fmt.Errorf("interrupted; a rehearsal begins anew: %w", failed)
	case failed != nil && f.Stopped != nil && slices.Contains(f.Phases, rehearsal.Archive):
		return exit.FromDatabase(failed)
	case failed != nil:
		return exit.Archive(failed)
	case f.Err() != nil:
		return exit.Archive(f.Err())
	case warned > 0:
		return exit.Warnedf("%s, with warnings: %d of them", f.Verdict(), warned)
	}
	return nil
}
