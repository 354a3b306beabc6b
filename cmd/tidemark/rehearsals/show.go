package rehearsals

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"tidemark/cmd/tidemark/report"
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
