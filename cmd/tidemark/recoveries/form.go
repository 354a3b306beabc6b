package recoveries

import (
	"fmt"
	"time"

	"tidemark/shared/manifest/body"
	"tidemark/shared/position"
)

// plannedForm is a plan as programs read it. Its names stay.
type plannedForm struct {
	Manifest string      `json:"manifest"`
	Tables   int         `json:"tables"`
	Rows     int64       `json:"rows,string"`
	Bytes    int64       `json:"bytes,string"`
	Seconds  float64     `json:"estimated_seconds"`
	Records  int64       `json:"records,string"`
	Resumed  string      `json:"resumed,omitempty"`
	Settled  bool        `json:"settled"`
	Replays  []tallyForm `json:"replays"`
	Gaps     []body.Gap  `json:"gaps"`
	Excluded []body.Gap  `json:"excluded"` // that operators left out before
	// Unwritten are tables that no flow writes.
	Unwritten []string `json:"unwritten"`
	Warnings  []string `json:"warnings"`
}

type tallyForm struct {
	Flow      string          `json:"flow"`
	Topic     string          `json:"topic"`
	Partition int32           `json:"partition"`
	From      position.Offset `json:"from,string"`
	Until     position.Offset `json:"until,string"`
}

func (p Plan) form() plannedForm {
	form := plannedForm{
		Records: p.Records(), Seconds: p.Estimate().Seconds(), Settled: p.Settled, Gaps: append([]body.Gap{}, p.Gaps...), Excluded: append([]body.Gap{}, p.Excluded...), Warnings: append([]string{}, p.Warnings...),
		Unwritten: append([]string{}, p.Unwritten...),
		Replays:   []tallyForm{},
	}
	form.Tables, form.Rows, form.Bytes = sizes(p.Choice.Body)
	if !p.Choice.Manifest.Run.IsZero() {
		form.Manifest = p.Choice.Manifest.String()
	}
	if p.Resumed != nil {
		form.Resumed = p.Resumed.RunID.String()
	}
	for _, t := range p.Tallies {
		form.Replays = append(form.Replays, tallyForm{t.Flow, t.Partition.Topic, t.Partition.Number, t.From, t.Until})
	}
	return form
}

// sizes counts what a base holds, in plain bytes.
func sizes(b body.Body) (tables int, rows, bytes int64) {
	for _, t := range b.Tables {
		rows += t.Rows
		for _, chunk := range t.Chunks {
			bytes += chunk.Object.PlainSize
		}
	}
	return len(b.Tables), rows, bytes
}

// more says how many names were left out.
func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d more)", n)
}

// estimate is how long it takes, for a person.
func (p Plan) estimate() string {
	return "about " + max(time.Second, p.Estimate().Round(time.Second)).String()
}
