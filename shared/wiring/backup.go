package wiring

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"tidemark/shared/archive/packing"
	"tidemark/shared/backup"
	"tidemark/shared/config"
	"tidemark/shared/manifest"
	"tidemark/shared/postgres"
	"tidemark/shared/postgres/address"
	"tidemark/shared/postgres/ledger/runs"
	"tidemark/shared/postgres/snapshot"
	"tidemark/shared/wiring/login"
)

// Source is the database that is backed up. It connects to nothing.
//
// Errors: fault.Misconfigured for an address that does not parse.
func Source(c *config.Backup, now func() time.Time) (*snapshot.Source, error) {
	return source(c, login.Database(&c.Process, now))
}

func source(c *config.Backup, logins postgres.Logins) (*snapshot.Source, error) {
	database, err := address.Parse(c.Database.Reveal(), c.ConnectTimeout)
	if err != nil {
		return nil, err
	}
	postgres.LogInWith(&database.Config, logins)
	return snapshot.New(database, snapshot.Options{LedgerSchema: c.LedgerSchema, ConnectTimeout: c.ConnectTimeout}), nil
}

// Backup puts the parts of a backup together. It asks a key service for the public halves of its keys, and connects to nothing
// else: the backup does.
//
// Errors: fault.Misconfigured for everything that is wrong with the environment and the files that it names; fault.Retryable
// when a key service is away.
func Backup(ctx context.Context, c *config.Backup, now func() time.Time) (backup.Options, error) {
	logins := login.Database(&c.Process, now)
	source, err := source(c, logins)
	if err != nil {
		return backup.Options{}, err
	}
	database, err := address.Parse(c.Database.Reveal(), c.ConnectTimeout)
	if err != nil {
		return backup.Options{}, err
	}
	postgres.LogInWith(&database.Config, logins)
	claims, err := runs.New(runs.Options{Database: database, Schema: c.LedgerSchema, NewID: NewRunID})
	if err != nil {
		return backup.Options{}, err
	}
	opened, err := OpenArchive(ctx, c.Archive, c.TargetID)
	if err != nil {
		return backup.Options{}, err
	}
	written, err := Writer(ctx, c.Archive, opened, now)
	if err != nil {
		return backup.Options{}, err
	}
	form, err := Packing(c.Archive)
	return backup.Options{
		Runs: claims, Source: source, Writer: written, Jobs: c.Jobs, AllowUncaptured: c.AllowUncaptured, Now: now,
		NewPacker: func() (*packing.Packer, error) { return packing.NewPacker(form) },
	}, err
}

// NewRunID is a random UUID.
func NewRunID() manifest.RunID {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return manifest.RunID(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]))
}
