package verifications

import (
	"bytes"
	"fmt"
	"strings"

	"tidemark/cmd/tidemark/report"
	"tidemark/shared/fault"
	"tidemark/shared/verify"
)

// printRest says what has no room in the table's line.
func (f finding) printRest(b *bytes.Buffer) {
	o := f.outcome
	for i, p := range o.Problems {
		if i == shown {
			fmt.Fprintf(b, "%s: %d more problems; --json shows all\n", f.ID, len(o.Problems)-shown)
			break
		}
		fmt.Fprintf(b, "%s: problem: %s%s\n", f.ID, report.OneLine(p.String()), f.named(p.Table))
	}
	if o.Unread > 0 {
		fmt.Fprintf(b, "%s: %s could not be looked at: %s\n", f.ID, copies(o.Unread), report.OneLine(fault.Line(o.Reason)))
	}
	if o.Level == verify.Hash && o.Share < verify.All {
		fmt.Fprintf(b, "%s: of a sample alone: %s of the objects, seed %016x\n", f.ID, o.Share, o.Seed)
	}
	for _, w := range o.Warnings {
		fmt.Fprintf(b, "%s: warning: table %d%s has no rows, it had %d in the manifest before\n", f.ID, w.Table, f.named(w.Table), w.Had)
	}
	for _, warning := range append(append([]string{}, f.written.Warnings...), f.Ignored...) {
		fmt.Fprintf(b, "%s: warning: %s\n", f.ID, report.OneLine(warning))
	}
	if len(f.written.Places) > 0 {
		fmt.Fprintf(b, "%s: report %s in: %s\n", f.ID, f.written.Key, strings.Join(f.written.Places, ", "))
	}
}

func copies(n int) string {
	if n == 1 {
		return "1 copy"
	}
	return fmt.Sprintf("%d copies", n)
}

// named is the name of a table, for a screen.
func (f finding) named(table int) string {
	if table < 1 || table > len(f.Body.Tables) {
		return ""
	}
	return " (" + report.OneLine(f.Body.Tables[table-1].String()) + ")"
}
