package main

import (
	"log/slog"
	"time"

	"tidemark/shared/archive/attestation"
	"tidemark/shared/archive/notice/verification"
	"tidemark/shared/manifest"
)

// handover is the outcome of an invocation that leaves the work to a process without a deadline. The others are a report's:
// verified, failed, unfinished.
const handover = "handover"

// result is the reply.
type result struct {
	Outcome  string         `json:"outcome"`
	Handover string         `json:"handover,omitempty"` // the command that does it
	Why      string         `json:"why,omitempty"`
	Manifest string         `json:"manifest,omitempty"`
	RunID    manifest.RunID `json:"run_id,omitempty"`
	Level    string         `json:"level"`
	Sample   string         `json:"sample,omitempty"`
	Seed     string         `json:"seed,omitempty"`

	Looked    verification.Looked     `json:"looked"`
	Problems  int                     `json:"problems"`
	First     []string                `json:"first"` // the first few of them
	Warnings  []string                `json:"warnings"`
	Rehearsal *verification.Rehearsal `json:"rehearsal,omitempty"`
	Report    string                  `json:"report,omitempty"` // its key
	Stored    []string                `json:"report_in"`
	Ages      ages                    `json:"ages"`
	Seconds   float64                 `json:"seconds"`
}

// ages are how old what a recovery leans on is, in seconds. Nil: there is none.
type ages struct {
	Manifest  *int64 `json:"manifest,omitempty"`  // the newest that can be used, from its snapshot on
	Rehearsal *int64 `json:"rehearsal,omitempty"` // the newest rehearsal that found its backup good
}

func secondsSince(then, now time.Time) *int64 { return new(int64(max(0, now.Sub(then)).Seconds())) }

// attributes are what the log says of a reply.
func (r result) attributes() []slog.Attr {
	all := []slog.Attr{
		slog.String("outcome", r.Outcome), slog.String("manifest", r.Manifest), slog.String("run_id", r.RunID.String()),
		slog.String("at_level", r.Level), slog.String("sample", r.Sample), slog.Int64("copies", r.Looked.Copies),
		slog.Int64("copies_found", r.Looked.Found), slog.Int64("copies_read", r.Looked.Read), slog.Int64("bytes_read", r.Looked.Bytes),
		slog.Int("problems", r.Problems), slog.Any("warnings", r.Warnings), slog.String("report", r.Report),
		slog.Int("failures", failures(r)), slog.Float64("seconds", r.Seconds),
	}
	if r.Ages.Manifest != nil {
		all = append(all, slog.Int64("manifest_age_seconds", *r.Ages.Manifest))
	}
	if r.Ages.Rehearsal != nil {
		all = append(all, slog.Int64("rehearsal_age_seconds", *r.Ages.Rehearsal))
	}
	if r.Rehearsal != nil {
		all = append(all, slog.Int64("recovery_time_ms", r.Rehearsal.Took), slog.Int64("recovery_point_ms", r.Rehearsal.Age),
			slog.Int64("differences", r.Rehearsal.Differences))
	}
	if r.Handover != "" {
		all = append(all, slog.String("handover", r.Handover), slog.String("why", r.Why))
	}
	return all
}

// failures is what the alarm counts.
func failures(r result) int {
	if r.Outcome == "failed" {
		return 1
	}
	return 0
}

// tell puts what was found and where its report stands into a reply.
func (r *result) tell(f attestation.Finding, w attestation.Written) {
	r.Outcome, r.Level, r.Seed, r.Looked, r.Rehearsal, r.Why = f.Verdict, f.Level, f.Seed, f.Looked, f.Rehearsal, f.Reason
	r.Problems, r.Warnings = len(f.All.Problems), append(append([]string{}, f.All.Warnings...), w.Warnings...)
	for _, p := range f.All.Problems[:min(len(f.All.Problems), verification.MaxFirst)] {
		r.First = append(r.First, p.Place+" "+p.Key+": "+p.What)
	}
	if r.Stored = append([]string{}, w.Places...); len(w.Places) > 0 {
		r.Report = w.Key
	}
}
