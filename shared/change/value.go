package change

import "slices"

// Value is one cell. The zero value is missing.
type Value struct {
	text  []byte
	state valueState
}

type valueState uint8

const (
	valueMissing valueState = iota
	valueNull
	valueText
)

// Missing is a cell that the record does not carry: the row keeps what it has.
func Missing() Value { return Value{} }

// Null is SQL NULL.
func Null() Value { return Value{state: valueNull} }

// Text is a value in PostgreSQL's text form. The bytes are shared, not copied.
func Text(text []byte) Value { return Value{text: text, state: valueText} }

// IsMissing says whether the record did not carry the cell.
func (v Value) IsMissing() bool { return v.state == valueMissing }

// IsNull says whether the cell is SQL NULL.
func (v Value) IsNull() bool { return v.state == valueNull }

// Bytes is the text of the cell, nil for NULL and for a missing cell; an empty text is not nil.
func (v Value) Bytes() []byte {
	if v.state == valueText && v.text == nil {
		return []byte{}
	}
	return v.text
}

// String prints the cell for tests and never for logs: cells are payload.
func (v Value) String() string {
	switch v.state {
	case valueMissing:
		return "(missing)"
	case valueNull:
		return "NULL"
	case valueText:
		return string(v.text)
	}
	return "(invalid)"
}

// Set collects the changes of a delivery. Cells and texts come from slabs that grow by doubling, so a record allocates
// nothing once the slabs are warm. Slices handed out stay valid for the life of the Set.
type Set struct {
	Changes []Change
	cells   []Value
	text    []byte

	records int // how many are expected
}

// What a record is taken to need of the slabs, and the bounds of a first slab.
const (
	cellsARecord, leastCells, mostCells = 16, 32, 1 << 14
	textARecord, leastText, mostText    = 64, 256, 1 << 18
)

// Expect prepares the set for a number of records, so that neither few records pay for large slabs nor many for growing.
func (s *Set) Expect(records int) {
	s.records = records
	s.Changes = slices.Grow(s.Changes, records)
}

func (s *Set) firstCells() int { return min(max(leastCells, s.records*cellsARecord), mostCells) }

func (s *Set) firstText() int { return min(max(leastText, s.records*textARecord), mostText) }

// Cells returns n missing cells.
func (s *Set) Cells(n int) []Value {
	if cap(s.cells)-len(s.cells) < n {
		s.cells = make([]Value, 0, max(s.firstCells(), n, 2*cap(s.cells)))
	}
	start := len(s.cells)
	s.cells = s.cells[: start+n : cap(s.cells)]
	return s.cells[start : start+n : start+n]
}

// Grow returns an empty slice with room for n bytes, for building the text of a cell by append. Hand what was built to
// Keep before the next Grow; a text that outgrew its room is kept just the same.
func (s *Set) Grow(n int) []byte {
	if cap(s.text)-len(s.text) < n {
		s.text = make([]byte, 0, max(s.firstText(), n, 2*cap(s.text)))
	}
	return s.text[len(s.text):len(s.text):cap(s.text)]
}

// Keep makes a text that was built on the last Grow permanent and returns it with its capacity cut.
func (s *Set) Keep(text []byte) []byte {
	if free := s.text[len(s.text):cap(s.text)]; len(text) > 0 && len(text) <= len(free) && &text[0] == &free[:1][0] {
		s.text = s.text[: len(s.text)+len(text) : cap(s.text)]
	}
	return text[:len(text):len(text)]
}

// Add appends a change.
func (s *Set) Add(c Change) { s.Changes = append(s.Changes, c) }
