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

	Routes   []Route
	Debezium Debezium
}

// Format is how the records of a flow's topics are written.
type Format string

// FormatDebezium is what a Debezium connector for PostgreSQL writes with the JSON converter.
const FormatDebezium Format = "debezium"

// Route sends the changes of one source table to one table of the target.
type Route struct {
	From change.Name
	To   change.Name
}

// Debezium is what a flow must know of its connector, because the records do not say it.
type Debezium struct {
	UnavailableValue    string // stands for a column that the source did not send
	Decimal             Decimal
	Binary              Binary
	NullUnrepresentable bool // write NULL where the target's type cannot hold the value, instead of halting
}

// Decimal is the connector's decimal.handling.mode.
type Decimal string

// The decimal modes.
const (
	DecimalPrecise Decimal = "precise"
	DecimalString  Decimal = "string"
	DecimalDouble  Decimal = "double"
)

// Binary is the connector's binary.handling.mode.
type Binary string

// The binary modes.
const (
	BinaryBase64 Binary = "base64"
	BinaryHex    Binary = "hex"
)

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
		WithHint("set TIDEMARK_FLOW_FILE to the path of a flow file that this process may read; %s", reference)
}

// ParseFlow reads a flow file's content: one YAML map, strictly. name stands before line and column in errors.
//
// Errors: fault.Misconfigured for everything that is wrong, in one error.
func ParseFlow(name string, data []byte) (Flow, error) {
	hint := fmt.Sprintf("correct %s and deploy it again; %s", name, reference)
	return setting.ReadYAML(flowKeys(), name, data, hint)
}

// FlowSettings lists the keys of the flow file, those of sections behind the section's name.
func FlowSettings() []setting.Setting { return setting.Describe(flowKeys()) }
