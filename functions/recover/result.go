package main

import (
	"log/slog"

	"tidemark/shared/apply"
	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/position"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/refusal"
)

// What became of an invocation that did not fail.
const (
	planned   = "planned"   // it was a dry run
	recovered = "recovered" // the target is live, or held when that was asked for
	goOn      = "continue"  // the time ran out; the same event goes on
	refused   = "refused"   // by name; nothing is to be gained by asking again
)

// result is the reply.
type result struct {
	Outcome  string       `json:"outcome"`
	Continue bool         `json:"continue"` // invoke again with the same event
	Plan     *plan        `json:"plan,omitempty"`
	Report   *report      `json:"report,omitempty"`
	Refusal  refusal.Name `json:"refusal,omitempty"`
	Why      string       `json:"why,omitempty"`
	Hint     string       `json:"hint,omitempty"`
	Seconds  float64      `json:"seconds"`
}

// plan is what a recovery will do.
type plan struct {
	Manifest string     `json:"manifest"`
	Resumed  string     `json:"resumed,omitempty"` // the run of an earlier try
	Settled  bool       `json:"settled"`           // that one has ended
	Tables   int        `json:"tables"`
	Rows     int64      `json:"rows"`
	Bytes    int64      `json:"bytes"`
	Records  int64      `json:"records"` // to be replayed, about
	Replays  []replays  `json:"replays"`
	Gaps     []body.Gap `json:"gaps"`
	Excluded []body.Gap `json:"excluded"` // that operators left out before
	Warnings []string   `json:"warnings"`
}

type replays struct {
	Flow      string          `json:"flow"`
	Topic     string          `json:"topic"`
	Partition int32           `json:"partition"`
	From      position.Offset `json:"from"`
	Until     position.Offset `json:"until"`
}

func planOf(p recovery.Plan) *plan {
	form := &plan{
		Settled: p.Settled, Tables: len(p.Choice.Body.Tables), Records: p.Records(), Replays: []replays{},
		Gaps: append([]body.Gap{}, p.Gaps...), Excluded: append([]body.Gap{}, p.Excluded...), Warnings: append([]string{}, p.Warnings...),
	}
	if p.Choice.Manifest.Seq > 0 {
		form.Manifest = p.Choice.Manifest.String()
	}
	if p.Resumed != nil {
		form.Resumed = p.Resumed.RunID.String()
	}
	for _, t := range p.Choice.Body.Tables {
		form.Rows += t.Rows
		for _, c := range t.Chunks {
			form.Bytes += c.Object.PlainSize
		}
	}
	for _, t := range p.Tallies {
		form.Replays = append(form.Replays, replays{t.Flow, t.Partition.Topic, t.Partition.Number, t.From, t.Until})
	}
	return form
}

// report is what one invocation did of a recovery.
type report struct {
	Run      string                       `json:"run"`
	Lineage  string                       `json:"lineage"`
	State    string                       `json:"state"`
	Rows     int64                        `json:"rows"` // that this invocation loaded
	Bytes    int64                        `json:"bytes"`
	Replayed map[string]recovery.Replayed `json:"replayed"` // by this invocation
	Restore  float64                      `json:"restore_seconds"`
	Replay   float64                      `json:"replay_seconds"`
	Held     int                          `json:"held"` // ranges behind the end, until tidemark flow resume
	Warnings []string                     `json:"warnings"`
}

func reportOf(r recovery.Report, state string) *report {
	held := 0
	if state == string(apply.StateHeld) {
		held = len(r.Try.Held)
	}
	return &report{
		Run: r.Try.RunID.String(), Lineage: r.Try.Lineage.String(), State: state, Rows: r.Restored.Rows, Bytes: r.Restored.Bytes,
		Replayed: r.Replayed, Restore: r.Restore.Seconds(), Replay: r.Replay.Seconds(), Held: held,
		Warnings: append([]string{}, r.Warnings...),
	}
}

// refuses makes a reply of a refusal.
func (r *result) refuses(named *refusal.Error, err error) {
	r.Outcome, r.Refusal, r.Why, r.Hint = refused, named.Name, err.Error(), fault.HintOf(err)
}

// attributes are what the log says of a reply.
func (r result) attributes() []slog.Attr {
	all := []slog.Attr{
		slog.String("outcome", r.Outcome), slog.Bool("continue", r.Continue), slog.String("refusal", string(r.Refusal)),
		slog.String("why", r.Why), slog.String("hint", r.Hint), slog.Float64("seconds", r.Seconds),
	}
	if r.Plan != nil {
		all = append(all, slog.String("manifest", r.Plan.Manifest), slog.Int64("rows", r.Plan.Rows), slog.Int64("records", r.Plan.Records),
			slog.Any("warnings", r.Plan.Warnings))
	}
	if r.Report != nil {
		all = append(all, slog.String("run", r.Report.Run), slog.String("lineage", r.Report.Lineage), slog.String("state", r.Report.State),
			slog.Int64("rows_loaded", r.Report.Rows), slog.Any("replayed", r.Report.Replayed))
	}
	return all
}
