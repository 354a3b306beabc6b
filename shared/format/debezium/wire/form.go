// Package wire owns how one value stands in Debezium's JSON and becomes the text that PostgreSQL reads.
//
// A Form is made for a column: from the target's type and the modes that the connector was set to, refined by Connect's
// schema where a record carries one, which then decides what a value means. A value that does not fit its form is an
// error that names shapes and never payload. What the wire has lost is ErrLost and never a guess. Forms are immutable
// once made and may be shared between goroutines; the Set that takes the texts belongs to one.
package wire

import (
	"errors"

	"tidemark/shared/change"
	"tidemark/shared/format/jsonnode"
	"tidemark/shared/format/literal"
)

// Form says how the values of one column stand on the wire.
type Form struct {
	kind   change.Kind
	unit   int64 // ticks a second of a number that is a time
	scale  int   // of a decimal in bytes; what the column declares
	scaled bool  // whether scale is known
	digits bool  // a string for a decimal is digits, not base64
	length int   // of a bit string
	binary BinaryMode
	elem   *Form // of an array
}

const (
	millis = 1_000
	micros = 1_000_000
	nanos  = 1_000_000_000
)

// NewForm is the form that a column's type and the connector's modes imply.
func NewForm(t *change.Type, m *Modes) Form {
	f := Form{
		kind: t.Kind, scale: t.Scale, scaled: t.HasScale, digits: m.Decimal != DecimalPrecise,
		length: t.Length, binary: m.Binary, unit: unitOf(t, m.Time),
	}
	if t.Kind == change.KindMoney {
		f.scale, f.scaled = moneyScale, true
	}
	if t.Elem != nil {
		elem := NewForm(t.Elem, m)
		f.elem = &elem
	} else if t.Kind == change.KindArray {
		f.elem = &Form{}
	}
	return f
}

// unitOf is the unit of a time that the source sends as a number. Its adaptive mode takes the smallest that holds the
// column's digits.
func unitOf(t *change.Type, mode TimeMode) int64 {
	switch {
	case mode == TimeConnect:
		return millis
	case mode == TimeNanoseconds:
		return nanos
	case mode == TimeMicroseconds || t.Precision > 3 || t.Kind == change.KindInterval:
		return micros
	case mode == TimeAdaptiveMicroseconds && t.Kind == change.KindTime:
		return micros
	}
	return millis
}

// ErrLost is a value that the wire does not carry any more.
var ErrLost = errors.New("the source sends a number out of PostgreSQL's range: the value is lost on the wire")

// Value reads n. NULL is NULL, the source's sign for an unchanged value out of line is missing, anything else is text:
// a slice of n where n has it already, else built in set.
//
// Errors: ErrLost; fault.Misconfigured where no record of the column could be read; others for the record alone.
func (f *Form) Value(n jsonnode.Node, unavailable *Placeholder, set *change.Set) (change.Value, error) {
	if n.IsNull() {
		return change.Null(), nil
	}
	if unavailable.standsFor(f, n) {
		return change.Missing(), nil
	}
	if text, ok := f.view(n); ok {
		return change.Text(text), nil
	}
	text, err := f.append(set.Grow(f.room(n)), n)
	if err != nil {
		return change.Value{}, err
	}
	return change.Text(set.Keep(text)), nil
}

// room is what the text of n needs in most cases.
func (f *Form) room(n jsonnode.Node) int {
	const clock = 64 // the longest date or time
	if f.kind == change.KindBit || f.kind == change.KindVarBit {
		return 6*len(n) + clock
	}
	return 3*len(n) + clock
}

// view is the text of n where the wire has it already.
func (f *Form) view(n jsonnode.Node) ([]byte, bool) {
	switch kind := n.Kind(); {
	case kind == '"':
		return f.viewString(n)
	case f.kind == change.KindBool && (kind == 't' || kind == 'f'):
		return n[:1], true
	case f.kind == change.KindJSON:
		return n, true
	case f.kind == change.KindOther:
		return n, kind == '0' || kind == 't' || kind == 'f'
	}
	return n, n.Kind() == '0' && f.isNumber()
}

func (f *Form) isNumber() bool {
	return f.kind == change.KindInteger || f.kind == change.KindFloat || f.kind == change.KindNumeric ||
		f.kind == change.KindMoney
}

func (f *Form) viewString(n jsonnode.Node) ([]byte, bool) {
	if f.kind == change.KindOther || f.kind == change.KindJSON || f.kind == change.KindInterval {
		return n.Plain()
	}
	return nil, false
}

// append appends the text of n, which is neither null nor the placeholder.
func (f *Form) append(dst []byte, n jsonnode.Node) ([]byte, error) {
	if text, ok := f.view(n); ok {
		return append(dst, text...), nil
	}
	switch f.kind {
	case change.KindOther, change.KindJSON:
		return n.AppendText(dst)
	case change.KindBool:
		return appendBool(dst, n)
	case change.KindInteger, change.KindFloat:
		return appendNumber(dst, n)
	case change.KindNumeric, change.KindMoney:
		return f.appendDecimal(dst, n)
	case change.KindBytea:
		return f.appendBytes(dst, n)
	case change.KindDate:
		return appendDate(dst, n)
	case change.KindTime, change.KindTimeTZ:
		return f.appendTime(dst, n)
	case change.KindTimestamp, change.KindTimestampTZ:
		return f.appendTimestamp(dst, n)
	case change.KindInterval:
		return f.appendInterval(dst, n)
	case change.KindHStore:
		return appendHStore(dst, n)
	case change.KindBit, change.KindVarBit:
		return f.appendBits(dst, n)
	case change.KindPoint:
		return appendPoint(dst, n)
	case change.KindArray:
		return literal.AppendArray(dst, n, literal.MaxDimensions, f.appendElement)
	}
	return dst, errors.New("a column kind that this decoder does not know")
}

func appendBool(dst []byte, n jsonnode.Node) ([]byte, error) {
	switch text := string(n.Text()); {
	case n.Kind() == '0' && len(n) == 1 && n[0] <= '1':
		return append(dst, n...), nil
	case text == "true" || text == "false" || text == "t" || text == "f":
		return append(dst, text[0]), nil
	}
	return dst, n.Mismatch("a boolean")
}

// appendNumber takes a number's text from a string: the source writes NaN and the infinities so.
func appendNumber(dst []byte, n jsonnode.Node) ([]byte, error) {
	number, ok := literal.Number(n.Text())
	if !ok {
		return dst, n.Mismatch("a number")
	}
	return append(dst, number...), nil
}
