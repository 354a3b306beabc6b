// Package result owns what a run of the benchmark leaves behind: one JSON document, from which the page is made.
//
// Every measured figure is a Spread over the run's rounds. It does no measuring and judges nothing.
package result

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// Results is one run.
type Results struct {
	Machine Machine `json:"machine"`
	Inputs  []Input `json:"inputs"`
	// Cells are the ways to apply, each beside COPY.
	Cells  []Cell  `json:"cells"`
	Stages []Stage `json:"stages"`
	Memory Memory  `json:"memory"`
	Start  Start   `json:"start"`
	// Backup is absent until it was measured once.
	Backup *Backup `json:"backup,omitempty"`
	// Recovery is absent until it was measured once.
	Recovery *Recovery `json:"recovery,omitempty"`
}

// Machine says where and how the run was made.
type Machine struct {
	Commit     string `json:"commit"`
	Date       string `json:"date"`
	Go         string `json:"go"`
	PostgreSQL string `json:"postgresql"`
	Pgx        string `json:"pgx"`
	Platform   string `json:"platform"`
	Cores      int    `json:"cores"`
	Seed       uint64 `json:"seed"`
	Rounds     int    `json:"rounds"`
	// Short says that the run was cut to show that it works; its figures are worth little.
	Short bool `json:"short"`
}

// Input is what one workload's stream looks like.
type Input struct {
	Workload    string  `json:"workload"`
	RowBytes    float64 `json:"row_bytes"`   // the row as JSON, mean
	ValueBytes  float64 `json:"value_bytes"` // of values that are not tombstones, mean
	Inserts     float64 `json:"inserts"`     // share of the records, as are the next three
	Updates     float64 `json:"updates"`
	Deletes     float64 `json:"deletes"`
	Tombstones  float64 `json:"tombstones"`
	KeysARecord float64 `json:"keys_a_record"` // size of the space of keys; 0 where keys only ascend
}

// Cell is one workload in one size of transaction, applied and copied in turns.
type Cell struct {
	Workload string `json:"workload"`
	// Events says that apply began with the bytes of an invocation's event.
	Events bool `json:"events"`
	Batch  int  `json:"batch"` // records a transaction
	// Records is the number of records that a round applied, and of rows that it copied.
	Records int    `json:"records"`
	Apply   Side   `json:"apply"`
	Copy    Side   `json:"copy"`
	Ratio   Spread `json:"ratio"` // apply's rate by COPY's, round by round
}

// Side is one of the two things that are compared. CPU is in seconds for a million records.
type Side struct {
	Rate        Spread  `json:"rate"` // records a second
	ClientCPU   Spread  `json:"client_cpu"`
	ServerCPU   *Spread `json:"server_cpu,omitempty"` // of all the server's processes; absent where it cannot be read
	Allocations Spread  `json:"allocations"`          // a record
	Bytes       Spread  `json:"bytes"`                // allocated, a record
}

// The stages of apply that need no database.
const (
	StageEvent  = "event"  // an event's bytes to a batch
	StageDecode = "decode" // a batch's records to changes
	StageGroup  = "group"  // decode, and changes to groups of net effects: all of apply but its database
)

// Stage is a part of apply, measured alone.
type Stage struct {
	Stage       string `json:"stage"`
	Workload    string `json:"workload"`
	Batch       int    `json:"batch"`
	Nanoseconds Spread `json:"nanoseconds"` // a record, as are the next two
	Allocations Spread `json:"allocations"`
	Bytes       Spread `json:"bytes"`
}

// Memory is the peak resident memory of processes that end after their work, in MB (10^6 bytes).
type Memory struct {
	Batch   int     `json:"batch"`
	Records int     `json:"records"` // of the single input
	Idle    *Spread `json:"idle,omitempty"`
	Once    *Spread `json:"once,omitempty"`
	Tenfold *Spread `json:"tenfold,omitempty"`
}

// Start is the apply binary under the runtime API.
type Start struct {
	BinaryMB float64 `json:"binary_mb"` // 10^6 bytes
	Starts   int     `json:"starts"`
	// Milliseconds from the start of the process to the first invocation's being handed to it, and to its reply.
	Handler Spread `json:"handler"`
	Reply   Spread `json:"reply"`
	// EventMB and EventRecords are the size of the large event; Resident is the process's peak behind it, in MB.
	EventMB      float64 `json:"event_mb"`
	EventRecords int     `json:"event_records"`
	Resident     *Spread `json:"resident,omitempty"`
}

// Spread is the middle and the ends of what the rounds gave.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// SpreadOf sorts out values; there must be one.
func SpreadOf(values []float64) Spread {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	median := sorted[middle]
	if len(sorted)%2 == 0 {
		median = (sorted[middle-1] + sorted[middle]) / 2
	}
	return Spread{Median: Round(median), Min: Round(sorted[0]), Max: Round(sorted[len(sorted)-1])}
}

// Round keeps four digits: more are noise.
func Round(value float64) float64 {
	if value == 0 {
		return 0
	}
	unit := math.Pow10(int(math.Floor(math.Log10(math.Abs(value)))) - 3)
	if unit < 1 {
		return math.Round(value*math.Round(1/unit)) / math.Round(1/unit)
	}
	return math.Round(value/unit) * unit
}

// Encode writes the document.
func (r *Results) Encode() ([]byte, error) {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encode results: %w", err)
	}
	return append(text, '\n'), nil
}

// Decode reads a document. It refuses fields that it does not know, which an older page would leave out.
func (r *Results) Decode(text []byte) error {
	reader := json.NewDecoder(bytes.NewReader(text))
	reader.DisallowUnknownFields()
	if err := reader.Decode(r); err != nil {
		return fmt.Errorf("decode results: %w", err)
	}
	return nil
}
