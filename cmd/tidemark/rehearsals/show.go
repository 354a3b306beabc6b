package rehearsals

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"tidemark/cmd/tidemark/report"
	"tidemark/shared/fault"
)

// shown is how many differences a screen shows.
const shown = 20

// show prints what was found, for a screen or for programs.
func (f found) show(out io.Writer, asJSON bool) error {
	if asJSON {
		return report.WriteJSON(out, f.form())
	}
	var page bytes.Buffer
	line := func(form string, args ...any) { fmt.Fprintf(&page, form+"\n", args...) }
	name := "none was chosen"
	if m := f.Plan.Choice.Manifest; m.Seq > 0 {
		name = fmt.Sprintf("%s of %s", m.ID, report.Stamp(f.Plan.Choice.Body.Snapshot.Taken))
	}
	line("rehearsal of manifest %s: %s", name, f.Verdict())
	line("  recovery time   %s: restore %s, replay %s", short(f.Took), short(f.Restore), short(f.Replay))
	if !f.Point.IsZero() {
		line("  recovery point  %s: the newest record is of %s", short(f.Age()), report.Stamp(f.Point))
	}
	line("  restored        %s, %s", report.Count(f.Recovered.Restored.Rows, "row"), report.Size(f.Recovered.Restored.Bytes))
	line("  replayed        %s of %s", report.Count(f.Replayed(), "record"), report.Count(len(f.Recovered.Replayed), "flow"))
	line("  compared        %s with the archive%s", report.Count(f.Compared, "table"), f.beside())
	if missing := f.Missing(); len(missing) > 0 {
		line("  not done        %v", missing)
	}
	for i, d := range f.Differences {
		if i == shown {
			line("%d more differences; --json shows all", len(f.Differences)-shown)
			break
		}
		word := "difference"
		if d.Unwritten {
			word = "warning"
		}
		line("%s: %s", word, report.OneLine(d.String()))
	}
	for _, warning := range append(f.Warnings[:len(f.Warnings):len(f.Warnings)], f.written.Warnings...) {
		line("warning: %s", report.OneLine(warning))
	}
	if len(f.written.Places) > 0 {
		line("report %s in: %s", f.written.Key, strings.Join(f.written.Places, ", "))
	}
	if f.database != "" {
		line("database %s is left as the rehearsal left it", report.OneLine(f.database))
	}
	_, err := out.Write(page.Bytes())
	return err
}

func (f found) beside() string {
	if !f.Compares {
		return ", and with no live target"
	}
	return ", and with the live target as of " + report.Stamp(f.LiveTaken)
}

func short(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

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
