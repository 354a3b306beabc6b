package backups

import (
	"context"
	"errors"
	"slices"

	"tidemark/cmd/tidemark/exit"
	"tidemark/cmd/tidemark/report"
	"tidemark/shared/archive"
	"tidemark/shared/archive/history"
	"tidemark/shared/backup"
	"tidemark/shared/config"
	"tidemark/shared/fault"
	"tidemark/shared/wiring"
)

// Plan says what a backup would read. It claims nothing and writes nothing.
//
// Errors: backup.ErrUncaptured, with the plan; those that the backup would end with, as far as they show without a claim.
func Plan(ctx context.Context, environment *config.Backup) (report.Plan, error) {
	read, err := source(environment)
	if err != nil {
		return report.Plan{}, err
	}
	opened, err := wiring.OpenArchive(ctx, environment.Archive, environment.TargetID)
	if err != nil {
		return report.Plan{}, err
	}
	plan, err := planOf(ctx, read, opened, environment.AllowUncaptured)
	if err != nil {
		return report.Plan{}, exit.Archive(err)
	}
	if slices.ContainsFunc(plan.Uncaptured, func(u report.Uncaptured) bool { return !u.Allowed }) {
		err = exit.Database(fault.New(fault.Misconfigured, "a backup would be refused: %w", backup.ErrUncaptured).
			WithHint("remove what is not captured, or say of each that it may be missing: --allow-uncaptured NAME"))
	}
	return plan, err
}

func planOf(ctx context.Context, source backup.Source, opened *archive.Archive, allowed []string) (plan report.Plan, err error) {
	h, err := history.Read(ctx, opened)
	if err != nil {
		return plan, err
	}
	choice, err := h.Choose(ctx, history.Request{})
	switch {
	case err == nil:
		plan.Newest = choice.Manifest.String()
	case !errors.Is(err, history.ErrNoBackup):
		plan.Warnings = append(plan.Warnings, "no earlier manifest can be used: "+err.Error())
	}
	shown, err := source.Snapshot(ctx)
	if err != nil {
		return plan, err
	}
	defer func() { err = errors.Join(err, shown.Close(context.WithoutCancel(ctx))) }()
	content := shown.Content()
	plan.Partitions = len(content.Cut)
	for _, t := range content.Tables {
		plan.Tables = append(plan.Tables, plannedTable(t, choice.Body))
	}
	for _, name := range content.Uncaptured {
		plan.Uncaptured = append(plan.Uncaptured, report.Uncaptured{Name: name, Allowed: slices.Contains(allowed, name)})
	}
	return plan, checkLife(content.Life, opened.Target)
}
