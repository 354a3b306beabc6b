package main

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"tidemark/shared/config"
	"tidemark/shared/wiring/recovering"
)

// assemble reads the configuration. Everything else is opened by each invocation: a target is not recovered every day, and
// what was reached at the start of a process may be gone by then.
//
// Errors: fault.Misconfigured.
func assemble(out io.Writer) (*handler, error) {
	environment, err := config.LoadRecovery(config.OS())
	if err != nil {
		return nil, err
	}
	return &handler{
		log: slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: environment.LogLevel})),
		now: time.Now, name: lambdacontext.FunctionName,
		open: func(ctx context.Context) (opened, error) { return open(ctx, &environment) },
	}, nil
}

func open(ctx context.Context, environment *config.Recovery) (opened, error) {
	log, err := recovering.OpenLog(ctx, &environment.Kafka, time.Now)
	if err != nil {
		return opened{}, err
	}
	r, err := recovering.New(ctx, environment, nil, log, time.Now)
	if err != nil {
		log.Close()
		return opened{}, err
	}
	return opened{Options: r.Options, Covers: r.Covers, Close: func() {
		r.Close(context.WithoutCancel(ctx))
		log.Close()
	}}, nil
}
