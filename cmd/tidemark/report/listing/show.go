package listing

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"tidemark/cmd/tidemark/report"
)

// Print prints everything that a person wants to know of a manifest.
func (m Manifest) Print(out io.Writer) error {
	var b bytes.Buffer
	page := &page{tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)}
	page.line("manifest\t%s", m.ID)
	page.line("state\t%s", m.state())
	if m.Problem != nil {
		page.line("problem\t%s", report.OneLine(m.Problem.Error()))
	}
	for _, c := range m.Copies {
		late := ""
		if c.Late {
			late = ", more than 12 hours after its run began"
		}
		page.line("copy\t%s, stored %s%s", c.Place.Name, report.Stamp(c.StoredAt), late)
	}
	m.printStatement(page)
	if m.IsRead() {
		m.printSnapshot(page)
		m.printTables(page)
		m.printRest(page)
	}
	if err := page.table.Flush(); err != nil {
		return err
	}
	_, err := out.Write(b.Bytes())
	return err
}

// page collects lines; what stands before a tab is brought under one another.
type page struct{ table *tabwriter.Writer }

func (p *page) line(form string, args ...any) {
	_, _ = fmt.Fprintf(p.table, form+"\n", args...) // it writes to memory
}

// head begins a part of its own: an empty line ends the columns of the one before.
func (p *page) head(form string, args ...any) { p.line("\n"+form, args...) }

func (m Manifest) printStatement(page *page) {
	s := m.Statement
	if s.Seq == 0 {
		return
	}
	page.line("created\t%s", report.Stamp(s.Created))
	page.line("target\t%s, life %s, incarnation %s", s.TargetID, s.Lineage, s.Incarnation)
	page.line("tool\t%s", report.OneLine(s.Tool))
	page.line("statement\t%s", m.Digest)
	if s.Previous.Seq > 0 {
		page.line("previous\t%s/%d %s", s.Previous.Lineage, s.Previous.Seq, s.Previous.Digest)
	}
}

// joined is a list of names in one cell.
func joined(names []string) string {
	safe := make([]string, len(names))
	for i, name := range names {
		safe[i] = report.OneLine(name)
	}
	return strings.Join(safe, ", ")
}
