package backups

import (
	"context"
	"fmt"

	"tidemark/cmd/tidemark/exit"
	"tidemark/shared/config"
	"tidemark/shared/health"
	"tidemark/shared/postgres/ledger"
)

// asked marks what an examiner's errors are about, for the exit code.
type asked struct {
	health.Examiner

	mark func(error) error
}

// Examine asks.
func (a asked) Examine(ctx context.Context) []health.Finding {
	found := a.Examiner.Examine(ctx)
	for i := range found {
		if found[i].Err != nil {
			found[i].Err = a.mark(fmt.Errorf("doctor: %s, %s: %w", found[i].About, found[i].Check, found[i].Err))
		}
	}
	return found
}

// fromDatabase gives a target that another life owns the code that it has wherever it is met.
func fromDatabase(err error) error { return exit.Archive(exit.FromDatabase(err)) }

// broken stands for what could not be put together.
type broken struct {
	about string
	err   error
}

// Examine says why.
func (b broken) Examine(context.Context) []health.Finding {
	return []health.Finding{health.Broken(b.about, "configured", b.err)}
}

// Examiners are all of them, in the order of a report. What cannot be put together is a finding as well.
func Examiners(ctx context.Context, environment *config.Backup, probe bool) []health.Examiner {
	all := onArchives(ctx, environment, probe)
	for i := range all {
		all[i] = asked{all[i], exit.Archive}
	}
	read, err := source(environment)
	if err != nil {
		return append(all, asked{broken{"database", err}, fromDatabase})
	}
	return append(all, asked{health.Database{
		Source: read, Target: environment.TargetID, LeastLedger: ledger.BackupVersion, MostLedger: ledger.MaxVersion,
		AllowUncaptured: environment.AllowUncaptured,
	}, fromDatabase})
}
