package switchover

import (
	"encoding/json"

	"tidemark/shared/fault"
)

// format is the form of a record that this release writes and reads.
const format = 1

// Record says how mappings were found before the first act. It must outlive the process: a mapping that is disabled later on
// does not say who did it.
type Record struct {
	Format   int          `json:"format"`
	Mappings []Remembered `json:"mappings"`
}

// Remembered is a mapping as it was found.
type Remembered struct {
	Flow     string `json:"flow"`
	Function string `json:"function"` // its ARN
	UUID     string `json:"uuid"`
	Topic    string `json:"topic"`
	Group    string `json:"group"`
	Enabled  bool   `json:"enabled"`
}

// Encode is the record as JSON, for the caller to keep.
func (r Record) Encode() (json.RawMessage, error) {
	encoded, err := json.Marshal(r)
	return encoded, fault.Wrap(fault.Bug, err)
}

// ParseRecord reads what Encode wrote; whitespace and the order of members may have changed. Errors: fault.Misconfigured.
func ParseRecord(encoded json.RawMessage) (Record, error) {
	var r Record
	if err := json.Unmarshal(encoded, &r); err != nil {
		return r, fault.New(fault.Misconfigured, "read how the mappings were found: %w", err).WithHint("%s", byHand)
	}
	if r.Format != format {
		return r, fault.New(fault.Misconfigured, "read how the mappings were found: it is in form %d, this release reads %d",
			r.Format, format).WithHint("go on with the release that began this recovery")
	}
	for _, m := range r.Mappings {
		if m.Flow == "" || m.UUID == "" || m.Topic == "" || m.Group == "" {
			return r, fault.New(fault.Misconfigured, "read how the mappings were found: %+v lacks a name", m).WithHint("%s", byHand)
		}
	}
	return r, nil
}

const byHand = "run the same command without --switch: it prints what is to be done by hand"

// uuids lists the mappings of which something is so.
func (r Record) uuids(is func(Remembered) bool) (uuids []string) {
	for _, m := range r.Mappings {
		if is(m) {
			uuids = append(uuids, m.UUID)
		}
	}
	return uuids
}

// name is how errors and reports call a mapping.
func (m Remembered) name() string { return m.UUID + " of topic " + m.Topic }

// named finds a mapping's name.
func (r Record) named(uuid string) string {
	for _, m := range r.Mappings {
		if m.UUID == uuid {
			return m.name()
		}
	}
	return uuid
}
