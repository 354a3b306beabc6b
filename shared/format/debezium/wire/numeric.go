package wire

import (
	"bytes"
	"encoding/base64"
	"errors"
	"math/big"
	"slices"
	"strconv"

	"tidemark/shared/fault"
	"tidemark/shared/format/jsonnode"
)

const (
	moneyScale = 2
	// maxScale is the largest scale that a numeric column can declare. The source cuts a scale to 11 bits without
	// its sign, so numeric(5,-2) arrives with the scale 2046 and 2046 zeros more than the column can hold.
	maxScale = 1000
	// scaleBits are the bits of the scale that the source keeps.
	scaleBits = 0x7ff
	// maxPlaces is how many digits PostgreSQL keeps behind the point, and more than any scale on the wire.
	maxPlaces = 16383
	// maxDecimalBytes holds PostgreSQL's longest numeric: 131072 digits before the point and 16383 behind.
	maxDecimalBytes = 1 << 16
)

// appendDecimal reads base64 of a two's complement integer, an object of scale and such an integer, or digits.
func (f *Form) appendDecimal(dst []byte, n jsonnode.Node) ([]byte, error) {
	switch {
	case n.Kind() == '{':
		return appendVariableScale(dst, n)
	case n.Kind() != '"':
		return dst, n.Mismatch("a decimal")
	case f.digits:
		start := len(dst)
		dst, err := appendNumber(dst, n)
		if f.scale < 0 {
			dst = trimPlaces(dst, start)
		}
		return dst, err
	case !f.scaled:
		return dst, fault.New(fault.Misconfigured, "a decimal in bytes for a column without a scale").WithHint(
			"the record does not carry the source column's scale: declare the target column as numeric(precision, scale) " +
				"like the source, or set decimal.handling.mode=string there and say decimal: string here")
	}
	return appendUnscaled(dst, n, f.scale&scaleBits)
}

func appendVariableScale(dst []byte, n jsonnode.Node) ([]byte, error) {
	var scale, value jsonnode.Node
	for w := n.Walk(); ; {
		name, member, ok := w.Member()
		if !ok {
			break
		}
		switch string(name) {
		case "scale":
			scale = member
		case "value":
			value = member
		}
	}
	places, err := strconv.Atoi(string(scale))
	if err != nil || places > maxPlaces || places < -2*maxDecimalBytes || value.Kind() != '"' {
		return dst, errors.New("an object that is not a decimal of scale and value")
	}
	return appendUnscaled(dst, value, places)
}

// appendUnscaled appends the decimal whose integer stands in base64 in n, with the point scale digits from the right.
func appendUnscaled(dst []byte, n jsonnode.Node, scale int) ([]byte, error) {
	var buffer [24]byte
	raw, err := base64.StdEncoding.AppendDecode(buffer[:0], n.Text())
	if err != nil || len(raw) == 0 || len(raw) > maxDecimalBytes {
		return dst, errors.New("not a decimal in base64")
	}
	start := len(dst)
	dst = appendInteger(dst, raw)
	if dst[start] == '-' {
		start++
	}
	dst = placePoint(dst, start, scale)
	if scale > maxScale {
		dst = trimPlaces(dst, start)
	}
	return dst, nil
}

// appendInteger appends a big-endian two's complement integer.
func appendInteger(dst, raw []byte) []byte {
	negative := raw[0] >= 0x80
	if len(raw) <= 8 {
		value := int64(0)
		if negative {
			value = -1
		}
		for _, b := range raw {
			value = value<<8 | int64(b)
		}
		return strconv.AppendInt(dst, value, 10)
	}
	var value big.Int
	if !negative {
		return value.SetBytes(raw).Append(dst, 10)
	}
	for i := range raw {
		raw[i] = ^raw[i]
	}
	value.SetBytes(raw)
	return value.Not(&value).Append(dst, 10)
}

// placePoint puts the point scale digits from the right of the digits at start; a negative scale adds zeros.
func placePoint(dst []byte, start, scale int) []byte {
	if scale <= 0 {
		if dst[start] == '0' {
			return dst
		}
		return append(dst, bytes.Repeat([]byte{'0'}, -scale)...)
	}
	if short := scale + 1 - (len(dst) - start); short > 0 {
		dst = slices.Grow(dst, short)[:len(dst)+short]
		copy(dst[start+short:], dst[start:len(dst)-short])
		for i := range short {
			dst[start+i] = '0'
		}
	}
	dst = append(dst, 0)
	point := len(dst) - 1 - scale
	copy(dst[point+1:], dst[point:])
	dst[point] = '.'
	return dst
}

// trimPlaces takes the zeros from the end of a fraction, and its point when nothing is left.
func trimPlaces(dst []byte, start int) []byte {
	if bytes.IndexByte(dst[start:], '.') < 0 {
		return dst
	}
	return bytes.TrimSuffix(bytes.TrimRight(dst, "0"), []byte("."))
}
