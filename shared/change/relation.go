package change

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Name is a table's name in two parts, without quotes.
type Name struct {
	Schema string
	Table  string
}

// MaxNameBytes is the longest identifier that PostgreSQL keeps whole. It cuts longer ones with a mere notice, so that two
// tables may become one.
const MaxNameBytes = 63

// ParseName reads "schema.table". Only the first dot separates, so a table's name may hold dots and a schema's may not.
func ParseName(text string) (Name, error) {
	schema, table, found := strings.Cut(text, ".")
	if !found {
		return Name{}, fmt.Errorf("parse table name %q: want SCHEMA.TABLE", text)
	}
	n := Name{Schema: schema, Table: table}
	return n, n.Validate()
}

// String prints the name as "schema.table".
func (n Name) String() string { return n.Schema + "." + n.Table }

// IsZero says whether nothing is named.
func (n Name) IsZero() bool { return n == Name{} }

// Validate refuses names that PostgreSQL would cut or cannot hold.
func (n Name) Validate() error {
	for _, part := range []string{n.Schema, n.Table} {
		switch {
		case part == "":
			return fmt.Errorf("table name %q has an empty part", n.String())
		case len(part) > MaxNameBytes:
			return fmt.Errorf("table name %q has a part of %d bytes: PostgreSQL keeps %d", n.String(), len(part), MaxNameBytes)
		case strings.ContainsRune(part, 0):
			return fmt.Errorf("table name %q holds a zero byte", n.String())
		}
	}
	return nil
}

// Relation is a table of the target as decoders need to know it.
type Relation struct {
	Name    Name
	Columns []Column
	// Key lists the indexes of the columns that identify a row, in key order; empty when the table has no usable key.
	Key []int
	// InOrder says that changes of this table must take effect one by one, in order, because row triggers, rules or
	// referential actions would notice any other way.
	InOrder bool
	// Further says that the table has unique or exclusion constraints beside its key.
	Further bool
	// Parents are the other tables that this one's foreign keys point to.
	Parents []Name

	// Adapter is what the adapter that made the relation keeps with it. Nobody else looks at it.
	Adapter any

	byName map[string]int
}

// NewRelation makes a relation. columns and key are kept, not copied.
func NewRelation(name Name, columns []Column, key []int) *Relation {
	r := &Relation{Name: name, Columns: columns, Key: key, byName: make(map[string]int, len(columns))}
	for i := range columns {
		r.byName[columns[i].Name] = i
	}
	return r
}

// Column returns the index of the column of that name, and whether there is one.
func (r *Relation) Column(name []byte) (int, bool) {
	i, ok := r.byName[string(name)]
	return i, ok
}

// IsKey says whether the column of that index is part of the key.
func (r *Relation) IsKey(column int) bool { return slices.Contains(r.Key, column) }

// Column is a column of a relation.
type Column struct {
	Name      string
	Type      Type
	Generated bool // computed by the target: never written
	Fixed     bool // may be given when a row is made and never changed: GENERATED ALWAYS AS IDENTITY
}

// Type is a column's type as far as the meaning of a wire value hangs on it.
type Type struct {
	Kind Kind
	// Name is the type as PostgreSQL writes it, with its schema where that is not pg_catalog.
	Name string
	// Scale is the scale of a numeric with one; see HasScale. It may be negative.
	Scale    int
	HasScale bool
	// Precision is the number of digits of fractional seconds of a time or timestamp: 0 to 6.
	Precision int
	// Length is the declared length of a bit string, 0 when none is declared.
	Length int
	// Elem is the type of an array's elements; nil otherwise.
	Elem *Type
	// Equality says when two texts of the type are one value to the target.
	Equality Equality
}

// Equality says how far the texts of two values tell whether the target holds them equal.
type Equality uint8

// The equalities.
const (
	EqualityUnknown Equality = iota // other texts may be equal: 1 and 1.0, citext, char(n), -0.0
	EqualityText                    // equal only if the texts are
	EqualityInteger                 // equal only if the texts are, both without leading zeros or signs to spare
	EqualityUUID                    // equal only if the texts are, both in lower case with four hyphens
)

// Kind groups types whose values take the same form on the wire. Domains have the kind of what they are over.
type Kind uint8

// The kinds.
const (
	KindOther Kind = iota // text on the wire is the type's own text: text, varchar, uuid, enum, inet, ranges and so on
	KindBool
	KindInteger // int2, int4, int8, oid
	KindFloat
	KindNumeric
	KindMoney
	KindBytea
	KindDate
	KindTime
	KindTimeTZ
	KindTimestamp
	KindTimestampTZ
	KindInterval
	KindJSON // json and jsonb
	KindHStore
	KindBit
	KindVarBit
	KindPoint
	KindArray
)

// Catalog finds the relation that a name of the source leads to.
//
// Errors: fault.Misconfigured when the target has no such table, with the fix in the hint. A nil relation without an
// error means that the flow leaves this table out.
type Catalog interface {
	Relation(ctx context.Context, source Name) (*Relation, error)
}
