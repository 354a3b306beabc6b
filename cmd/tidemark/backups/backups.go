// Package backups owns what the verbs on backups have in common: how one is put together from the environment, whose word an
// error of it is, what it would read, how the ones that are there are read, and who examines all of that.
//
// It holds nothing of a verb: no flags' texts beside those that stand for variables, no printing. It decides nothing that a
// function would decide another way. No state; what it returns belongs to one command.
package backups

import (
	"context"
	"time"

	"tidemark/shared/archive/history"
	"tidemark/shared/backup"
	"tidemark/shared/config"
	"tidemark/shared/wiring"
)

// Options puts the parts of a backup together, whoever runs it and with which tool. It connects to nothing but services that
// hold keys.
func Options(ctx context.Context, environment *config.Backup, actor, tool string) (backup.Options, error) {
	options, err := wiring.Backup(ctx, environment, time.Now)
	if err != nil {
		return options, err
	}
	options.Runs, options.Source = databaseRuns{options.Runs}, databaseSource{options.Source}
	options.Actor, options.Tool, options.Deadline = actor, tool, time.Now().Add(history.RunLife)
	err = describing(&options)
	return options, err
}

// source is the database that is read.
func source(environment *config.Backup) (backup.Source, error) {
	read, err := wiring.Source(environment, time.Now)
	return databaseSource{read}, err
}
