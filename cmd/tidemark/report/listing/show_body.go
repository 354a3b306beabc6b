package listing

import (
	"fmt"

	"tidemark/cmd/tidemark/report"
)

func (m Manifest) printSnapshot(page *page) {
	s, store := m.Body.Snapshot, m.Body.Store
	page.line("database\t%s of cluster %s, server %d, %s, %s", report.OneLine(s.Database), report.OneLine(s.SystemIdentifier), s.ServerVersion, report.OneLine(s.Encoding),
		report.OrDash(s.Collation))
	page.line("snapshot\ttaken %s at %s, ledger version %d in schema %s", report.Stamp(s.Taken), report.OneLine(s.LSN), s.LedgerVersion, report.OneLine(s.LedgerSchema))
	held := "the store refused a second write"
	if !store.CreateOnly {
		held = "THE STORE OVERWRITES"
	}
	if store.Encryption != "" {
		held += ", encrypted there by " + report.OneLine(store.Encryption)
	}
	if store.Recipients > 0 {
		held += ", encrypted here to " + report.Count(store.Recipients, "recipient")
	}
	if !store.LockedUntil.IsZero() {
		held += ", locked until " + report.Stamp(store.LockedUntil)
	}
	page.line("store\t%s", held)
	page.line("objects\t%d, %s stored", len(m.Objects), report.Size(m.bytes()))
	page.head("FLOW\tPARTITION\tNEXT OFFSET\tGENERATION\tNEWEST RECORD\tLOG")
	for _, p := range m.Body.Cut {
		newest, log := "-", string(UnknownLog)
		if p.RecordTime != nil {
			newest = report.Stamp(*p.RecordTime)
		}
		if p.Log != nil {
			log = fmt.Sprintf("[%s,%s) when it was made", p.Log.Start, p.Log.End)
		}
		page.line("%s\t%s/%d\t%s\t%d\t%s\t%s", p.Flow, report.OneLine(p.Topic), p.Partition, p.NextOffset, p.Generation, newest, log)
	}
}

func (m Manifest) printTables(page *page) {
	page.head("TABLE\tROWS\tCHUNKS\tSTORED\tKEY")
	for _, t := range m.Body.Tables {
		var stored int64
		for _, c := range t.Chunks {
			stored += c.Object.Size
		}
		key := "none: read by its pages"
		if len(t.Key) > 0 {
			key = joined(t.Key)
		}
		page.line("%s\t%d\t%d\t%s\t%s", report.OneLine(t.String()), t.Rows, len(t.Chunks), report.Size(stored), key)
	}
}
