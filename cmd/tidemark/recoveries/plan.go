package recoveries

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"tidemark/cmd/tidemark/report"
	"tidemark/shared/recovery"
)

// Plan is what a recovery will do.
type Plan struct {
	recovery.Plan

	DryRun bool
}

// Show prints it: on one screen, or for programs when it is all that they asked for.
func (p Plan) Show(out io.Writer, asJSON bool) error {
	switch {
	case asJSON && p.DryRun:
		return report.WriteJSON(out, p.form())
	case asJSON, p.Settled && !p.DryRun:
		return nil // the report says it
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	write := func(form string, args ...any) { _, _ = fmt.Fprintf(table, form+"\n", args...) } // Flush gives the writer's error
	if p.Settled {
		write("recovered already, by run %s in life %s", p.Resumed.RunID, p.Resumed.Lineage)
	} else {
		p.print(write)
	}
	for _, warning := range p.Warnings {
		write("warning: %s", report.OneLine(warning))
	}
	if p.DryRun {
		write("nothing was written: this was a dry run")
	}
	return table.Flush()
}

func (p Plan) print(write func(string, ...any)) {
	tables, rows, bytes := sizes(p.Choice.Body)
	if p.Resumed != nil {
		write("goes on with run %s, life %s, begun %s by %s", p.Resumed.RunID, p.Resumed.Lineage, report.Stamp(p.Resumed.Began),
			report.OneLine(p.Resumed.Actor))
	}
	write("restore manifest %s of %s", p.Choice.Manifest, report.Stamp(p.Choice.Body.Snapshot.Taken))
	write("  %s, %s, %s", report.Count(tables, "table"), report.Count(rows, "row"), report.Size(bytes))
	write("replay about %s of %s; all in %s", report.Count(p.Records(), "record"), report.Count(len(p.Tallies), "partition"), p.estimate())
	const screen = 12
	write("  FLOW\tPARTITION\tFROM\tUNTIL\tRECORDS, ABOUT")
	for _, t := range p.Tallies[:min(len(p.Tallies), screen)] {
		write("  %s\t%s\t%s\t%s\t%d", report.OneLine(t.Flow), t.Partition, t.From, t.Until, t.Records())
	}
	if more := len(p.Tallies) - screen; more > 0 {
		write("  and %s more", report.Count(more, "partition"))
	}
	if n := len(p.Unwritten); n > 0 {
		write("no flow writes %s: restored to the cut, later changes lost%s", report.OneLine(strings.Join(p.Unwritten[:min(n, screen)], ", ")),
			more(n-screen))
	}
	if p.Unsure != "" {
		write("note: %s", report.OneLine(p.Unsure))
	}
	for _, g := range p.Gaps {
		write("gap accepted: %s/%d [%s,%s): %s", report.OneLine(g.Topic), g.Partition, g.From, g.Until, report.OneLine(g.Reason))
	}
	for _, g := range p.Excluded {
		write("left out before: %s/%d [%s,%s): %s", report.OneLine(g.Topic), g.Partition, g.From, g.Until, report.OneLine(g.Reason))
	}
	for _, t := range p.Tallies[:min(len(p.Tallies), screen)] {
		if t.Held != nil {
			write("held behind the end: %s [%s,%s)", t.Partition, t.Until, t.Held.Until)
		}
	}
}
