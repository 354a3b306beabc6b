package tables

import (
	"fmt"
	"io"
)

// form is a restore of single tables as programs read it. Its names stay.
type form struct {
	Manifest string     `json:"manifest"`
	Taken    string     `json:"taken"`
	Replayed bool       `json:"replayed"` // never: the tables are as of the manifest's cut
	Into     string     `json:"into"`
	Written  bool       `json:"written"`
	Tables   []rowsForm `json:"tables"`
	Rows     int64      `json:"rows,string"`
	Bytes    int64      `json:"bytes,string"`
	Warnings []string   `json:"warnings"`
}

type rowsForm struct {
	Schema string `json:"schema"`
	Name   string `json:"name"`
	Rows   int64  `json:"rows,string"`
}

func (e outcome) form() form {
	const stamp = "2006-01-02T15:04:05Z"
	all := form{
		Manifest: e.plan.Choice.Manifest.String(), Taken: e.plan.Choice.Body.Snapshot.Taken.UTC().Format(stamp), Into: e.plan.Request.Into,
		Written: !e.dryRun, Tables: []rowsForm{}, Warnings: e.warnings(),
	}
	all.Rows, all.Bytes = e.sizes()
	for _, t := range e.plan.Outline.Tables {
		all.Tables = append(all.Tables, rowsForm{t.Schema, t.Name.Name, t.Rows})
	}
	return all
}

// sizes counts what the tables hold, in plain bytes.
func (e outcome) sizes() (rows, bytes int64) {
	for _, t := range e.plan.Outline.Tables {
		rows += t.Rows
		for _, chunk := range t.Chunks {
			bytes += chunk.Object.PlainSize
		}
	}
	return rows, bytes
}

// writeTo writes lines; whoever flushes out gets the writer's error.
func writeTo(out io.Writer) func(string, ...any) {
	return func(form string, args ...any) { _, _ = fmt.Fprintf(out, form+"\n", args...) }
}
