package wire

import (
	"cmp"
	"fmt"
	"slices"
)

// Modes are the settings of the connector that change how values stand on the wire. The zero value is its defaults.
type Modes struct {
	// Decimal is decimal.handling.mode. It matters for records without schema: base64 and digits look alike.
	Decimal DecimalMode
	// Binary is binary.handling.mode: base64 and hex look alike too.
	Binary BinaryMode
	// Time is time.precision.mode; text is read as ISO 8601 in every mode. It matters for records without schema.
	Time TimeMode
}

// DecimalMode is the connector's decimal.handling.mode.
type DecimalMode string

// The decimal modes.
const (
	DecimalPrecise DecimalMode = "precise"
	DecimalString  DecimalMode = "string"
	DecimalDouble  DecimalMode = "double"
)

// BinaryMode is the connector's binary.handling.mode; its "bytes" is base64 in JSON.
type BinaryMode string

// The binary modes.
const (
	BinaryBase64    BinaryMode = "base64"
	BinaryBase64URL BinaryMode = "base64-url-safe"
	BinaryHex       BinaryMode = "hex"
)

// TimeMode is the connector's time.precision.mode.
type TimeMode string

// The time modes.
const (
	TimeAdaptive             TimeMode = "adaptive"
	TimeAdaptiveMicroseconds TimeMode = "adaptive_time_microseconds"
	TimeConnect              TimeMode = "connect"
	TimeMicroseconds         TimeMode = "microseconds"
	TimeNanoseconds          TimeMode = "nanoseconds"
	TimeISOString            TimeMode = "isostring"
)

// WithDefaults fills in what is not set.
func (m Modes) WithDefaults() Modes {
	m.Decimal = cmp.Or(m.Decimal, DecimalPrecise)
	m.Binary = cmp.Or(m.Binary, BinaryBase64)
	m.Time = cmp.Or(m.Time, TimeAdaptive)
	return m
}

// Validate refuses modes that no connector has.
func (m Modes) Validate() error {
	if err := oneOf("decimal", m.Decimal, DecimalPrecise, DecimalString, DecimalDouble); err != nil {
		return err
	}
	if err := oneOf("binary", m.Binary, BinaryBase64, BinaryBase64URL, BinaryHex); err != nil {
		return err
	}
	return oneOf("time", m.Time,
		TimeAdaptive, TimeAdaptiveMicroseconds, TimeConnect, TimeMicroseconds, TimeNanoseconds, TimeISOString)
}

func oneOf[T ~string](what string, value T, allowed ...T) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("%s %q: want one of %q", what, value, allowed)
}
