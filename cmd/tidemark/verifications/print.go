package verifications

import (
	"bytes"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tidemark/cmd/tidemark/report"
	"tidemark/shared/verify"
)

// shown is how many problems of a manifest a screen shows.
const shown = 20

func (a *asked) print(cmd *cobra.Command, all findings) error {
	if a.asJSON {
		return all.printJSON(cmd.OutOrStdout())
	}
	var b bytes.Buffer
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	write := func(form string, args ...any) { _, _ = fmt.Fprintf(table, form, args...) } // Flush gives the writer's error
	if len(all.list) > 0 {
		write("MANIFEST\tRUN\tLEVEL\tIN\tFOUND\tREAD\tBYTES\tROWS\tVERDICT\n")
	}
	for _, f := range all.list {
		o := f.outcome
		write("%s/%d\t%s\t%s\t%s\t%d of %d\t%d of %d\t%s\t%d\t%s\n", f.Lineage, f.Seq, f.Run[:8], o.Level, f.places(), o.Found, o.Copies, o.Read,
			o.Copies, report.Size(o.Bytes), o.Rows, f.verdict())
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, f := range all.list {
		f.printRest(&b)
	}
	for _, warning := range all.warnings {
		fmt.Fprintf(&b, "warning: %s\n", report.OneLine(warning))
	}
	_, err := cmd.OutOrStdout().Write(b.Bytes())
	return err
}

func (f finding) places() string {
	var names []string
	for _, place := range f.subject.Places {
		names = append(names, place.Name)
	}
	return report.OrDash(strings.Join(names, "+"))
}

// verdict never says more than was looked at.
func (f finding) verdict() string {
	o := f.outcome
	verdict := string(o.Verdict())
	if n := len(o.Problems); n > 0 {
		verdict += ", " + report.Count(n, "problem")
	}
	if o.Level == verify.Hash && o.Share < verify.All {
		verdict += fmt.Sprintf(", a sample of %s", o.Share)
	}
	return verdict
}
