package census_test

import (
	"encoding/binary"
	"testing"

	"tidemark/shared/manifest/body"
)

func number(out []byte, n uint32) []byte { return binary.BigEndian.AppendUint32(out, n) }

func sized(out, value []byte) []byte { return append(number(out, count(value)), value...) }

func count[E any](all []E) uint32 { return uint32(len(all)) } //nolint:gosec // of a test

// array is an array of one dimension, as the server sends it. Its elements are of a type of that number.
func array(of uint32, elements ...[]byte) []byte {
	out := number(number(number(nil, 1), 0), of)
	out = number(number(out, count(elements)), 1)
	for _, element := range elements {
		out = sized(out, element)
	}
	return out
}

// row4 is a row value of fields of one type, as the server sends it.
func row4(of uint32, fields ...[]byte) []byte {
	out := number(nil, count(fields))
	for _, field := range fields {
		out = sized(number(out, of), field)
	}
	return out
}

// TestDigestSetsNumbersOfTypesAside: two databases give other numbers to the types that a user defined, and send them in arrays
// and rows.
func TestDigestSetsNumbersOfTypesAside(t *testing.T) {
	t.Parallel()
	user := []body.Column{{Name: "c", Type: "public.mood[]", OID: 20001}}
	server := []body.Column{{Name: "c", Type: "integer[]", OID: 1007}}
	empty := func(of uint32) []byte { return number(number(number(nil, 0), 0), of) }
	plane := func(of uint32) []byte { // two dimensions with a null
		out := number(number(number(nil, 2), 1), of)
		out = number(number(number(number(out, 1), 1), 2), 1)
		return number(sized(out, []byte("happy")), 0xffffffff)
	}
	for name, value := range map[string]func(of uint32) []byte{
		"Array":          func(of uint32) []byte { return array(of, []byte("happy"), []byte("sad")) },
		"EmptyArray":     empty,
		"PlaneWithANull": plane,
		"Row":            func(of uint32) []byte { return row4(of, []byte("happy")) },
		"ArrayOfRows":    func(of uint32) []byte { return array(of, row4(of, []byte("x")), row4(of+1, []byte("y"))) },
		"RowOfArrays":    func(of uint32) []byte { return row4(of, array(of+2, []byte("x")), row4(of)) },
	} {
		one, other := row{value(16500)}, row{value(31000)}
		if mustTally(t, user, one) != mustTally(t, user, other) {
			t.Errorf("%s: numbers of two databases make two digests", name)
		}
		if mustTally(t, server, one) == mustTally(t, server, other) {
			t.Errorf("%s: in a column of the server's own type they are set aside too", name)
		}
		if mustTally(t, user, row{value(23)}) == mustTally(t, user, row{value(25)}) {
			t.Errorf("%s: numbers that are the same everywhere are set aside", name)
		}
		for at := range one[0] {
			changed := append([]byte{}, one[0]...)
			changed[at] ^= 1
			if got := mustTally(t, user, row{changed}); got == mustTally(t, user, one) && !isNumberOfType(name, one[0], other[0], at) {
				t.Errorf("%s: byte %d may change unseen", name, at)
			}
		}
	}
}

// isNumberOfType says whether the byte is a part of what differs between the two databases.
func isNumberOfType(_ string, one, other []byte, at int) bool {
	for near := max(0, at-3); near <= min(at+3, len(one)-1); near++ {
		if one[near] != other[near] {
			return true
		}
	}
	return false
}
