package recoveries

import (
	"tidemark/shared/apply"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/inspection"
)

// doneForm is a report as programs read it. Its names stay.
type doneForm struct {
	Run      string                       `json:"run"`
	Lineage  string                       `json:"lineage"`
	Manifest string                       `json:"manifest"`
	State    apply.State                  `json:"state"`
	Already  bool                         `json:"already"` // an earlier call had ended
	Rows     int64                        `json:"rows,string"`
	Bytes    int64                        `json:"bytes,string"`
	Replayed map[string]recovery.Replayed `json:"replayed"`
	Gaps     int                          `json:"gaps"`
	Held     []inspection.Held            `json:"held"`
	Restore  float64                      `json:"restore_seconds"`
	Replay   float64                      `json:"replay_seconds"`
	Next     []string                     `json:"next"`
	Warnings []string                     `json:"warnings"`
}

func (o Outcome) form() doneForm {
	return doneForm{
		o.Try.RunID.String(), o.Try.Lineage.String(), o.Try.Base.String(), o.State, o.Plan.Settled, o.Restored.Rows, o.Restored.Bytes, o.Replayed,
		len(o.Try.Accepted), append([]inspection.Held{}, o.held()...), o.Restore.Seconds(), o.Replay.Seconds(),
		append([]string{}, o.Next...), append([]string{}, o.Warnings...),
	}
}
