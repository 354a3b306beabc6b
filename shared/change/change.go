// Package change owns what a record means for the target: which row of which relation becomes what.
//
// Values are PostgreSQL text from end to end. A column is a value, NULL or missing, and missing is a state of its own,
// never a string inside the value. Decoders write changes into a Set, whose slabs hold all cells of a delivery, so that
// a record costs no allocation of its own. The package does no I/O and knows neither a wire format nor SQL. A Set
// belongs to one goroutine; Relations are immutable and shared.
package change

import "tidemark/shared/position"

// Op is what a change does to its row.
type Op uint8

// The operations.
const (
	// Insert makes Row the row of its key, whether or not there is one: snapshots and redelivered streams repeat rows.
	// A missing cell is a column that the record does not know of: a row that is there keeps it, a new one has the
	// default. With Move it is a value that the other half of the move holds.
	Insert Op = iota + 1
	// Update changes the cells of Row that are not missing. With missing cells the row must exist.
	Update
	// Delete removes the row of Key, or in a relation without a key one row that equals Old. With Move the row's values
	// are kept for the half that creates the new key.
	Delete
	// Truncate removes every row of the relation.
	Truncate
)

// String is the operation's name in messages and metrics.
func (o Op) String() string {
	switch o {
	case Insert:
		return "insert"
	case Update:
		return "update"
	case Delete:
		return "delete"
	case Truncate:
		return "truncate"
	}
	return "unknown"
}

// Change is one change of one row, or of all rows for Truncate.
type Change struct {
	Relation *Relation
	Op       Op
	Offset   position.Offset // of the record that carried it

	// Row has one cell a column of Relation, for Insert and Update.
	Row []Value
	// Key has one cell a key column, in the order of Relation.Key; nil in a relation without a key.
	Key []Value
	// Old has one cell a column: the row before, for Update and Delete in a relation without a key.
	Old []Value
	// Move joins the two halves of a changed key; nil otherwise.
	Move *Move
}

// Move names a change of a row's key, which some sources send as a delete of the old key and an insert of the new one,
// perhaps through two partitions.
type Move struct {
	// ID is the same in both halves and in no other change of the flow's source.
	ID string
	// From and To are the keys as one JSON text, for people.
	From, To string
}

// HasMissing says whether a cell of Row is missing.
func (c *Change) HasMissing() bool {
	for i := range c.Row {
		if c.Row[i].IsMissing() && !c.Relation.Columns[i].Generated {
			return true
		}
	}
	return false
}

// Size is the number of bytes of all cells.
func (c *Change) Size() int {
	size := 0
	for _, cells := range [][]Value{c.Row, c.Key, c.Old} {
		for i := range cells {
			size += len(cells[i].text)
		}
	}
	return size
}
