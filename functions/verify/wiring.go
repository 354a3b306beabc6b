package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"tidemark/shared/archive/attestation"
	"tidemark/shared/config"
	"tidemark/shared/fault"
	"tidemark/shared/recovery"
	"tidemark/shared/rehearsal"
	"tidemark/shared/wiring"
	"tidemark/shared/wiring/recovering"
	"tidemark/shared/wiring/rehearsing"
)

// environ is where the variables come from.
type environ func() (lookup func(string) (string, bool), names []string)

// assemble reads the configuration and puts the parts together. It asks a key service for the public halves of its keys, and
// connects to nothing else: the first look does. What a rehearsal needs beside that is read when one is asked for.
//
// Errors: fault.Misconfigured; fault.Retryable when a key service is away.
func assemble(ctx context.Context, out io.Writer) (*handler, error) {
	return assembleFor(ctx, config.OS, out)
}

func assembleFor(ctx context.Context, from environ, out io.Writer) (*handler, error) {
	environment, err := config.LoadArchivist(from())
	if err != nil {
		return nil, err
	}
	h := &handler{
		log:     slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: environment.LogLevel})),
		results: slog.New(slog.NewJSONHandler(out, nil)),
		archive: attestation.Options{Now: time.Now}, now: time.Now, name: lambdacontext.FunctionName,
		rehearse: func(ctx context.Context, actor string, left time.Duration) (rehearsed, error) {
			return rehearseBy(ctx, from, actor, left)
		},
	}
	if h.archive.Archive, err = wiring.OpenArchive(ctx, environment.Archive, environment.TargetID); err != nil {
		return nil, err
	}
	if h.archive.Signers, err = wiring.Signers(ctx, environment.Archive); err != nil {
		return nil, err
	}
	h.unpackers, err = wiring.Unpackers(environment.Archive)
	return h, err
}

// rehearseBy rehearses beside the live target of the environment, if that fits into the time.
func rehearseBy(ctx context.Context, from environ, actor string, left time.Duration) (made rehearsed, err error) {
	if brokers, _ := from(); read(brokers, "TIDEMARK_KAFKA_BROKERS") == "" {
		made.Handover = "the function knows no brokers: TIDEMARK_KAFKA_BROKERS is not set"
		return made, nil
	}
	environment, err := config.LoadRecovery(from())
	if err != nil {
		return made, err
	}
	log, err := recovering.OpenLog(ctx, &environment.Kafka, time.Now)
	if err != nil {
		return made, err
	}
	defer log.Close()
	request := rehearsing.Request{Jobs: 2, Actor: actor, Tool: "tidemark " + version, Now: time.Now, DryRun: true}
	planned, err := rehearsing.Open(ctx, &environment, log, request)
	if err != nil {
		return made, err
	}
	plan, err := rehearsal.Prepare(ctx, planned.Options)
	_ = planned.Close(ctx) // a plan leaves nothing to drop
	if plan.Choice.Manifest.Seq > 0 {
		made.Manifest = plan.Choice.Manifest.String()
	}
	switch takes := estimate(plan); {
	case fault.Is(err, fault.Gap), fault.Is(err, fault.Corrupt): // a rehearsal finds it too, and signs that
	case err != nil:
		return made, err
	case takes > left:
		made.Handover = fmt.Sprintf("it takes about %s, and %s are left", takes.Round(time.Second), left.Round(time.Second))
		return made, nil
	}
	request.DryRun = false
	return made, made.run(ctx, &environment, log, request)
}

// run rehearses, and signs what was found.
func (made *rehearsed) run(ctx context.Context, c *config.Recovery, log recovery.Log, request rehearsing.Request) (err error) {
	r, err := rehearsing.Open(ctx, c, log, request)
	if err != nil {
		return err
	}
	defer func() {
		if failed := r.Close(ctx); failed != nil {
			made.Written.Warnings = append(made.Written.Warnings, failed.Error())
		}
	}()
	outcome, err := rehearsal.Run(ctx, r.Options)
	if outcome.Verdict() == "unfinished" {
		return err
	}
	made.Finding = rehearsing.Finding(outcome)
	made.Finding.All.Warnings = append(made.Finding.All.Warnings, outcome.Warnings...)
	made.Written, err = r.Attest(ctx, outcome)
	return err
}

// What a small function gets done in a second, at the least.
const (
	restoreRate = 8 << 20 // plain bytes, with the keys built and all of it counted twice
	replayRate  = 1000    // records
)

// estimate is how long a rehearsal takes.
func estimate(plan recovery.Plan) time.Duration {
	bytes := int64(0)
	for _, t := range plan.Choice.Body.Tables {
		for _, c := range t.Chunks {
			bytes += c.Object.PlainSize
		}
	}
	const own = 20 * time.Second // of making databases and asking brokers
	return own + time.Duration(bytes/restoreRate+plan.Records()/replayRate)*time.Second
}

func read(lookup func(string) (string, bool), name string) string {
	value, _ := lookup(name)
	return value
}
