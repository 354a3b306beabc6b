package wire

import (
	"encoding/base64"
	"errors"

	"tidemark/shared/change"
	"tidemark/shared/format/jsonnode"
	"tidemark/shared/format/literal"
)

// appendBytes writes bytea in hex.
func (f *Form) appendBytes(dst []byte, n jsonnode.Node) ([]byte, error) {
	if n.Kind() != '"' {
		return dst, n.Mismatch("bytes in a string")
	}
	switch f.binary {
	case BinaryHex:
		return literal.AppendBytes(dst, n.Text(), nil)
	case BinaryBase64URL:
		return literal.AppendBytes(dst, n.Text(), base64.URLEncoding)
	case BinaryBase64:
	}
	return literal.AppendBytes(dst, n.Text(), base64.StdEncoding)
}

// maxBits bounds a bit string, as PostgreSQL does with its largest length.
const maxBits = 83_886_080

// appendBits writes a bit string. The source sends one bit as a boolean and more as little-endian bytes, which keep no
// length: bit(n) has it from its type; of bit varying the leading zeros are lost, and zero bits in a byte mean "0".
func (f *Form) appendBits(dst []byte, n jsonnode.Node) ([]byte, error) {
	switch n.Kind() {
	case 't':
		return append(dst, '1'), nil
	case 'f':
		return append(dst, '0'), nil
	case '"':
	default:
		return dst, n.Mismatch("bits")
	}
	var buffer [32]byte
	raw, err := base64.StdEncoding.AppendDecode(buffer[:0], n.Text())
	if err != nil || len(raw) > maxBits/8 {
		return dst, errors.New("not bits in base64")
	}
	length := max(f.length, 1)
	if f.kind == change.KindVarBit {
		length = significantBits(raw)
	} else if significantBits(raw) > length {
		return dst, errors.New("more bits than the column holds")
	}
	for i := length - 1; i >= 0; i-- {
		bit := byte('0')
		if i/8 < len(raw) {
			bit += raw[i/8] >> (i % 8) & 1
		}
		dst = append(dst, bit)
	}
	return dst, nil
}

// significantBits is the length without leading zeros, at least 1 when there is a byte.
func significantBits(raw []byte) int {
	length := 8 * len(raw)
	for length > 1 && raw[(length-1)/8]>>((length-1)%8)&1 == 0 {
		length--
	}
	return length
}

func appendPoint(dst []byte, n jsonnode.Node) ([]byte, error) {
	if n.Kind() == '"' {
		return n.AppendText(dst)
	}
	if n.Kind() != '{' {
		return dst, n.Mismatch("a point")
	}
	var x, y jsonnode.Node
	for w := n.Walk(); ; {
		name, value, ok := w.Member()
		if !ok {
			break
		}
		switch string(name) {
		case "x":
			x = value
		case "y":
			y = value
		}
	}
	dst, errX := appendCoordinate(append(dst, '('), x)
	dst, errY := appendCoordinate(append(dst, ','), y)
	return append(dst, ')'), errors.Join(errX, errY)
}

func appendCoordinate(dst []byte, n jsonnode.Node) ([]byte, error) {
	if n.Kind() == '0' {
		return append(dst, n...), nil
	}
	return appendNumber(dst, n)
}
