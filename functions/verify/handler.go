package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"tidemark/shared/archive/attestation"
	"tidemark/shared/fault"
	"tidemark/shared/verify"
)

// handler turns an invocation into a look at a backup, or a rehearsal, and what was found into a reply. That something is not as
// it was signed is a reply and a line that an alarm counts; an invocation fails when it could not look. What it has not the time
// for it leaves to a process that has, and says by which command: a look that ends half-way proves nothing.
type handler struct {
	log     *slog.Logger
	results *slog.Logger // which no level holds back: alarms count its lines
	archive attestation.Options
	// unpackers give each job of a look its own.
	unpackers func() (verify.Unpacker, error)
	// rehearse rehearses within a time; see rehearsed.
	rehearse func(ctx context.Context, actor string, left time.Duration) (rehearsed, error)
	now      func() time.Time
	name     string // of the function
}

// rehearsed is what came of a rehearsal: a finding, or why it is for a process with more time.
type rehearsed struct {
	Finding  attestation.Finding
	Written  attestation.Written
	Manifest string
	Handover string // why; empty: it was rehearsed
}

// FailedError is what the function fails with: the runtime reports the type's name.
type FailedError struct{ err error }

// Error is class, message and hint in one line.
func (f *FailedError) Error() string { return fault.Line(f.err) }

// Unwrap gives the error.
func (f *FailedError) Unwrap() error { return f.err }

func (h *handler) announce(ctx context.Context) {
	h.log.LogAttrs(ctx, slog.LevelInfo, "verify ready: what was looked at is named, and no sample is called the whole",
		slog.String("version", version), slog.String("target", h.archive.Archive.Target.String()),
		slog.Int("buckets", len(h.archive.Archive.Places)))
}

// reserve is held back before the deadline: for the report, for the reply, and for dropping a scratch database.
const reserve = 45 * time.Second

// unbounded is the time of an invocation without a deadline.
const unbounded = 24 * time.Hour

// Invoke looks once. See lambda.Handler.
func (h *handler) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	begun := h.now()
	asked, err := decodeEvent(payload)
	if err != nil {
		h.log.LogAttrs(ctx, slog.LevelError, "event refused", fault.Attributes(err)...)
		return nil, &FailedError{err}
	}
	reply := result{Level: string(asked.Level), First: []string{}, Warnings: []string{}, Stored: []string{}}
	if asked.Level == verify.Hash {
		reply.Sample = asked.Share.String()
	}
	if err := h.within(ctx, begun, asked, &reply); err != nil {
		h.results.LogAttrs(ctx, slog.LevelError, "verification could not be made",
			append(fault.Attributes(err), slog.String("at_level", reply.Level), slog.Int("failures", 1))...)
		return nil, &FailedError{err}
	}
	reply.Seconds = h.now().Sub(begun).Seconds()
	level := slog.LevelInfo
	switch {
	case reply.Outcome == "failed":
		level = slog.LevelError
	case reply.Outcome != "verified", len(reply.Warnings) > 0:
		level = slog.LevelWarn
	}
	h.results.LogAttrs(ctx, level, "verification done", reply.attributes()...)
	return json.Marshal(reply)
}

// within does what is asked in the time that there is.
func (h *handler) within(ctx context.Context, begun time.Time, asked event, reply *result) error {
	left, work := unbounded, ctx
	if deadline, ok := ctx.Deadline(); ok {
		left = deadline.Sub(begun) - reserve
		var cancel context.CancelFunc
		work, cancel = context.WithDeadline(ctx, deadline.Add(-reserve))
		defer cancel()
	}
	err := h.look(work, asked, left, reply)
	if err != nil && ctx.Err() == nil && errors.Is(work.Err(), context.DeadlineExceeded) {
		reply.Outcome, reply.Handover, reply.Why = handover, asked.command(), "the time ran out: "+err.Error()
		return nil
	}
	return err
}

// look looks at the archive, or rehearses, and says how old what a recovery leans on is.
func (h *handler) look(ctx context.Context, asked event, left time.Duration, reply *result) error {
	if asked.Level != verify.Data {
		return h.check(ctx, asked, left, reply)
	}
	made, err := h.rehearse(ctx, h.actor(ctx), left)
	if err != nil {
		return err
	}
	if reply.Manifest = made.Manifest; made.Handover != "" {
		reply.Outcome, reply.Handover, reply.Why = handover, asked.command(), made.Handover
	} else {
		reply.tell(made.Finding, made.Written)
	}
	return h.age(ctx, reply)
}

// actor is who verifies, for the report.
func (h *handler) actor(ctx context.Context) string {
	actor := "function " + h.name
	if invocation, ok := lambdacontext.FromContext(ctx); ok && invocation.AwsRequestID != "" {
		actor += ", request " + invocation.AwsRequestID
	}
	return actor
}
