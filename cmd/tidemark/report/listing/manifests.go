package listing

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"tidemark/cmd/tidemark/report"
	"tidemark/shared/position"
)

// Manifests is what an archive lists, the newest first.
type Manifests struct {
	List     []Manifest
	Warnings []string
	Now      time.Time
}

// Print prints it for a screen.
func (m Manifests) Print(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	write := func(form string, args ...any) { _, _ = fmt.Fprintf(table, form, args...) } // Flush gives the writer's error
	write("MANIFEST\tRUN\tAGE\tSIZE\tOBJECTS\tCUT\tLOG\tCOPIES\tVERIFIED\tSTATE\n")
	for _, listed := range m.List {
		bytes, number, cut := "-", "-", "-"
		if listed.IsRead() {
			partitions, sum := listed.cut()
			bytes, number = report.Size(listed.bytes()), fmt.Sprint(len(listed.Objects))
			cut = fmt.Sprintf("%s, sum %s", report.Count(partitions, "partition"), sum)
		}
		write("%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", listed.number(), listed.Run[:8], report.Age(m.Now.Sub(listed.created())), bytes, number, cut,
			listed.Log, listed.places(), listed.attested(m.Now), listed.state())
	}
	for _, line := range m.notes() {
		write("%s\n", line)
	}
	return table.Flush()
}

// manifestJSON is a manifest's form for programs. Its names stay.
type manifestJSON struct {
	Manifest   string          `json:"manifest"`
	Run        string          `json:"run"`
	Created    time.Time       `json:"created"`
	State      string          `json:"state"` // verified, revoked, unusable
	Problem    string          `json:"problem,omitempty"`
	Kept       bool            `json:"kept"`
	Late       bool            `json:"late"`
	Objects    int             `json:"objects"`
	Bytes      int64           `json:"bytes,string"` // stored, of everything that it refers to
	Partitions int             `json:"partitions"`
	CutSum     position.Offset `json:"cut_sum,string"`
	Log        string          `json:"log"`
	LogWhy     string          `json:"log_why,omitempty"` // of any but replayable
	Copies     []copyOfJSON    `json:"copies"`
	Verified   *reportJSON     `json:"verified"` // the newest report; null without one
}

type copyOfJSON struct {
	Place    string    `json:"place"`
	StoredAt time.Time `json:"stored_at"`
	Late     bool      `json:"late"`
}

func (m Manifest) form() manifestJSON {
	form := manifestJSON{
		Manifest: m.number(), Run: m.Run.String(), Created: m.created(), State: m.verdict(), Kept: m.Kept, Late: m.Late(),
		Objects: len(m.Objects), Bytes: m.bytes(), Log: m.Log.String(), LogWhy: m.Log.Why, Copies: []copyOfJSON{},
	}
	form.Partitions, form.CutSum = m.cut()
	form.Verified = m.reportForm()
	if m.Problem != nil {
		form.Problem = report.OneLine(m.Problem.Error())
	}
	for _, c := range m.Copies {
		form.Copies = append(form.Copies, copyOfJSON{c.Place.Name, c.StoredAt.UTC(), c.Late})
	}
	return form
}
