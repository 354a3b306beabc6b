package listing

import (
	"bytes"
	"fmt"
	"io"
	"text/tabwriter"

	"tidemark/cmd/tidemark/report"
	"tidemark/shared/position"
)

// Print prints it for a screen.
func (d Difference) Print(out io.Writer) error {
	var b bytes.Buffer
	page := &page{tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)}
	page.line("from\t%s, %s", d.From.ID, report.Stamp(d.From.created()))
	page.line("to\t%s, %s", d.To.ID, report.Stamp(d.To.created()))
	tables, same := d.tables()
	page.head("TABLE\tROWS\tTHEN\tSTORED ANEW")
	for _, t := range tables {
		then := fmt.Sprint(t.rowsAfter)
		switch {
		case !t.before:
			then += ", added"
		case !t.after:
			then = "removed"
		}
		page.line("%s\t%d\t%s\t%s", report.OneLine(t.name.String()), t.rows, then, report.Size(t.fresh))
	}
	page.line("%s unchanged", report.Count(same, "table"))
	objects := d.objects()
	page.head("objects: %d new (%s), %d shared (%s), %d no longer used (%s)", objects.fresh, report.Size(objects.freshBytes), objects.shared,
		report.Size(objects.sharedBytes), objects.gone, report.Size(objects.goneBytes))
	d.printCut(page)
	added, removed, changed := d.definitions()
	page.head("definitions: %d added, %d removed, %d changed", len(added), len(removed), len(changed))
	for _, part := range []struct {
		how  string
		list []string
	}{{"added", added}, {"removed", removed}, {"changed", changed}} {
		for _, name := range part.list {
			page.line("%s %s", part.how, report.OneLine(name))
		}
	}
	if err := page.table.Flush(); err != nil {
		return err
	}
	_, err := out.Write(b.Bytes())
	return err
}

func (d Difference) printCut(page *page) {
	moves := d.moves()
	if len(moves) == 0 {
		page.head("the cut is the same")
		return
	}
	page.head("FLOW\tPARTITION\tFROM\tTO\tRECORDS")
	for _, m := range moves {
		records := "-"
		if m.from != nil && m.to != nil {
			records = fmt.Sprintf("%+d", int64(*m.to)-int64(*m.from))
		}
		page.line("%s\t%s/%d\t%s\t%s\t%s", m.Flow, report.OneLine(m.Topic), m.Partition.Partition, offset(m.from), offset(m.to), records)
	}
}

func offset(at *position.Offset) string {
	if at == nil {
		return "-"
	}
	return at.String()
}
