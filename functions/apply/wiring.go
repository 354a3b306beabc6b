package main

import (
	"io"
	"log/slog"
	"time"

	"tidemark/shared/config"
	"tidemark/shared/wiring/flow"
)

// assemble reads the configuration and puts the parts together. It connects to nothing: the first batch does.
// Errors: fault.Misconfigured for everything that is wrong with the environment or the flow file.
func assemble(out io.Writer) (*handler, error) {
	environment, err := config.LoadApply(config.OS())
	if err != nil {
		return nil, err
	}
	return assembleFor(&environment, out)
}

func assembleFor(environment *config.Apply, out io.Writer) (*handler, error) {
	file, err := config.ReadFlow(environment.FlowFile)
	if err != nil {
		return nil, err
	}
	written, applier, err := flow.New(&environment.Process, &file, flow.Mode{Now: time.Now})
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: environment.LogLevel}))
	return &handler{
		applier: applier, target: written, partial: environment.PartialReplies, log: log, now: time.Now,
		flow: file.Name, targetID: environment.TargetID, waits: waits{},
	}, nil
}
