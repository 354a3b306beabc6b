package rehearsals

import (
	"fmt"
	"time"

	"tidemark/cmd/tidemark/report"
	"tidemark/shared/fault"
)

// form is a rehearsal's form for programs. Its names stay.
type form struct {
	Manifest    string    `json:"manifest"`
	Run         string    `json:"run"`
	Verdict     string    `json:"verdict"` // verified, failed, unfinished
	Begun       time.Time `json:"begun"`
	Ended       time.Time `json:"ended"`
	Took        float64   `json:"recovery_seconds"`
	Restore     float64   `json:"restore_seconds"`
	Replay      float64   `json:"replay_seconds"`
	Point       time.Time `json:"recovery_point,omitzero"`
	Age         float64   `json:"recovery_point_seconds"`
	Rows        int64     `json:"rows,string"`
	Bytes       int64     `json:"bytes,string"`
	Replayed    int64     `json:"replayed,string"`
	Compared    int       `json:"compared"`
	Live        bool      `json:"live"`
	Root        string    `json:"tables_root,omitempty"`
	Cut         string    `json:"cut,omitempty"` // its digest
	Phases      []string  `json:"phases"`
	Differences []string  `json:"differences"`
	Warnings    []string  `json:"warnings"`
	Stopped     string    `json:"stopped,omitempty"`
	Report      string    `json:"report,omitempty"`
	Stored      []string  `json:"report_in"`
	Database    string    `json:"database,omitempty"` // that is left
}

func (f found) form() form {
	out := form{
		Verdict: string(f.Verdict()), Begun: f.Begun.UTC(), Ended: f.Ended.UTC(), Took: f.Took.Seconds(), Restore: f.Restore.Seconds(),
		Replay: f.Replay.Seconds(), Point: f.Point.UTC(), Age: f.Age().Seconds(), Rows: f.Recovered.Restored.Rows,
		Bytes: f.Recovered.Restored.Bytes, Replayed: f.Replayed(), Compared: f.Compared, Live: f.Compares, Cut: f.CutDigest().String(),
		Phases: []string{}, Differences: []string{}, Warnings: append([]string{}, f.Warnings...), Stored: append([]string{}, f.written.Places...),
		Database: f.database,
	}
	if m := f.Plan.Choice.Manifest; m.Seq > 0 {
		out.Manifest, out.Run = fmt.Sprintf("%s/%d", m.Lineage, m.Seq), m.Run.String()
	}
	if len(f.Tables) > 0 {
		out.Root = f.Tables.Root().String()
	}
	for _, phase := range f.Phases {
		out.Phases = append(out.Phases, string(phase))
	}
	for _, d := range f.Differences {
		if d.Unwritten {
			out.Warnings = append(out.Warnings, d.String())
		} else {
			out.Differences = append(out.Differences, d.String())
		}
	}
	out.Warnings = append(out.Warnings, f.written.Warnings...)
	if f.Stopped != nil {
		out.Stopped = report.OneLine(fault.Line(f.Stopped))
	}
	if len(f.written.Places) > 0 {
		out.Report = f.written.Key
	}
	return out
}
