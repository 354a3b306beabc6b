package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"tidemark/shared/apply"
	"tidemark/shared/fault"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/refusal"
)

// handler turns an invocation into a slice of a recovery, and what came of it into a reply. A recovery goes on by the same call,
// whatever stopped it: so each slice ends before the deadline and says to go on. A refusal is a reply with its name; an
// invocation fails when something broke, under one name when the same call may go on (RetryableError) and another when a person
// must look (FailedError).
type handler struct {
	log *slog.Logger
	// open puts a recovery together, and gives what closes it.
	open func(ctx context.Context) (opened, error)
	now  func() time.Time
	name string // of the function
}

// opened is a recovery that is put together.
type opened struct {
	Options recovery.Options
	Covers  func(recovery.Plan) error
	Close   func()
}

func (h *handler) announce(ctx context.Context) {
	h.log.LogAttrs(ctx, slog.LevelInfo, "recover ready: nothing is written unless an event says dry_run false", slog.String("version", version))
}

// Invoke runs one slice. See lambda.Handler.
func (h *handler) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	begun := h.now()
	asked, err := decodeEvent(payload)
	if err != nil {
		h.log.LogAttrs(ctx, slog.LevelError, "event refused", fault.Attributes(err)...)
		return nil, &FailedError{err}
	}
	reply, err := h.slice(ctx, begun, asked)
	if named, ok := errors.AsType[*refusal.Error](err); ok && !fault.Is(err, fault.Retryable) {
		reply.refuses(named, err)
		err = nil
	}
	if err != nil {
		h.log.LogAttrs(ctx, slog.LevelError, "recovery stopped", fault.Attributes(err)...)
		if fault.Is(err, fault.Retryable) || fault.Is(err, fault.UnknownOutcome) {
			return nil, &RetryableError{err}
		}
		return nil, &FailedError{err}
	}
	reply.Seconds = h.now().Sub(begun).Seconds()
	level := slog.LevelInfo
	if reply.Outcome == refused {
		level = slog.LevelError
	}
	h.log.LogAttrs(ctx, level, "recovery slice done", reply.attributes()...)
	return json.Marshal(reply)
}

// slice plans, and unless that is all that is asked for, recovers until the time is up.
func (h *handler) slice(ctx context.Context, begun time.Time, asked event) (reply result, err error) {
	made, err := h.open(ctx)
	if err != nil {
		return reply, err
	}
	defer made.Close()
	o := made.Options
	if err := asked.apply(&o); err != nil {
		return reply, fault.New(fault.Bug, "an event that was read: %w", err)
	}
	o.Actor, o.Tool = h.actor(ctx), "tidemark "+version
	work, cancel := until(ctx, begun)
	defer cancel()
	plan, err := recovery.Prepare(work, o)
	reply.Plan = planOf(plan)
	if err == nil {
		err = made.Covers(plan)
	}
	if err != nil || asked.isDry() {
		reply.Outcome = planned
		return reply, err
	}
	seen := &progress{log: h.log, now: h.now, told: begun}
	o.OnRestore = func(done, of int64) { seen.note(ctx, slog.Int64("bytes", done), slog.Int64("of_bytes", of)) }
	o.OnReplay = func(flow string, c recovery.Replayed) {
		seen.note(ctx, slog.String("flow", flow), slog.Int("applied", c.Applied))
	}
	done, err := recovery.Run(work, o)
	state := apply.StateRestoring
	switch {
	case err == nil:
		reply.Outcome, state = recovered, done.State
	case ctx.Err() == nil && errors.Is(work.Err(), context.DeadlineExceeded):
		reply.Outcome, reply.Continue, reply.Why, err = goOn, true, "the time of an invocation ended: "+err.Error(), nil
	}
	if !done.Try.RunID.IsZero() {
		reply.Report = reportOf(done, string(state))
	}
	return reply, err
}

// until ends the work early enough that connections can be closed and the reply written.
func until(ctx context.Context, begun time.Time) (context.Context, context.CancelFunc) {
	const most, share = 45 * time.Second, 5
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, deadline.Add(-min(most, deadline.Sub(begun)/share)))
}

// actor is who recovers, for the target's audit and the life's record.
func (h *handler) actor(ctx context.Context) string {
	actor := "function " + h.name
	if invocation, ok := lambdacontext.FromContext(ctx); ok && invocation.AwsRequestID != "" {
		actor += ", request " + invocation.AwsRequestID
	}
	return actor
}
