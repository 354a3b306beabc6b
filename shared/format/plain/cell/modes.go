package cell

import (
	"cmp"
	"fmt"
	"slices"
)

// Modes say what JSON leaves open. The zero value is the defaults.
type Modes struct {
	// Binary is how bytes stand in a string.
	Binary Binary
	// Epoch is the unit of a number in a timestamp column, counted from 1970-01-01 in UTC; empty when there are none.
	Epoch Epoch
	// JSON is what a string in a json or jsonb column is.
	JSON JSON
}

// Binary is how bytes stand in a string.
type Binary string

// The ways of bytes.
const (
	BinaryBase64 Binary = "base64" // the default: with + and / and padding
	BinaryHex    Binary = "hex"    // with or without a leading \x
)

// Epoch is the unit of a number that is a time.
type Epoch string

// The units.
const (
	EpochSeconds      Epoch = "s"
	EpochMilliseconds Epoch = "ms"
	EpochMicroseconds Epoch = "us"
)

// JSON is what a string in a json or jsonb column is.
type JSON string

// The readings.
const (
	JSONValue JSON = "value" // the default: the string is the document
	JSONText  JSON = "text"  // the string holds the text of the document
)

// WithDefaults fills in what is not set.
func (m Modes) WithDefaults() Modes {
	m.Binary = cmp.Or(m.Binary, BinaryBase64)
	m.JSON = cmp.Or(m.JSON, JSONValue)
	return m
}

// Validate refuses modes that there are not.
func (m Modes) Validate() error {
	switch {
	case !slices.Contains([]Binary{BinaryBase64, BinaryHex}, m.Binary):
		return fmt.Errorf("binary %q: want base64 or hex", m.Binary)
	case !slices.Contains([]Epoch{"", EpochSeconds, EpochMilliseconds, EpochMicroseconds}, m.Epoch):
		return fmt.Errorf("epoch %q: want s, ms or us", m.Epoch)
	case !slices.Contains([]JSON{JSONValue, JSONText}, m.JSON):
		return fmt.Errorf("json %q: want value or text", m.JSON)
	}
	return nil
}

// perSecond is the number of units in a second.
func (e Epoch) perSecond() int64 {
	switch e {
	case EpochMilliseconds:
		return 1_000
	case EpochMicroseconds:
		return 1_000_000
	case EpochSeconds:
	}
	return 1
}
