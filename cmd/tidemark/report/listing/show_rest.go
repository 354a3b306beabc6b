package listing

import (
	"fmt"
	"strings"

	"tidemark/cmd/tidemark/report"
	"tidemark/shared/manifest/body"
)

func (m Manifest) printRest(page *page) {
	for i, s := range m.Body.Sequences {
		if i == 0 {
			page.head("SEQUENCE\tAT\tOF")
		}
		owner := "-"
		if s.Column != "" {
			owner = report.OneLine(s.Owner.String() + "." + s.Column)
		}
		page.line("%s\t%d\t%s", report.OneLine(s.String()), s.Last, owner)
	}
	for i, g := range m.Body.Gaps {
		if i == 0 {
			page.head("GAP\tOFFSETS\tHOW\tWHO\tWHEN\tWHY")
		}
		page.line("%s %s/%d\t[%s,%s)\t%s\t%s\t%s\t%s", g.Flow, report.OneLine(g.Topic), g.Partition, g.From, g.Until, report.OneLine(g.How), report.OneLine(g.Actor),
			report.Stamp(g.At), report.OrDash(g.Reason))
	}
	page.head("%s of DDL: %s", report.Count(len(m.Body.Definitions), "definition"), phases(m.Body.Definitions))
	for _, name := range m.Body.Uncaptured {
		page.line("not captured: %s", report.OneLine(name))
	}
	for _, warning := range m.Body.Warnings {
		page.line("warning: %s", report.OneLine(warning))
	}
}

// phases counts definitions by when they run.
func phases(definitions []body.Definition) string {
	var parts []string
	for _, phase := range []body.Phase{body.BeforeData, body.Keys, body.References, body.AfterData} {
		n := 0
		for _, d := range definitions {
			if d.Phase == phase {
				n++
			}
		}
		parts = append(parts, fmt.Sprintf("%d %s", n, phase))
	}
	return strings.Join(parts, ", ")
}
