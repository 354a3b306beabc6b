package body

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"time"

	"tidemark/shared/manifest"
	"tidemark/shared/manifest/document"
	"tidemark/shared/position"
)

// Cut is the state of the log that the tables correspond to, sorted by flow, topic and partition.
type Cut []Partition

// Partition is where one partition of one flow stands in the snapshot.
type Partition struct {
	Flow        string          `json:"flow"`
	Topic       string          `json:"topic"`
	Partition   int32           `json:"partition"`
	NextOffset  position.Offset `json:"next_offset,string"`
	Generation  int64           `json:"generation,string"`
	TopicID     string          `json:"topic_id,omitzero"`
	LeaderEpoch *int32          `json:"leader_epoch,omitzero"` // of the record before NextOffset
	RecordTime  *time.Time      `json:"record_time,omitzero"`  // the highest applied so far, as document.Moment gives it
	Log         *LogBounds      `json:"log,omitzero"`          // when the brokers were asked
}

// LogBounds are the first offset that the log holds and the one after its last. The partition may stand outside of
// them: then the log had lost records when the backup was made.
type LogBounds struct {
	Start position.Offset `json:"start,string"`
	End   position.Offset `json:"end,string"`
}

// Digest is what a statement says of a cut.
func (c Cut) Digest() (manifest.Digest, error) {
	encoded, err := document.Encode(c)
	if err != nil {
		return "", fmt.Errorf("write cut: %w", err)
	}
	return manifest.DigestOf(encoded), nil
}

// Offsets are the cut's next offsets of one flow.
func (c Cut) Offsets(flow string) position.Cut {
	offsets := position.Cut{}
	for _, p := range c {
		if p.Flow == flow {
			offsets[p.at()] = p.NextOffset
		}
	}
	return offsets
}

// Sort puts the cut into its order.
func (c Cut) Sort() { slices.SortFunc(c, Partition.compare) }

// Validate refuses cuts with impossible or repeated partitions.
func (c Cut) Validate() error {
	for i, p := range c {
		if err := p.validate(); err != nil {
			return fmt.Errorf("partition %s of flow %.80q: %w", p.at(), p.Flow, err)
		}
		if i > 0 && c[i-1].compare(p) >= 0 {
			return fmt.Errorf("partition %s of flow %q stands out of order or twice", p.at(), p.Flow)
		}
	}
	return nil
}

func (p Partition) at() position.Partition {
	return position.Partition{Topic: p.Topic, Number: p.Partition}
}

func (p Partition) compare(other Partition) int {
	return cmp.Or(cmp.Compare(p.Flow, other.Flow), cmp.Compare(p.Topic, other.Topic),
		cmp.Compare(p.Partition, other.Partition))
}

func (p Partition) validate() error {
	if err := validatePlace(p.Flow, p.at()); err != nil {
		return err
	}
	if err := p.NextOffset.Validate(); err != nil {
		return err
	}
	if err := validateOptionalLine(p.TopicID); err != nil {
		return fmt.Errorf("topic id: %w", err)
	}
	switch {
	case p.Generation < 0:
		return fmt.Errorf("generation %d is below 0", p.Generation)
	case p.LeaderEpoch != nil && *p.LeaderEpoch < 0:
		return fmt.Errorf("leader epoch %d is below 0", *p.LeaderEpoch)
	}
	if p.RecordTime != nil {
		if err := document.ValidateMoment(*p.RecordTime); err != nil {
			return err
		}
	}
	if p.Log != nil {
		if err := (position.Range{From: p.Log.Start, Until: p.Log.End}).Validate(); err != nil {
			return fmt.Errorf("log: %w", err)
		}
	}
	return nil
}

// flowPattern is what a flow file may call its flow.
var flowPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

func validatePlace(flow string, at position.Partition) error {
	if !flowPattern.MatchString(flow) {
		return fmt.Errorf("%.80q is no name of a flow", flow)
	}
	return at.Validate()
}
