package report

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Plan is what a backup would read, as one snapshot shows it.
type Plan struct {
	Tables     []PlannedTable
	Partitions int // of the cut
	Uncaptured []Uncaptured
	Newest     string // the manifest that it would lean on; empty: none
	Warnings   []string
}

// PlannedTable is how a table would be read.
type PlannedTable struct {
	Schema string `json:"schema"`
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"` // of its pages, about
	Parts  int    `json:"parts"` // about
	How    string `json:"how"`   // key, pages
}

// Uncaptured is what a restore would not bring back.
type Uncaptured struct {
	Name    string `json:"name"`
	Allowed bool   `json:"allowed"`
}

// Print prints it for a screen.
func (p Plan) Print(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	write := func(form string, args ...any) { _, _ = fmt.Fprintf(table, form+"\n", args...) } // Flush gives the writer's error
	write("TABLE\tSIZE\tPARTS, ABOUT\tREAD BY")
	for _, t := range p.Tables {
		write("%s\t%s\t%d\t%s", OneLine(t.Schema+"."+t.Name), Size(t.Bytes), t.Parts, t.How)
	}
	write("\nthe cut has %s", Count(p.Partitions, "partition"))
	if p.Newest == "" {
		write("no manifest is there to lean on: everything would be stored")
	} else {
		write("the newest manifest is %s: what did not change would not be stored again", p.Newest)
	}
	for _, u := range p.Uncaptured {
		allowed := "and would refuse the backup: --allow-uncaptured NAME allows it"
		if u.Allowed {
			allowed = "which is allowed"
		}
		write("not captured, %s: %s", allowed, OneLine(u.Name))
	}
	for _, warning := range p.Warnings {
		write("warning: %s", OneLine(warning))
	}
	write("nothing was written: this was a dry run")
	return table.Flush()
}

// PrintJSON prints it for programs.
func (p Plan) PrintJSON(out io.Writer) error {
	return WriteJSON(out, struct {
		Tables     []PlannedTable `json:"tables"`
		Partitions int            `json:"partitions"`
		Uncaptured []Uncaptured   `json:"uncaptured"`
		Newest     string         `json:"newest,omitempty"`
		Warnings   []string       `json:"warnings"`
	}{append([]PlannedTable{}, p.Tables...), p.Partitions, append([]Uncaptured{}, p.Uncaptured...), p.Newest, append([]string{}, p.Warnings...)})
}
