// Package report owns how what was done to an archive is shown: as a table that fits a screen, and as JSON for programs,
// whose names stay as they are. It decides nothing and judges nothing. No state.
package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"tidemark/shared/expiry"
)

// Expiry prints the report of an expiry for a screen.
func Expiry(out io.Writer, report expiry.Report) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	write := func(form string, args ...any) { _, _ = fmt.Fprintf(table, form, args...) } // Flush gives the writer's error
	write("MANIFEST\tRUN\tCREATED\tSTATE\tTHEN\tBECAUSE\n")
	for _, d := range report.Decisions {
		m, then := d.Manifest, "expire"
		if d.Keep {
			then = "keep"
		}
		write("%s/%d\t%s\t%s\t%s\t%s\t%s\n", m.Lineage, m.Seq, m.RunID, m.Created.UTC().Format("2006-01-02 15:04"), state(d), then,
			strings.Join(reasons(d), ", "))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, d := range report.Decisions {
		if d.Problem != "" {
			write("%s/%d: %s\n", d.Manifest.Lineage, d.Manifest.Seq, OneLine(d.Problem))
		}
	}
	for _, id := range report.Locked {
		write("locked %s: its statement stays until its lock ends\n", id)
	}
	for _, swept := range report.Sweeps {
		write("%s\n", describeSweep(swept, report.Confirmed))
	}
	for _, warning := range report.Warnings {
		write("warning: %s\n", OneLine(warning))
	}
	if !report.Confirmed {
		write("nothing was changed: this was a dry run; tidemark expire --confirm does it, and an expired manifest does not come back\n")
	}
	return table.Flush()
}

// state is what a manifest was found to be.
func state(d expiry.Decision) string {
	switch {
	case d.Manifest.Revoked:
		return "revoked"
	case d.Manifest.Verified:
		return "verified"
	}
	return "unusable"
}

func reasons(d expiry.Decision) []string {
	list := make([]string, 0, len(d.Reasons))
	for _, reason := range d.Reasons {
		list = append(list, reason.String())
	}
	return list
}

// describeSweep says what becomes of the objects of one place.
func describeSweep(s expiry.SweepReport, confirmed bool) string {
	if !confirmed {
		return fmt.Sprintf("%s: a sweep would name %s that nothing refers to, %s; %d under way", s.Place, objects(len(s.Named)),
			Size(s.Bytes), s.Waiting)
	}
	return fmt.Sprintf("%s: named %s, %s, to go in a day (%s); removed %s, spared %d that are needed again, %d locked; %d sweeps wait",
		s.Place, objects(len(s.Named)), Size(s.Bytes), expiry.Grace.Truncate(time.Hour), objects(len(s.Removed)), len(s.Spared),
		len(s.Locked), s.Waiting)
}
