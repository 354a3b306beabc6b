package main

import (
	"errors"
	"log/slog"
	"time"

	"tidemark/shared/archive/layout"
	"tidemark/shared/backup"
	"tidemark/shared/manifest"
)

// What became of an invocation that did not fail.
const (
	done         = "done"
	alreadyDone  = "already_done" // an earlier invocation made the backup of this scheduled time
	running      = "running"      // another backup is under way
	continuation = "continuation" // time ran out; the next run finds what was stored
)

// result is the reply.
type result struct {
	Outcome   string         `json:"outcome"`
	Scheduled time.Time      `json:"scheduled_time,omitzero"`
	Manifest  string         `json:"manifest,omitempty"` // its key
	Seq       int64          `json:"seq,omitempty"`
	RunID     manifest.RunID `json:"run_id,omitempty"`
	Copies    int            `json:"copies,omitempty"`
	Tables    int            `json:"tables,omitempty"`
	Rows      int64          `json:"rows"`
	Bytes     int64          `json:"bytes_stored"`
	Stored    int            `json:"objects_stored"`
	Reused    int            `json:"objects_reused"`
	Warnings  []string       `json:"warnings"`
	Why       string         `json:"why,omitempty"` // there is no new manifest
	Seconds   float64        `json:"seconds"`
}

// outcomeOf says what an error of a backup is to the one who scheduled it; nothing for a failure.
func outcomeOf(err error) string {
	switch {
	case err == nil:
		return done
	case errors.Is(err, backup.ErrDone):
		return alreadyDone
	case errors.Is(err, backup.ErrRunning):
		return running
	case errors.Is(err, backup.ErrOutOfTime):
		return continuation
	}
	return ""
}

// resultOf is the reply to a backup that did not fail.
func resultOf(outcome string, made backup.Result, reached backup.Progress, err error) result {
	r := result{
		Outcome: outcome, Rows: reached.Rows, Bytes: reached.StoredBytes, Stored: reached.Stored, Reused: reached.Reused,
		Warnings: append([]string{}, made.Warnings...), Tables: made.Tables, Copies: made.Copies,
	}
	id := made.ID
	if earlier, ok := errors.AsType[*backup.DoneError](err); ok {
		id = layout.ID{Lineage: earlier.Run.Lineage, Seq: earlier.Run.Seq, Run: earlier.Run.RunID}
	}
	if id.Seq > 0 {
		r.Manifest, r.Seq, r.RunID = layout.Manifest(id), id.Seq, id.Run
	}
	if err != nil {
		r.Why = err.Error()
	}
	return r
}

// attributes are what the log says of a reply.
func (r result) attributes() []slog.Attr {
	return []slog.Attr{
		slog.String("outcome", r.Outcome), slog.String("manifest", r.Manifest), slog.Int64("seq", r.Seq),
		slog.String("run_id", r.RunID.String()), slog.Int("copies", r.Copies), slog.Int("tables", r.Tables), slog.Int64("rows", r.Rows),
		slog.Int64("bytes_stored", r.Bytes), slog.Int("objects_stored", r.Stored), slog.Int("objects_reused", r.Reused),
		slog.Float64("seconds", r.Seconds),
	}
}
