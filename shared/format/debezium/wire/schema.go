package wire

import (
	"errors"
	"strconv"

	"tidemark/shared/change"
	"tidemark/shared/format/debezium/jsonnode"
)

// Schema is a Connect schema of a value: its basic type, and the name and parameters that say what it means.
type Schema struct {
	name   string // of the member that it describes
	basic  string
	means  string
	scale  int
	length int
	fields []Schema
	items  *Schema
}

// Member is the schema of the field of that name of a struct, nil when there is none.
func (f *Schema) Member(name string) *Schema {
	for i := range f.fields {
		if f.fields[i].name == name {
			return &f.fields[i]
		}
	}
	return nil
}

// ReadSchema reads a schema as JsonConverter writes it.
func ReadSchema(n jsonnode.Node) (Schema, error) {
	f := Schema{}
	if n.Kind() != '{' {
		return f, errors.New("a schema that is not an object")
	}
	for w := n.Walk(); ; {
		name, value, ok := w.Member()
		if !ok {
			return f, nil
		}
		if err := f.read(string(name), value); err != nil {
			return f, err
		}
	}
}

func (f *Schema) read(name string, n jsonnode.Node) error {
	switch name {
	case "field":
		f.name = string(n.Text())
	case "type":
		f.basic = string(n.Text())
	case "name":
		f.means = string(n.Text())
	case "parameters":
		return f.readParameters(n)
	case "items":
		items, err := ReadSchema(n)
		f.items = &items
		return err
	case "fields":
		if n.Kind() != '[' {
			return errors.New("a schema whose fields are not an array")
		}
		for w := n.Walk(); ; {
			element, ok := w.Element()
			if !ok {
				return nil
			}
			member, err := ReadSchema(element)
			if err != nil {
				return err
			}
			f.fields = append(f.fields, member)
		}
	}
	return nil
}

func (f *Schema) readParameters(n jsonnode.Node) (err error) {
	if n.Kind() != '{' {
		return nil
	}
	for w := n.Walk(); err == nil; {
		name, value, ok := w.Member()
		if !ok {
			return nil
		}
		switch string(name) {
		case "scale":
			f.scale, err = strconv.Atoi(string(value.Text()))
		case "length":
			f.length, err = strconv.Atoi(string(value.Text()))
		}
	}
	return errors.New("a schema with a parameter that is not a number")
}

// Refine lets the schema decide what it knows: what a value means and in which unit. The target's type still decides
// what the schema leaves open.
func (f *Form) Refine(s *Schema) {
	switch s.means {
	case "org.apache.kafka.connect.data.Decimal":
		f.kind, f.scale, f.scaled, f.digits = change.KindNumeric, s.scale, true, false
	case "io.debezium.data.VariableScaleDecimal":
		f.kind, f.scaled, f.digits = change.KindNumeric, false, false
	case "io.debezium.data.Bits":
		if f.kind != change.KindVarBit {
			f.kind, f.length = change.KindBit, s.length
		}
	case "io.debezium.data.Json":
		if f.kind != change.KindHStore {
			f.kind = change.KindJSON
		}
	case "io.debezium.data.geometry.Point":
		f.kind = change.KindPoint
	case "":
		f.refineBasic(s)
	default:
		if kind, unit := temporal(s.means); kind != change.KindOther {
			f.kind, f.unit = kind, unit
		} else if s.basic == "string" {
			f.kind = change.KindOther
		}
	}
}

// temporal is the meaning of the names that Debezium and Connect have for times. A unit of text is of no account.
func temporal(means string) (kind change.Kind, unit int64) {
	switch means {
	case "io.debezium.time.Date", "org.apache.kafka.connect.data.Date", "io.debezium.time.IsoDate":
		return change.KindDate, 0
	case "io.debezium.time.Time", "org.apache.kafka.connect.data.Time", "io.debezium.time.IsoTime":
		return change.KindTime, millis
	case "io.debezium.time.MicroTime":
		return change.KindTime, micros
	case "io.debezium.time.NanoTime":
		return change.KindTime, nanos
	case "io.debezium.time.Timestamp", "org.apache.kafka.connect.data.Timestamp", "io.debezium.time.IsoTimestamp":
		return change.KindTimestamp, millis
	case "io.debezium.time.MicroTimestamp":
		return change.KindTimestamp, micros
	case "io.debezium.time.NanoTimestamp":
		return change.KindTimestamp, nanos
	case "io.debezium.time.ZonedTimestamp":
		return change.KindTimestampTZ, micros
	case "io.debezium.time.ZonedTime":
		return change.KindTimeTZ, micros
	case "io.debezium.time.MicroDuration", "io.debezium.time.Interval":
		return change.KindInterval, micros
	case "io.debezium.time.NanoDuration":
		return change.KindInterval, nanos
	}
	return change.KindOther, 0
}

// refineBasic reads a type without a name. A number is never a time without one, whatever the column is.
func (f *Form) refineBasic(s *Schema) {
	switch s.basic {
	case "bytes":
		f.kind, f.binary = change.KindBytea, BinaryBase64
	case "string":
		f.digits = true
	case "int8", "int16", "int32", "int64":
		f.kind = change.KindInteger
	case "float", "double":
		f.kind = change.KindFloat
	case "boolean":
		if f.kind != change.KindBit && f.kind != change.KindVarBit {
			f.kind = change.KindBool
		}
	case "map":
		f.kind = change.KindHStore
	case "array":
		f.kind = change.KindArray
		if f.elem == nil {
			f.elem = &Form{}
		}
		if s.items != nil {
			f.elem.Refine(s.items)
		}
	}
}
