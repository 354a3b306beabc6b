package wire

import (
	"tidemark/shared/change"
	"tidemark/shared/format/debezium/connect"
)

// Refine lets the schema decide what it knows: what a value means and in which unit. The target's type still decides
// what the schema leaves open.
func (f *Form) Refine(s *connect.Schema) {
	switch s.Means {
	case "org.apache.kafka.connect.data.Decimal":
		f.kind, f.scale, f.scaled, f.digits = change.KindNumeric, s.Scale, true, false
	case "io.debezium.data.VariableScaleDecimal":
		f.kind, f.scaled, f.digits = change.KindNumeric, false, false
	case "io.debezium.data.Bits":
		if f.kind != change.KindVarBit {
			f.kind, f.length = change.KindBit, s.Length
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
		if kind, unit := temporal(s.Means); kind != change.KindOther {
			f.kind, f.unit = kind, unit
		} else if s.Basic == "string" {
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
func (f *Form) refineBasic(s *connect.Schema) {
	switch s.Basic {
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
		if s.Items != nil {
			f.elem.Refine(s.Items)
		}
	}
}
