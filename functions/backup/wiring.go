package main

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"tidemark/shared/config"
	"tidemark/shared/fault"
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
	options, err := wiring.Backup(ctx, environment, time.Now)
	if err != nil {
		return nil, err
	}
	options.Tool = "tidemark " + version
	return &handler{
		options: options,
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
