package main

import (
	"context"
	"log/slog"
	"time"

	"tidemark/shared/apply"
	"tidemark/shared/fault"
	"tidemark/shared/kafkaevent"
	"tidemark/shared/position"
	"tidemark/shared/postgres/target"
)

// handler turns an invocation into a batch, a batch into an outcome and an outcome into a reply. Whatever is not success
// is reported unapplied: a success makes the event source commit its offsets.
type handler struct {
	applier  *apply.Applier
	target   *target.Target
	partial  bool // the event source mapping says ReportBatchItemFailures
	log      *slog.Logger
	now      func() time.Time
	flow     string
	targetID position.TargetID
	waits    waits
}

// UnappliedError is what the function fails with: the runtime reports the type's name, so that one alarm fits all.
type UnappliedError struct{ err error }

// Error is class, message and hint in one line.
func (u *UnappliedError) Error() string { return fault.Line(u.err) }

// Unwrap gives the error.
func (u *UnappliedError) Unwrap() error { return u.err }

func (h *handler) announce(ctx context.Context) {
	h.log.LogAttrs(ctx, slog.LevelInfo, "apply ready: each record's rows, its dedup and its position commit in one transaction",
		slog.String("version", version), slog.String("flow", h.flow), slog.String("target", h.targetID.String()),
		slog.Bool("partial_replies", h.partial))
}

// Invoke applies one event. See lambda.Handler.
//
// An event that contradicts itself about positions is applied as far as it can be placed and then answered with an
// error, never with a list: a list names positions, and those are in doubt. All of it comes again and what is applied is
// skipped.
func (h *handler) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	start := h.now()
	batch, doubt := kafkaevent.Decode(payload)
	if doubt != nil {
		h.log.LogAttrs(ctx, slog.LevelError, "event refused", fault.Attributes(doubt)...)
	}
	if len(batch) == 0 && doubt != nil {
		return nil, &UnappliedError{doubt}
	}
	applying, cancel := withinReply(ctx, start)
	defer cancel()
	outcome, err := h.applier.Apply(applying, batch)
	for i := range outcome.Partitions {
		h.report(ctx, &outcome.Partitions[i], h.now().Sub(start))
	}
	switch next := outcome.Next(); {
	case doubt != nil:
		return nil, &UnappliedError{doubt}
	case err != nil && (!h.partial || kafkaevent.NoneApplied(batch, next)):
		return nil, &UnappliedError{err}
	default:
		return kafkaevent.Reply(batch, next), nil
	}
}

// withinReply ends ctx early enough that what happened can still be logged and answered: at the deadline itself the
// process is killed.
func withinReply(ctx context.Context, start time.Time) (context.Context, context.CancelFunc) {
	const most, share = 500 * time.Millisecond, 20
	deadline, ok := ctx.Deadline()
	if !ok {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, deadline.Add(-min(most, deadline.Sub(start)/share)))
}

// report writes the one line that a run of a batch leaves in the log. It holds positions and counts, never payload.
func (h *handler) report(ctx context.Context, p *apply.PartitionOutcome, took time.Duration) {
	attributes := []slog.Attr{
		slog.String("flow", h.flow), slog.String("topic", p.Partition.Topic), slog.Int64("partition", int64(p.Partition.Number)),
		slog.Int64("next_offset", int64(p.Next)), slog.Int("applied", p.Applied), slog.Int("skipped", p.Skipped),
		slog.Int("absorbed", p.Absorbed),
		slog.Int64("duration_ms", took.Milliseconds()),
	}
	waitsLong := h.waits.note(p, h.now())
	if p.Err == nil {
		h.log.LogAttrs(ctx, slog.LevelInfo, "batch applied", attributes...)
		return
	}
	h.log.LogAttrs(ctx, levelOf(p.Err, waitsLong), "batch stopped", append(attributes, fault.Attributes(p.Err)...)...)
}
