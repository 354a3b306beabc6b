package main

import (
	"io"
	"log/slog"
	"time"

	"tidemark/shared/apply"
	"tidemark/shared/change"
	"tidemark/shared/config"
	"tidemark/shared/postgres/target"
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
	flow, err := config.ReadFlow(environment.FlowFile)
	if err != nil {
		return nil, err
	}
	written, err := target.New(target.Options{
		Database: environment.Database.Reveal(), LedgerSchema: environment.LedgerSchema, Flow: flow.Name,
		Route: route(flow.Routes), IgnoreUnknownTables: flow.IgnoreUnknownTables,
		Connections: environment.Connections, ConnectTimeout: environment.ConnectTimeout,
		Unprepared: !environment.PreparedStatements, Now: time.Now,
	})
	if err != nil {
		return nil, err
	}
	own, decoder, err := decoders(written, &flow)
	if err != nil {
		return nil, err
	}
	applier, err := apply.New(written, decoder, apply.Options{
		Flow: flow.Name, TargetID: environment.TargetID, Topics: flow.Topics,
		Decoders: own,
		MaxRows:  flow.MaxTransactionRows, MaxBytes: int(flow.MaxTransactionBytes), Reserve: flow.DeadlineReserve,
		Identity: apply.IdentityOptions(flow.Identity), Now: time.Now,
	})
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: environment.LogLevel}))
	return &handler{
		applier: applier, target: written, partial: environment.PartialReplies, log: log, now: time.Now,
		flow: flow.Name, targetID: environment.TargetID, waits: waits{},
	}, nil
}

// route leads tables as the flow says and leaves the others where they are.
func route(routes []config.Route) func(change.Name) change.Name {
	to := make(map[change.Name]change.Name, len(routes))
	for _, r := range routes {
		to[r.From] = r.To
	}
	return func(n change.Name) change.Name {
		if led, ok := to[n]; ok {
			return led
		}
		return n
	}
}
