package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"tidemark/shared/archive/packing"
	"tidemark/shared/backup"
	"tidemark/shared/config"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/postgres/address"
	"tidemark/shared/postgres/ledger/runs"
	"tidemark/shared/postgres/snapshot"
	"tidemark/shared/wiring"
)

// assemble reads the configuration and puts the parts together. It asks a key service for the public halves of its keys, and
// connects to nothing else: the first backup does.
//
// Errors: fault.Misconfigured for everything that is wrong with the environment and the files that it names;
// fault.Retryable when a key service is away.
func assemble(ctx context.Context, out io.Writer) (*handler, error) {
	environment, err := config.LoadBackup(config.OS())
	if err != nil {
		return nil, err
	}
	return assembleFor(ctx, &environment, lambdacontext.MemoryLimitInMB, out)
}

func assembleFor(ctx context.Context, environment *config.Backup, memory int, out io.Writer) (*handler, error) {
	if err := fits(environment.Jobs, memory); err != nil {
		return nil, err
	}
	database, err := address.Parse(environment.Database.Reveal(), environment.ConnectTimeout)
	if err != nil {
		return nil, err
	}
	claims, err := runs.New(runs.Options{Database: database, Schema: environment.LedgerSchema, NewID: newRunID})
	if err != nil {
		return nil, err
	}
	opened, err := wiring.OpenArchive(ctx, environment.Archive, environment.TargetID)
	if err != nil {
		return nil, err
	}
	written, err := wiring.Writer(ctx, environment.Archive, opened, time.Now)
	if err != nil {
		return nil, err
	}
	form, err := wiring.Packing(environment.Archive)
	if err != nil {
		return nil, err
	}
	return &handler{
		options: backup.Options{
			Runs: claims,
			Source: snapshot.New(database, snapshot.Options{
				LedgerSchema: environment.LedgerSchema, ConnectTimeout: environment.ConnectTimeout,
			}),
			Writer: written, NewPacker: func() (*packing.Packer, error) { return packing.NewPacker(form) },
			Jobs: environment.Jobs, Tool: "tidemark " + version, AllowUncaptured: environment.AllowUncaptured, Now: time.Now,
		},
		logs: logs{
			log:     slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: environment.LogLevel})),
			results: slog.New(slog.NewJSONHandler(out, nil)),
		},
		now: time.Now, name: lambdacontext.FunctionName,
	}, nil
}

// What a process takes in MB: by itself, and for each reader.
const (
	ownMemory = 200
	jobMemory = 150
)

// fits refuses more readers than the function's memory can hold: the platform would end the process in the middle, without
// a word of why. A memory of 0 is not known.
func fits(jobs, memory int) error {
	if wanted := ownMemory + jobs*jobMemory; memory > 0 && wanted > memory {
		return fault.New(fault.Misconfigured, "%d jobs take about %d MB, and the function has %d", jobs, wanted, memory).
			WithHint("raise the function's memory, or lower TIDEMARK_BACKUP_JOBS")
	}
	return nil
}

// newRunID is a random UUID.
func newRunID() manifest.RunID {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	text := hex.EncodeToString(b[:])
	return manifest.RunID(text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:])
}
