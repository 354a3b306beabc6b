package census

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/zeebo/xxh3"

	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
)

// copyHeader is how COPY's binary form begins: signature, no flags, no extension.
const copyHeader = "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"

const (
	countBytes  = 2
	lengthBytes = 4
	trailer     = -1
	null        = -1
)

// Tally reads rows in COPY's binary form, in parts that may be cut anywhere, and gives their digest.
//
// A row is hashed as it stands there, from its number of fields to the end of its last one. Nothing grows with the rows, nor
// with a value: what is held is at most MaxMasked bytes of one value of a type that a user defined. A Tally belongs to one
// goroutine.
type Tally struct {
	columns int
	masked  []bool // by column; nil: none is
	rows    int64
	sum     xxh3.Uint128 // of their hashes
	failed  error
	ended   bool

	step   func(*Tally, []byte) []byte // takes from the front and gives the rest
	small  []byte                      // what came of a header, a count or a length
	hasher *xxh3.Hasher
	field  int
	left   int64  // of the field
	kept   []byte // of the field, when it may hold numbers of types
	keep   bool
}

// NewTally counts rows of these columns.
func NewTally(columns []body.Column) *Tally {
	t := &Tally{columns: len(columns), hasher: xxh3.New(), step: (*Tally).takeHeader}
	for i, c := range columns {
		if HasNumbers(c.OID) {
			if t.masked == nil {
				t.masked = make([]bool, len(columns))
			}
			t.masked[i] = true
		}
	}
	return t
}

// Write takes a part. Errors: fault.Corrupt for what is not COPY's binary form of so many columns; once it failed, every call
// fails.
func (t *Tally) Write(part []byte) (int, error) {
	for rest := part; len(rest) > 0 && t.failed == nil; {
		rest = t.step(t, rest)
	}
	if t.failed != nil {
		return 0, t.failed
	}
	return len(part), nil
}

// Digest is what was counted. Errors: Write's; fault.Corrupt when the form's own end did not come: a stream that was cut
// between two rows reads well up to there.
func (t *Tally) Digest() (Digest, error) {
	if t.failed == nil && !t.ended {
		t.fail("they end after %d rows without the end's mark", t.rows)
	}
	return Digest{Rows: t.rows, Sum: t.sum.Bytes()}, t.failed
}

func (t *Tally) add(row xxh3.Uint128) {
	var carry uint64
	t.sum.Lo, carry = bits.Add64(t.sum.Lo, row.Lo, 0)
	t.sum.Hi, _ = bits.Add64(t.sum.Hi, row.Hi, carry)
	t.rows++
}

func (t *Tally) fail(form string, args ...any) {
	t.failed = fault.New(fault.Corrupt, "read rows: "+form, args...)
}

// gather collects so many bytes, which may come in parts. Nil: more must come.
func (t *Tally) gather(part []byte, n int) (whole, rest []byte) {
	if len(t.small) == 0 && len(part) >= n {
		return part[:n], part[n:]
	}
	took := min(n-len(t.small), len(part))
	t.small = append(t.small, part[:took]...)
	if len(t.small) < n {
		return nil, nil
	}
	whole, t.small = t.small, t.small[:0]
	return whole, part[took:]
}

func (t *Tally) takeHeader(part []byte) []byte {
	header, rest := t.gather(part, len(copyHeader))
	switch {
	case header == nil:
	case string(header) != copyHeader:
		t.fail("they do not begin as COPY's binary form does")
	default:
		t.step = (*Tally).takeRows
	}
	return rest
}

// takeRows takes the rows that are whole, at once, and then a part of the next one.
func (t *Tally) takeRows(part []byte) []byte {
	for len(t.small) == 0 {
		size := t.rowSize(part)
		if size == 0 {
			break
		}
		t.add(t.hash(part[:size]))
		part = part[size:]
	}
	count, rest := t.gather(part, countBytes)
	if count == nil {
		return rest
	}
	switch fields := int(signed16(count)); {
	case fields == trailer:
		t.step, t.ended = (*Tally).refuse, true
	case fields != t.columns:
		t.fail("row %d has %d fields, want %d", t.rows+1, fields, t.columns)
	case t.rows == math.MaxInt64:
		t.fail("there are more than can be counted")
	default:
		t.hasher.Reset()
		_, _ = t.hasher.Write(count)
		t.field = 0
		t.next()
	}
	return rest
}

// refuse is what follows the end.
func (t *Tally) refuse(part []byte) []byte {
	t.fail("%d bytes follow their end", len(part))
	return nil
}

// rowSize is how many bytes the row in front has, 0 when it is not whole or is none.
func (t *Tally) rowSize(part []byte) int {
	if len(part) < countBytes || int(signed16(part)) != t.columns || t.rows == math.MaxInt64 {
		return 0
	}
	at := countBytes
	for range t.columns {
		if len(part)-at < lengthBytes {
			return 0
		}
		length := int(signed32(part[at:]))
		if length < null {
			return 0
		}
		at += lengthBytes
		if length = max(length, 0); len(part)-at < length {
			return 0
		}
		at += length
	}
	if t.masked != nil && at > MaxMasked { // it would be copied
		return 0
	}
	return at
}

// hash is that of a row that is whole.
func (t *Tally) hash(row []byte) xxh3.Uint128 {
	if t.masked == nil {
		return xxh3.Hash128(row)
	}
	t.kept = append(t.kept[:0], row...)
	at := countBytes
	for _, masked := range t.masked {
		length := max(int(signed32(row[at:])), 0)
		at += lengthBytes
		if masked && length <= MaxMasked {
			mask(t.kept[at : at+length])
		}
		at += length
	}
	return xxh3.Hash128(t.kept)
}

// next goes on to the next field of a row that came in parts, or ends the row.
func (t *Tally) next() {
	t.step = (*Tally).takeLength
	if t.field == t.columns {
		t.add(t.hasher.Sum128())
		t.step = (*Tally).takeRows
	}
}

func (t *Tally) takeLength(part []byte) []byte {
	raw, rest := t.gather(part, lengthBytes)
	if raw == nil {
		return rest
	}
	length := int64(signed32(raw))
	if length < null {
		t.fail("row %d has a field of %d bytes", t.rows+1, length)
		return nil
	}
	_, _ = t.hasher.Write(raw)
	t.left = max(length, 0)
	t.keep, t.kept = t.masked != nil && t.masked[t.field] && length <= MaxMasked, t.kept[:0]
	t.step = (*Tally).takeValue
	if t.left == 0 {
		t.field++
		t.next()
	}
	return rest
}

func (t *Tally) takeValue(part []byte) []byte {
	n := min(t.left, int64(len(part)))
	if t.left -= n; t.keep {
		t.kept = append(slices.Grow(t.kept, int(n)), part[:n]...)
	} else {
		_, _ = t.hasher.Write(part[:n])
	}
	if t.left == 0 {
		if t.keep {
			mask(t.kept)
			_, _ = t.hasher.Write(t.kept)
		}
		t.field++
		t.next()
	}
	return part[n:]
}

func signed16(raw []byte) int16 { return int16(binary.BigEndian.Uint16(raw)) } //nolint:gosec // it is a signed number
func signed32(raw []byte) int32 { return int32(binary.BigEndian.Uint32(raw)) } //nolint:gosec // it is a signed number
