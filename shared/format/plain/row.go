package plain

import (
	"bytes"
	"fmt"
	"slices"

	"tidemark/shared/change"
	"tidemark/shared/fault"
	"tidemark/shared/format/jsonnode"
	"tidemark/shared/format/plain/cell"
	"tidemark/shared/record"
)

// shape is what documents of a relation look like.
type shape struct {
	relation *change.Relation
	forms    []cell.Form // one a column
	headers  []string    // one a key column, when headers hold the key
}

// of is the shape for a relation. A catalog that was read again has another Relation, so the shape is made again.
func (s *shape) of(relation *change.Relation, o *Options) (*shape, error) {
	if s.relation == relation {
		return s, nil
	}
	made := shape{relation: relation, forms: make([]cell.Form, len(relation.Columns))}
	for i := range relation.Columns {
		made.forms[i] = cell.NewForm(&relation.Columns[i].Type, o.Modes)
	}
	if err := made.setHeaders(o); err != nil {
		return nil, err
	}
	*s = made
	return s, nil
}

// reader makes the change of one record on a known relation.
type reader struct {
	*Decoder
	*shape

	set      *change.Set
	rec      *record.Record
	document jsonnode.Node // none in a tombstone
	deletes  bool
}

func (r *reader) change() (change.Change, error) {
	c := change.Change{Relation: r.relation, Op: change.Insert, Offset: r.rec.Offset}
	keyed := len(r.relation.Key) > 0
	switch {
	case r.deletes && !keyed:
		return c, r.undeletable()
	case r.deletes:
		c.Op = change.Delete
	}
	var err error
	if !r.deletes || r.document != nil && r.options.Key.From == Value {
		if c.Row, err = r.row(); err != nil {
			return c, err
		}
	}
	if keyed {
		if c.Key, err = r.key(c.Row); err != nil {
			return c, err
		}
	}
	if r.deletes {
		c.Row = nil
		return c, nil
	}
	return c, r.complete(&c)
}

func (r *reader) undeletable() error {
	otherwise := "say tombstones: ignore, which keeps the rows"
	if r.document != nil {
		otherwise = "remove delete_field, which keeps the rows"
	}
	return poison("a delete, and the table has no key that tells which row").WithHint(
		"give the table a primary key, or %s", otherwise)
}

// row reads the document into one cell a column; of a document that deletes, only the key.
func (r *reader) row() ([]change.Value, error) {
	cells := r.set.Cells(len(r.relation.Columns))
	for w := r.document.Walk(); ; {
		name, value, ok := w.Member()
		if !ok {
			return cells, nil
		}
		to := name
		if renamed, ok := r.columns[string(name)]; ok {
			to = renamed
		}
		i, known := r.relation.Column(to)
		switch {
		case r.deletes && (!known || !r.relation.IsKey(i)):
			continue
		case !known:
			if err := r.unknown(name, to); err != nil {
				return nil, err
			}
			continue
		case r.relation.Columns[i].Generated:
			continue
		case !cells[i].IsMissing():
			return nil, poison("column %s: two fields lead to it", to)
		}
		var err error
		if cells[i], err = r.forms[i].Value(value, r.set); err != nil {
			return nil, r.refused(i, err)
		}
	}
}

// refused is the error of a value that its column does not take.
func (r *reader) refused(column int, err error) error {
	name := r.relation.Columns[column].Name
	if fault.ClassOf(err) != fault.Unclassified {
		return fmt.Errorf("column %s: %w", name, err)
	}
	return poison("column %s: %w", name, err)
}

// unknown decides on a field without a column. What the options name has its use, with a column or without.
func (r *reader) unknown(name, to []byte) error {
	if slices.Contains(r.watched, string(name)) {
		return nil
	}
	if !bytes.Equal(name, to) {
		return fault.New(fault.Misconfigured, "field %.100q: the column %s that it leads to is not in the target table %s",
			name, to, r.relation.Name).WithHint("correct the name in the flow file, or add the column")
	}
	if r.options.UnknownField == Ignore {
		return nil
	}
	return fault.New(fault.Misconfigured, "field %.100q: no column of the target table %s", name, r.relation.Name).
		WithHint("add the column, lead the field to another one, or say on_unknown_column: ignore, which drops its values")
}

// complete decides on the columns that the record does not have.
func (r *reader) complete(c *change.Change) error {
	if r.options.Absent == Update && len(c.Key) > 0 && c.HasMissing() {
		c.Op = change.Update
	}
	if r.options.Absent != Null && r.options.Absent != Halt {
		return nil
	}
	for i := range c.Row {
		column := &r.relation.Columns[i]
		switch {
		case !c.Row[i].IsMissing() || column.Generated || column.Fixed:
		case r.options.Absent == Null:
			c.Row[i] = change.Null()
		default:
			return poison("column %s: no field for it", column.Name)
		}
	}
	return nil
}
