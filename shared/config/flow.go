package config

import (
	"fmt"
	"io"
	"os"
	"time"

	"tidemark/shared/change"
	"tidemark/shared/config/setting"
	"tidemark/shared/fault"
)

// Flow is one configured stream: which topics, in which format, into which tables, and what stops it.
type Flow struct {
	Name   string
	Format Format
	Topics []string // in the order of the file, each once

	// Log, Producers, Gaps and OnPoison have one value each in this release: dense, plain, refuse, halt.
	Log       string
	Producers string
	Gaps      string
	OnPoison  string

	IgnoreUnknownTables  bool
	IgnoreUnknownColumns bool

	MaxTransactionRows  int
	MaxTransactionBytes int64
	DeadlineReserve     time.Duration

	Identity Identity
	Routes   []Route
	Debezium Debezium // of FormatDebezium
	Plain    Plain    // of FormatPlain
}

// Format is how the records of a flow's topics are written.
type Format string

// The formats.
const (
	FormatDebezium Format = "debezium" // what a Debezium connector for PostgreSQL writes with the JSON converter
	FormatPlain    Format = "plain"    // JSON objects of an application, each a row
)

// Identity is how producers that may write an event twice name it.
type Identity struct {
	Header  string        // empty when the flow has no identities
	Horizon time.Duration // for how long identities are remembered
}

// Route sends the changes of one source table to one table of the target.
type Route struct {
	From change.Name
	To   change.Name
}

// Debezium is what a flow must know of its connector, because the records do not say it. Choices are the decoder's own
// words.
type Debezium struct {
	UnavailableValue    string // stands for a column that the source did not send
	Decimal             string
	Binary              string
	Time                string
	NullUnrepresentable bool        // write NULL where the target's type cannot hold the value, instead of halting
	Table               change.Name // of every record; zero when the records say it
}

// Plain is what a flow must know of an application's documents. Choices are the decoder's own words.
type Plain struct {
	Table       string                 // a template, which the decoder judges
	Tables      map[string]change.Name // by topic, each one of the flow's
	Key         PlainKey
	Columns     map[string]string // by field
	Absent      string
	Tombstones  string
	DeleteField string
	Epoch       string // empty when no number is a time
	Binary      string
	JSON        string
}

// PlainKey is where a row's key stands in a record.
type PlainKey struct {
	From    string
	Columns map[string]string // by field of the record's key, or by header
}

// ReadFlow reads the flow file at path.
//
// Errors: fault.Misconfigured when the file cannot be read, or for everything that is wrong in it, in one error.
func ReadFlow(path string) (Flow, error) {
	file, err := os.Open(path) //nolint:gosec // the operator names the file
	if err != nil {
		return Flow{}, unreadable(err)
	}
	defer func() { _ = file.Close() }() // read only: nothing is lost
	data, err := io.ReadAll(io.LimitReader(file, setting.MaxYAMLBytes+1))
	if err != nil {
		return Flow{}, unreadable(err)
	}
	return ParseFlow(path, data)
}

func unreadable(err error) error {
	return fault.New(fault.Misconfigured, "read flow file: %w", err).
		WithHint("set TIDEMARK_FLOW_FILE to the path of a flow file that this process may read; %s", flowReference)
}

// ParseFlow reads a flow file's content: one YAML map, strictly. name stands before line and column in errors.
//
// Errors: fault.Misconfigured for everything that is wrong, in one error.
func ParseFlow(name string, data []byte) (Flow, error) {
	hint := fmt.Sprintf("correct %s and deploy it again; %s", name, flowReference)
	return setting.ReadYAML(flowKeys(), name, data, hint)
}

const flowReference = "docs/configuration.md lists every key, docs/formats.md those of plain"

// FlowSettings lists the keys that a flow file of FormatDebezium may have, those of sections behind the section's name.
func FlowSettings() []setting.Setting { return setting.Describe(commonKeys()) }

// Settings lists the keys that a flow file of FormatPlain may have in place of the section debezium.
func (Plain) Settings() []setting.Setting {
	return setting.Describe([]setting.Field[Flow]{plainSection()})
}
