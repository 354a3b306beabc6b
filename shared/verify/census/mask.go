package census

import (
	"encoding/binary"
	"math"
)

// HasNumbers says whether values of a type may hold numbers that each database chose itself.
func HasNumbers(oid uint32) bool { return oid >= firstUserType }

// firstUserType is the first number that a database gives to a type itself. The types below have one number everywhere.
const firstUserType = 16384

// MaxMasked is the largest value whose numbers of types are set aside. A larger one is hashed as it stands there.
const MaxMasked = 16 << 20

// deepest is how far arrays and rows are followed into each other.
const deepest = 32

// mask sets aside the numbers of types that a database chose itself: an array of a type that a user defined, and a row, carry
// them in their binary form, and another database has given other numbers to the same types.
//
// A value does not say what it is, so it is taken for an array, or for a row, when it reads as one down to its last byte. What
// only happens to read so loses four bytes at a time of what tells it from others, on both sides alike.
func mask(value []byte) { maskTo(value, deepest) }

func maskTo(value []byte, depth int) {
	if depth > 0 && !maskArray(value, depth) {
		maskRow(value, depth)
	}
}

// wire reads the front of a value.
type wire struct {
	rest []byte
	ok   bool
}

func (w *wire) number() int32 {
	if len(w.rest) < lengthBytes {
		w.ok = false
	}
	if !w.ok {
		return 0
	}
	n := signed32(w.rest)
	w.rest = w.rest[lengthBytes:]
	return n
}

// number4 is the place of a number that may be set aside.
func (w *wire) number4() []byte {
	at := w.rest
	w.number()
	if !w.ok {
		return nil
	}
	return at[:lengthBytes]
}

// element is a length and so many bytes.
func (w *wire) element() []byte {
	length := int(w.number())
	w.ok = w.ok && length >= null && length <= len(w.rest)
	if !w.ok || length == null {
		return nil
	}
	of := w.rest[:length]
	w.rest = w.rest[length:]
	return of
}

func (w *wire) ended() bool { return w.ok && len(w.rest) == 0 }

func setAside(number []byte) {
	if binary.BigEndian.Uint32(number) >= firstUserType {
		clear(number)
	}
}

// maskArray: dimensions, whether there are nulls, the elements' type, each dimension's length and first index, the elements.
func maskArray(value []byte, depth int) bool {
	const mostDimensions = 6
	w := &wire{rest: value, ok: true}
	dimensions, nulls, of := w.number(), w.number(), w.number4()
	if !w.ok || dimensions < 0 || dimensions > mostDimensions || nulls != 0 && nulls != 1 {
		return false
	}
	elements := int64(min(dimensions, 1))
	for range dimensions {
		length := int64(w.number())
		w.number()
		if !w.ok || length < 0 || length > 0 && elements > math.MaxInt32/length {
			return false
		}
		elements *= length
	}
	if front := *w; !eachElement(&front, elements, func([]byte) {}) {
		return false
	}
	setAside(of)
	return eachElement(w, elements, func(element []byte) { maskTo(element, depth-1) })
}

// eachElement gives elements one by one, and says whether there are so many and nothing more.
func eachElement(w *wire, n int64, do func([]byte)) bool {
	for ; n > 0 && w.ok; n-- {
		if element := w.element(); w.ok {
			do(element)
		}
	}
	return w.ended()
}

// maskRow: how many fields, then each one's type and value.
func maskRow(value []byte, depth int) {
	w := &wire{rest: value, ok: true}
	fields := w.number()
	if front := *w; !eachField(&front, fields, func(_, _ []byte) {}) {
		return
	}
	eachField(w, fields, func(of, field []byte) {
		setAside(of)
		maskTo(field, depth-1)
	})
}

// eachField gives types and values one by one, and says whether there are so many and nothing more.
func eachField(w *wire, n int32, do func(of, field []byte)) bool {
	for ; n > 0 && w.ok; n-- {
		of, field := w.number4(), w.element()
		if w.ok {
			do(of, field)
		}
	}
	return n == 0 && w.ended()
}
