package report

import (
	"bytes"
	"fmt"
	"io"
	"text/tabwriter"

	"tidemark/shared/health"
)

// Doctor is everything that was found.
type Doctor []health.Finding

// Count is how many findings have a verdict.
func (d Doctor) Count(verdict health.Verdict) (n int) {
	for _, f := range d {
		if f.Verdict == verdict {
			n++
		}
	}
	return n
}

// Print prints it for a screen.
func (d Doctor) Print(out io.Writer) error {
	var b bytes.Buffer
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	write := func(form string, args ...any) { _, _ = fmt.Fprintf(table, form+"\n", args...) } // it writes to memory
	for _, f := range d {
		write("%s\t%s\t%s\t%s", f.Verdict, OneLine(f.About), OneLine(f.Check), OneLine(f.Saw))
		if f.Fix != "" && f.Verdict != health.Fine {
			write("\t\t\tfix: %s", OneLine(f.Fix))
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(&b, "%d ok, %d to look at, %d failed\n", d.Count(health.Fine), d.Count(health.Doubtful), d.Count(health.Failed))
	_, err := out.Write(b.Bytes())
	return err
}

// findingJSON is a finding's form for programs. Its names stay.
type findingJSON struct {
	About   string `json:"about"`
	Check   string `json:"check"`
	Verdict string `json:"verdict"` // ok, warn, FAIL
	Saw     string `json:"saw"`
	Fix     string `json:"fix,omitempty"`
}

// PrintJSON prints it for programs.
func (d Doctor) PrintJSON(out io.Writer) error {
	form := struct {
		Checks []findingJSON `json:"checks"`
		Warned int           `json:"warned"`
		Failed int           `json:"failed"`
	}{[]findingJSON{}, d.Count(health.Doubtful), d.Count(health.Failed)}
	for _, f := range d {
		form.Checks = append(form.Checks, findingJSON{f.About, f.Check, f.Verdict.String(), OneLine(f.Saw), OneLine(f.Fix)})
	}
	return WriteJSON(out, form)
}
