package listing

import (
	"io"

	"tidemark/cmd/tidemark/report"
	"tidemark/shared/position"
)

// differenceJSON is a difference's form for programs. Its names stay.
type differenceJSON struct {
	From        string            `json:"from"`
	To          string            `json:"to"`
	Tables      []tableJSON       `json:"tables"` // that changed
	Unchanged   int               `json:"tables_unchanged"`
	Objects     objectsJSON       `json:"objects"`
	Cut         []moveJSON        `json:"cut"` // partitions that moved
	Definitions map[string]listed `json:"definitions"`
}

type listed []string

type tableJSON struct {
	Schema string `json:"schema"`
	Name   string `json:"name"`
	Change string `json:"change"` // added, removed, changed
	Rows   int64  `json:"rows,string"`
	Then   int64  `json:"rows_then,string"`
	Fresh  int64  `json:"new_bytes,string"`
}

type objectsJSON struct {
	New         int64 `json:"new"`
	NewBytes    int64 `json:"new_bytes,string"`
	Shared      int64 `json:"shared"`
	SharedBytes int64 `json:"shared_bytes,string"`
	Gone        int64 `json:"gone"`
	GoneBytes   int64 `json:"gone_bytes,string"`
}

type moveJSON struct {
	Flow      string           `json:"flow"`
	Topic     string           `json:"topic"`
	Partition int32            `json:"partition"`
	From      *position.Offset `json:"from,string"` // null: it is not in the first
	To        *position.Offset `json:"to,string"`   // null: it is not in the second
}

// PrintJSON prints it for programs.
func (d Difference) PrintJSON(out io.Writer) error {
	added, removed, changed := d.definitions()
	tables, same := d.tables()
	o := d.objects()
	form := differenceJSON{
		From: d.From.String(), To: d.To.String(), Tables: []tableJSON{}, Unchanged: same, Cut: []moveJSON{},
		Objects: objectsJSON{o.fresh, o.freshBytes, o.shared, o.sharedBytes, o.gone, o.goneBytes},
		Definitions: map[string]listed{
			"added": append(listed{}, added...), "removed": append(listed{}, removed...), "changed": append(listed{}, changed...),
		},
	}
	for _, t := range tables {
		change := "changed"
		switch {
		case !t.before:
			change = "added"
		case !t.after:
			change = "removed"
		}
		form.Tables = append(form.Tables, tableJSON{t.name.Schema, t.name.Name, change, t.rows, t.rowsAfter, t.fresh})
	}
	for _, m := range d.moves() {
		form.Cut = append(form.Cut, moveJSON{m.Flow, m.Topic, m.Partition.Partition, m.from, m.to})
	}
	return report.WriteJSON(out, form)
}
