package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"tidemark/shared/backup"
	"tidemark/shared/fault"
)

// handler turns an invocation into a backup and what came of it into a reply. A backup that somebody else makes, or has
// made, is a success: whoever invoked this has nothing to do. So is one that ran out of time, since the next run goes on
// where it ended; that no manifest comes is for the alarm on their age to tell.
type handler struct {
	logs

	options backup.Options // of every backup
	now     func() time.Time
	name    string // of the function
	// unfinished counts the backups in a row that ran out of time, as far as this process knows.
	unfinished int
}

// logs is where lines go. The line of a manifest goes to results, which no level holds back: an alarm counts it.
type logs struct{ log, results *slog.Logger }

// FailedError is what the function fails with: the runtime reports the type's name.
type FailedError struct{ err error }

// Error is class, message and hint in one line.
func (f *FailedError) Error() string { return fault.Line(f.err) }

// Unwrap gives the error.
func (f *FailedError) Unwrap() error { return f.err }

func (h *handler) announce(ctx context.Context) {
	h.log.LogAttrs(ctx, slog.LevelInfo, "backup ready: rows and their cut are of one snapshot, and a manifest is listed when all of it is stored",
		slog.String("version", version), slog.String("target", h.options.Writer.Archive.Target.String()),
		slog.Int("jobs", h.options.Jobs), slog.Int("buckets", len(h.options.Writer.Archive.Places)))
}

// Invoke makes one backup. See lambda.Handler.
func (h *handler) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	begun := h.now()
	asked, err := decodeEvent(payload)
	if err != nil {
		h.log.LogAttrs(ctx, slog.LevelError, "event refused", fault.Attributes(err)...)
		return nil, &FailedError{err}
	}
	to := logs{asked.on(h.log), asked.on(h.results)}
	seen := &progress{log: to.log, now: h.now, told: begun}
	options := h.options
	options.Scheduled, options.Actor = asked.Scheduled, h.actor(ctx)
	options.Deadline, _ = ctx.Deadline()
	options.OnProgress = func(p backup.Progress) { seen.note(ctx, p) }
	made, err := run(ctx, begun, options)
	outcome := outcomeOf(err)
	if outcome == "" {
		err = inVariables(err)
		to.log.LogAttrs(ctx, slog.LevelError, "backup failed", fault.Attributes(err)...)
		return nil, &FailedError{err}
	}
	reply := resultOf(outcome, made, seen.last, err)
	reply.Scheduled, reply.Seconds = asked.Scheduled, h.now().Sub(begun).Seconds()
	h.report(ctx, to, reply, err)
	return json.Marshal(reply)
}

// run makes a backup that ends early enough that its end can still be written down, logged and answered: at the deadline
// itself the process is killed. One that was ended so ran out of time, whatever it was doing.
func run(ctx context.Context, begun time.Time, options backup.Options) (backup.Result, error) {
	const most, share = 15 * time.Second, 20
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-min(most, deadline.Sub(begun)/share)))
		defer cancel()
	}
	made, err := backup.Run(ctx, options)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) && !fault.Is(err, fault.UnknownOutcome) {
		err = fault.New(fault.Retryable, "%w: %w", backup.ErrOutOfTime, err)
	}
	return made, err
}

// inVariables says of a refusal with which variable a function is told otherwise.
func inVariables(err error) error {
	if errors.Is(err, backup.ErrUncaptured) {
		return fault.New(fault.ClassOf(err), "%w", err).
			WithHint("remove it from the database, or say of each that it may be missing: name it in TIDEMARK_ALLOW_UNCAPTURED")
	}
	return err
}

// actor is who backs up, for the target's record and the archive's.
func (h *handler) actor(ctx context.Context) string {
	actor := "function " + h.name
	if invocation, ok := lambdacontext.FromContext(ctx); ok && invocation.AwsRequestID != "" {
		actor += ", request " + invocation.AwsRequestID
	}
	return actor
}

// report writes the one line that a backup leaves in the log.
func (h *handler) report(ctx context.Context, to logs, r result, why error) {
	attributes := r.attributes()
	if why != nil {
		attributes = append(attributes, fault.Attributes(why)...)
	}
	if r.Outcome != continuation {
		h.unfinished = 0
	}
	switch r.Outcome {
	case done:
		level := slog.LevelInfo
		if len(r.Warnings) > 0 {
			level = slog.LevelWarn
		}
		to.results.LogAttrs(ctx, level, "backup done", append(attributes, slog.Any("warnings", r.Warnings))...)
	case alreadyDone:
		to.log.LogAttrs(ctx, slog.LevelInfo, "this scheduled time has its backup", attributes...)
	case running:
		to.log.LogAttrs(ctx, slog.LevelWarn, "another backup is running", attributes...)
	case continuation:
		h.unfinished++
		to.log.LogAttrs(ctx, slog.LevelWarn, "backup unfinished: the next run goes on", append(attributes,
			slog.Int("in_a_row", h.unfinished), slog.String("advice", advice(h.unfinished)))...)
	}
}

// advice is what to do about so many backups in a row that ran out of time.
func advice(unfinished int) string {
	if unfinished < 2 { //nolint:mnd // the first may have met a slow hour
		return "nothing: what was stored is not stored again"
	}
	return fmt.Sprintf("%d in a row: give the function more memory and TIDEMARK_BACKUP_JOBS, or run tidemark backup in a container, "+
		"which has no deadline", unfinished)
}
