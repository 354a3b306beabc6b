package rehearsals

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"tidemark/cmd/tidemark/backups"
	"tidemark/cmd/tidemark/exit"
	"tidemark/cmd/tidemark/origin"
	"tidemark/cmd/tidemark/recoveries"
	"tidemark/shared/config"
	"tidemark/shared/rehearsal"
	"tidemark/shared/wiring/recovering"
	"tidemark/shared/wiring/rehearsing"
)

// run does what was asked.
func (a *asked) run(cmd *cobra.Command) (err error) {
	ctx := cmd.Context()
	end, err := a.end()
	if err != nil {
		return err
	}
	environment, err := config.LoadRecovery(config.OS())
	if err != nil {
		return err
	}
	log, err := recovering.OpenLog(ctx, &environment.Kafka, time.Now)
	if err != nil {
		return exit.Kafka(err)
	}
	defer log.Close()
	r, err := rehearsing.Open(ctx, &environment, origin.Log(log), rehearsing.Request{
		Files: a.flows, NoLive: a.noLive || len(a.until) > 0, Jobs: a.jobs, Keep: a.keep, DryRun: a.dryRun, Actor: a.actor(), Tool: a.tool,
		Now: time.Now,
	})
	if err != nil {
		return opening(err)
	}
	defer func() {
		if failed := r.Close(ctx); failed != nil {
			err = errors.Join(err, exit.Database(failed))
		}
	}()
	r.Options.Recovery.Until = end
	if err := a.choose(ctx, r); err != nil {
		return exit.Archive(err)
	}
	if a.dryRun {
		plan, err := rehearsal.Prepare(ctx, r.Options)
		if err != nil {
			return exit.Archive(err)
		}
		return recoveries.Plan{Plan: plan, DryRun: true}.Show(cmd.OutOrStdout(), a.asJSON)
	}
	return a.rehearse(cmd, r)
}

// choose finds the manifest that a person means.
func (a *asked) choose(ctx context.Context, r *rehearsing.Rehearsal) error {
	if a.manifest == "" {
		return nil
	}
	seen, err := backups.Look(ctx, r.Options.Recovery.Archive, "")
	if err != nil {
		return err
	}
	entry, err := seen.Find(a.manifest)
	r.Options.Recovery.Manifest = entry.Run
	return err
}
