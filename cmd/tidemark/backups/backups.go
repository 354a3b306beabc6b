// Package backups owns what the verbs on backups have in common: how one is put together from the environment, whose word an
// error of it is, what it would read, how the ones that are there are read, and who examines all of that.
//
// It holds nothing of a verb: no flags' texts beside those that stand for variables, no printing. It decides nothing that a
// function would decide another way. No state; what it returns belongs to one command.
package backups

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"tidemark/shared/archive/history"
	"tidemark/shared/archive/packing"
	"tidemark/shared/backup"
	"tidemark/shared/config"
	"tidemark/shared/manifest"
	"tidemark/shared/postgres/address"
	"tidemark/shared/postgres/ledger/runs"
	"tidemark/shared/postgres/snapshot"
	"tidemark/shared/wiring"
)

// Options puts the parts of a backup together, whoever runs it and with which tool. It connects to nothing but services that
// hold keys.
func Options(ctx context.Context, environment *config.Backup, actor, tool string) (backup.Options, error) {
	read, err := source(environment)
	if err != nil {
		return backup.Options{}, err
	}
	database, err := address.Parse(environment.Database.Reveal(), environment.ConnectTimeout)
	if err != nil {
		return backup.Options{}, err
	}
	claims, err := runs.New(runs.Options{Database: database, Schema: environment.LedgerSchema, NewID: newRunID})
	if err != nil {
		return backup.Options{}, err
	}
	opened, err := wiring.OpenArchive(ctx, environment.Archive, environment.TargetID)
	if err != nil {
		return backup.Options{}, err
	}
	written, err := wiring.Writer(ctx, environment.Archive, opened, time.Now)
	if err != nil {
		return backup.Options{}, err
	}
	form, err := wiring.Packing(environment.Archive)
	return backup.Options{
		Runs: databaseRuns{claims}, Source: read, Writer: written, Jobs: environment.Jobs, Actor: actor, Tool: tool,
		NewPacker:       func() (*packing.Packer, error) { return packing.NewPacker(form) },
		AllowUncaptured: environment.AllowUncaptured, Deadline: time.Now().Add(history.RunLife), Now: time.Now,
	}, err
}

// source is the database that is read.
func source(environment *config.Backup) (backup.Source, error) {
	database, err := address.Parse(environment.Database.Reveal(), environment.ConnectTimeout)
	if err != nil {
		return nil, err
	}
	return databaseSource{snapshot.New(database, snapshot.Options{
		LedgerSchema: environment.LedgerSchema, ConnectTimeout: environment.ConnectTimeout,
	})}, nil
}

// newRunID is a random UUID.
func newRunID() manifest.RunID {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return manifest.RunID(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]))
}
