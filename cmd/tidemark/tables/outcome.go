package tables

import (
	"io"
	"text/tabwriter"

	"tidemark/cmd/tidemark/report"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/extraction"
)

// outcome is what a restore of single tables will do, and what it did.
type outcome struct {
	plan   extraction.Plan
	done   recovery.Restored
	dryRun bool
}

func (e outcome) warnings() []string {
	return append(append([]string{}, e.plan.Warnings...), e.done.Warnings...)
}

// asOf is how old the tables are, said in every form.
const asOf = "as of the cut of manifest %s, taken %s; the log after it is not replayed"

// showPlan prints what will be done, for programs when it is all that they asked for.
func (e outcome) showPlan(out io.Writer, asJSON bool) error {
	if asJSON {
		if e.dryRun {
			return report.WriteJSON(out, e.form())
		}
		return nil // the report says it
	}
	return e.page(out, func(write func(string, ...any)) {
		rows, bytes := e.sizes()
		write("restore %s into a new schema %s", report.Count(len(e.plan.Outline.Tables), "table"), report.OneLine(e.plan.Request.Into))
		write(asOf, e.plan.Choice.Manifest, report.Stamp(e.plan.Choice.Body.Snapshot.Taken))
		write("  %s, %s", report.Count(rows, "row"), report.Size(bytes))
		const screen = 12
		tables := e.plan.Outline.Tables
		for _, t := range tables[:min(len(tables), screen)] {
			write("  %s\t%d", report.OneLine(t.String()), t.Rows)
		}
		if more := len(tables) - screen; more > 0 {
			write("  and %s more", report.Count(more, "table"))
		}
		for _, warning := range e.plan.Warnings {
			write("warning: %s", report.OneLine(warning))
		}
		if e.dryRun {
			write("nothing was written: this was a dry run")
		}
	})
}

// show prints what was done.
func (e outcome) show(out io.Writer, asJSON bool) error {
	if asJSON {
		return report.WriteJSON(out, e.form())
	}
	return e.page(out, func(write func(string, ...any)) {
		write("schema %s has %s, %s", report.OneLine(e.plan.Request.Into), report.Count(len(e.plan.Outline.Tables), "table"),
			report.Count(e.done.Rows, "row"))
		for _, warning := range e.done.Warnings {
			write("warning: %s", report.OneLine(warning))
		}
	})
}

func (e outcome) page(out io.Writer, fill func(write func(string, ...any))) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fill(writeTo(table))
	return table.Flush()
}
