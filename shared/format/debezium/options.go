package debezium

import (
	"cmp"
	"fmt"

	"tidemark/shared/change"
	"tidemark/shared/format/debezium/wire"
)

// Options say what the source connector was told and what to do with what does not fit. The zero value fits a
// connector in its default modes.
type Options struct {
	// UnavailableValue is the connector's unavailable.value.placeholder; with the prefix "hex:" its bytes in hex.
	UnavailableValue string
	// Modes are the connector's modes for values.
	Modes wire.Modes
	// UnknownColumn is for columns of the record that the target does not have: Halt or Ignore.
	UnknownColumn Policy
	// Unrepresentable is for values that the wire has lost and PostgreSQL cannot hold: Halt (poison) or Null.
	Unrepresentable Policy
	// Table is set for unwrapped records that do not name their table: every record is a row of it, and a tombstone
	// is a delete.
	Table change.Name
}

// Policy says what happens to what does not fit.
type Policy string

// The policies.
const (
	Halt   Policy = "halt"
	Ignore Policy = "ignore"
	Null   Policy = "null"
)

const defaultUnavailableValue = "__debezium_unavailable_value"

func (o Options) withDefaults() Options {
	o.UnavailableValue = cmp.Or(o.UnavailableValue, defaultUnavailableValue)
	o.Modes = o.Modes.WithDefaults()
	o.UnknownColumn = cmp.Or(o.UnknownColumn, Halt)
	o.Unrepresentable = cmp.Or(o.Unrepresentable, Halt)
	return o
}

func (o Options) validate() error {
	if err := o.Modes.Validate(); err != nil {
		return err
	}
	switch {
	case o.UnknownColumn != Halt && o.UnknownColumn != Ignore:
		return fmt.Errorf("unknown column %q: want halt or ignore", o.UnknownColumn)
	case o.Unrepresentable != Halt && o.Unrepresentable != Null:
		return fmt.Errorf("unrepresentable %q: want halt or null", o.Unrepresentable)
	}
	if o.Table.IsZero() {
		return nil
	}
	return o.Table.Validate()
}
