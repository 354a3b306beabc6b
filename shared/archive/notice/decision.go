package notice

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"tidemark/shared/manifest/document"
	"tidemark/shared/position"
)

// Decision is an operator's act that changes what the log means. It is written before the act is done, and outlives the
// database: a replay that starts below it does it again.
type Decision struct {
	Version   int               `json:"version"`
	TargetID  position.TargetID `json:"target_id"`
	Lineage   position.Lineage  `json:"lineage,string"`
	Number    int64             `json:"number,string"`
	Act       string            `json:"act"` // accept, exclude, discard, retry
	Flow      string            `json:"flow"`
	Topic     string            `json:"topic"`
	TopicID   string            `json:"topic_id,omitzero"`
	Partition int32             `json:"partition"`
	From      position.Offset   `json:"from,string"`
	Until     position.Offset   `json:"until,string"`
	At        position.Offset   `json:"at,string"` // where the partition stood when it was taken
	Actor     string            `json:"actor"`
	Reason    string            `json:"reason"`
	Created   time.Time         `json:"created"`
}

// Validate refuses a decision on nothing, or without a reason.
func (d Decision) Validate() error {
	if !slices.Contains([]string{"accept", "exclude", "discard", "retry"}, d.Act) {
		return fmt.Errorf("act %.50q is none of accept, exclude, discard, retry", d.Act)
	}
	return errors.Join(current(d.Version), d.TargetID.Validate(), d.Lineage.Validate(), because(d.Reason), document.ValidateMoment(d.Created),
		position.Range{From: d.From, Until: d.Until}.Validate(), position.Partition{Topic: d.Topic, Number: d.Partition}.Validate())
}

// Decode reads a notice of the kind of into. Errors: see document.Decode.
func Decode(kind string, encoded []byte, into interface{ Validate() error }) error {
	return document.Decode(kind, MaxSize, encoded, into)
}
