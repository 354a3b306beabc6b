package plain

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"tidemark/shared/change"
	"tidemark/shared/format/plain/cell"
)

// Options say what an application's documents mean. Only the table must be given.
type Options struct {
	// Topic is the topic whose records the decoder gets. It must be given where the table hangs on it.
	Topic string
	// Table names the table as SCHEMA.TABLE, in which ${topic}, ${topic:N}, ${header:NAME} and ${field:NAME} stand for
	// the whole topic, its Nth part between dots (the last is -1), a header and a field of the document. The first dot
	// outside of them separates schema and table; what stands in for one never does.
	Table string
	// Tables names the tables of topics, before Table is asked.
	Tables map[string]change.Name

	// Key says where a row's key stands.
	Key Key
	// Columns leads fields to columns of another name. Other fields belong to the column of their own name.
	Columns map[string]string
	// Modes say what JSON leaves open in values.
	Modes cell.Modes

	// Absent is what a record without a field for a column means: Keep, Update, Null or Halt.
	Absent Policy
	// UnknownField is for fields that lead to no column of the target: Halt or Ignore.
	UnknownField Policy
	// Tombstone is what a key with the value null means: Delete or Ignore.
	Tombstone Policy
	// DeleteField is a field that is true in a document whose row is to be deleted; none when empty.
	DeleteField string
}

// Key says where a row's key stands in a record. Which columns it has, the target's table says.
type Key struct {
	From Source
	// Columns leads fields of the record's key, or headers, to columns of another name.
	Columns map[string]string
}

// Source is a place for a row's key.
type Source string

// The places.
const (
	// RecordKey is the record's key in JSON: an object with a field for each column of the key and no other, or a
	// scalar for a key of one column. It is the default.
	RecordKey Source = "record_key"
	// RecordKeyText is the record's key as it stands, for a key of one column.
	RecordKeyText Source = "record_key_text"
	// Value is the document.
	Value Source = "value"
	// Headers is the record's headers, one for each column.
	Headers Source = "headers"
)

// Policy says what something that is not an ordinary field with a value means.
type Policy string

// The policies.
const (
	Halt   Policy = "halt"   // the record is refused
	Ignore Policy = "ignore" // nothing
	Delete Policy = "delete" // the row is deleted
	Keep   Policy = "keep"   // a row that is there keeps the column, a new one has its default
	Update Policy = "update" // the same, and there must be a row
	Null   Policy = "null"   // NULL
)

func (o Options) withDefaults() Options {
	o.Key.From = cmp.Or(o.Key.From, RecordKey)
	o.Modes = o.Modes.WithDefaults()
	o.Absent = cmp.Or(o.Absent, Keep)
	o.UnknownField = cmp.Or(o.UnknownField, Halt)
	o.Tombstone = cmp.Or(o.Tombstone, Delete)
	return o
}

func (o Options) validate() error {
	if err := o.Modes.Validate(); err != nil {
		return err
	}
	if err := oneOf("key from", o.Key.From, RecordKey, RecordKeyText, Value, Headers); err != nil {
		return err
	}
	if err := oneOf("absent", o.Absent, Keep, Update, Null, Halt); err != nil {
		return err
	}
	if err := oneOf("unknown field", o.UnknownField, Halt, Ignore); err != nil {
		return err
	}
	if err := oneOf("tombstone", o.Tombstone, Delete, Ignore); err != nil {
		return err
	}
	if len(o.Key.Columns) > 0 && o.Key.From != RecordKey && o.Key.From != Headers {
		return fmt.Errorf("key columns: a key from %s has no names to lead to columns", o.Key.From)
	}
	for _, topic := range slices.Sorted(maps.Keys(o.Tables)) {
		if err := o.Tables[topic].Validate(); err != nil {
			return fmt.Errorf("table of topic %s: %w", topic, err)
		}
	}
	if err := checkNames("columns", o.Columns); err != nil {
		return err
	}
	if err := checkNames("key columns", o.Key.Columns); err != nil {
		return err
	}
	led := slices.Sorted(maps.Values(o.Key.Columns))
	if len(slices.Compact(led)) < len(o.Key.Columns) {
		return errors.New("key columns: two names lead to one column")
	}
	return nil
}

func checkNames(what string, columns map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		if name == "" || columns[name] == "" {
			return fmt.Errorf("%s: %q leads to %q: want two names", what, name, columns[name])
		}
	}
	return nil
}

func oneOf[T ~string](what string, value T, allowed ...T) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("%s %q: want one of %q", what, value, allowed)
}
