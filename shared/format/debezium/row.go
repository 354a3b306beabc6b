package debezium

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tidemark/shared/change"
	"tidemark/shared/fault"
	"tidemark/shared/format/debezium/wire"
	"tidemark/shared/format/jsonnode"
	"tidemark/shared/record"
)

// reader makes the change of one event on a known relation.
type reader struct {
	*Decoder
	set      *change.Set
	event    event
	relation *change.Relation
	partial  bool // whether a value was unavailable
}

func (r *reader) change(rec *record.Record) (change.Change, error) {
	c := change.Change{Relation: r.relation, Offset: rec.Offset}
	var err error
	switch r.event.op {
	case opRead, opCreate:
		c.Op = change.Insert
		c.Move, err = r.move(headerOldKey, rec)
	case opUpdate, opUpsert:
		c.Op = change.Update
	case opDelete:
		c.Op = change.Delete
		c.Move, err = r.move(headerNewKey, rec)
	case opTruncate:
		c.Op = change.Truncate
		return c, nil
	case opNone, opMessage:
		return c, fault.New(fault.Bug, "an event without a change")
	}
	if err != nil {
		return c, fault.Wrap(fault.Poison, err)
	}
	if c.Op != change.Delete {
		if c.Row, err = r.row("after", &r.event.after); err != nil {
			return c, err
		}
	}
	if err := r.identify(&c, rec); err != nil {
		return c, err
	}
	switch {
	case r.event.op == opUpsert && !r.partial:
		c.Op = change.Insert
	case c.Op == change.Insert && c.Move == nil && r.partial:
		return c, poison("an insert with an unavailable value and no old row to take it from: no header %s, or no position",
			headerOldKey)
	}
	return c, nil
}

// identify sets what tells the row: its key, or the whole row before.
func (r *reader) identify(c *change.Change, rec *record.Record) (err error) {
	if len(r.relation.Key) > 0 {
		return r.identifyByKey(c, rec)
	}
	if c.Op == change.Insert {
		return nil
	}
	if r.event.op == opUpsert {
		c.Op = change.Insert
		return nil
	}
	if r.event.before.IsNull() || r.event.flat {
		return r.withoutIdentity(rec)
	}
	if c.Old, err = r.row("before", &r.event.before); err != nil {
		return err
	}
	if err := r.checkOld(c.Old, &r.event.before); err != nil {
		return err
	}
	for i := range c.Row { // an unchanged value out of line is whole in the row before
		if c.Row[i].IsMissing() {
			c.Row[i] = c.Old[i]
		}
	}
	return nil
}

func (r *reader) identifyByKey(c *change.Change, rec *record.Record) (err error) {
	if c.Key, err = r.key(rec.Key, c.Row); err != nil || c.Row == nil {
		return err
	}
	for at, column := range r.relation.Key { // the image may lack what the key has
		switch {
		case r.relation.Columns[column].Generated:
		case c.Row[column].IsMissing():
			c.Row[column] = c.Key[at]
		case !bytes.Equal(c.Row[column].Bytes(), c.Key[at].Bytes()):
			// Partition and order follow the key: a row under another one would overtake itself.
			return r.keyMismatch("column " + r.relation.Columns[column].Name + " has one value in the key and another in the row")
		}
	}
	return nil
}

// checkOld refuses a row before that could match another row.
func (r *reader) checkOld(old []change.Value, image *jsonnode.Object) error {
	for w := image.Members(); w.Next(); {
		i, known := r.relation.Column(w.Name())
		if known && old[i].IsMissing() && !r.relation.Columns[i].Generated {
			return poison("column %s: unavailable in the row before, which alone tells the row", r.relation.Columns[i].Name)
		}
	}
	return nil
}

func (r *reader) withoutIdentity(rec *record.Record) error {
	const hint = "set REPLICA IDENTITY FULL on the source table, whose records then carry the row before; " +
		"or give both tables a primary key"
	if rec.Key.IsNull() {
		return poison("neither a key nor the row before").WithHint(hint)
	}
	return fault.New(fault.Misconfigured, "the record has a key and the target table has none").WithHint(hint)
}

// row reads a row image into one cell a column. Columns that the image does not name stay missing.
func (r *reader) row(field string, image *jsonnode.Object) ([]change.Value, error) {
	if image.Kind() != '{' {
		return nil, poison("field %s: %w", field, image.Mismatch("an object"))
	}
	cells := r.set.Cells(len(r.relation.Columns))
	shape := r.shape(r.event.schema)
	for w, at := image.Members(), 0; w.Next(); at++ {
		name := w.Name()
		i, known := shape.column(at, name)
		if !known {
			if err := r.unknown(name); err != nil {
				return nil, err
			}
			continue
		}
		if r.relation.Columns[i].Generated {
			continue
		}
		var err error
		if cells[i], err = r.cell(i, &shape.forms[i], w.Node()); err != nil {
			return nil, err
		}
	}
	return cells, nil
}

// cell reads the value of a column.
func (r *reader) cell(column int, f *wire.Form, n jsonnode.Node) (change.Value, error) {
	cell, err := f.Value(n, &r.unavailable, r.set)
	name := r.relation.Columns[column].Name
	switch {
	case err == nil:
		r.partial = r.partial || cell.IsMissing()
		return cell, nil
	case errors.Is(err, wire.ErrLost) && r.options.Unrepresentable == Null:
		return change.Null(), nil
	case fault.ClassOf(err) != fault.Unclassified:
		return change.Value{}, fmt.Errorf("column %s: %w", name, err)
	}
	return change.Value{}, poison("column %s: %w", name, err)
}

func (r *reader) unknown(name []byte) error {
	if r.options.UnknownColumn == Ignore || r.event.flat && bytes.HasPrefix(name, []byte(flatPrefix)) {
		return nil
	}
	return fault.New(fault.Misconfigured, "column %s: not in the target table %s", name, r.relation.Name).WithHint(
		"run `tidemark ddl` and add the column, or say on_unknown_column: ignore, which drops its values")
}

// key reads the record's key into one cell a key column. What it does not name is taken from the row, and of a record
// without any key from the row before; with a key, the row before is made up in every other column.
func (r *reader) key(data record.Data, row []change.Value) ([]change.Value, error) {
	cells := r.set.Cells(len(r.relation.Key))
	hasKey, err := r.readKey(cells, data)
	if err != nil {
		return nil, err
	}
	if row == nil && !hasKey && r.event.before.Kind() == '{' {
		if row, err = r.row("before", &r.event.before); err != nil {
			return nil, err
		}
	}
	var absent []string
	for at, column := range r.relation.Key {
		if cells[at].IsMissing() && row != nil {
			cells[at] = row[column]
		}
		switch name := r.relation.Columns[column].Name; {
		case cells[at].IsMissing():
			absent = append(absent, name)
		case cells[at].IsNull():
			return nil, poison("key column %s: null", name)
		}
	}
	switch {
	case absent == nil:
		return cells, nil
	case hasKey:
		return nil, r.keyMismatch("the record's key lacks " + strings.Join(absent, ", "))
	}
	return nil, poison("no key in the record, and no %s in its row", strings.Join(absent, ", "))
}

func (r *reader) readKey(cells []change.Value, data record.Data) (bool, error) {
	if data.IsNull() {
		return false, nil
	}
	payload, schema, err := r.document(&r.keys, data.Bytes())
	if err != nil {
		return false, poison("record key: %w", err)
	}
	if payload.IsNull() {
		return false, nil
	}
	if payload.Kind() != '{' {
		return false, poison("record key: %w", payload.Mismatch("an object"))
	}
	shape := r.shape(schema)
	for w, place := payload.Members(), 0; w.Next(); place++ {
		name := w.Name()
		i, known := shape.column(place, name)
		at := slices.Index(r.relation.Key, i)
		if !known || at < 0 {
			return false, r.keyMismatch(fmt.Sprintf("the record's key has %s, which is not part of it", name))
		}
		if cells[at], err = r.cell(i, &shape.forms[i], w.Node()); err != nil {
			return false, err
		}
	}
	return true, nil
}

func (r *reader) keyMismatch(detail string) error {
	return fault.New(fault.Misconfigured, "key of %s: %s", r.relation.Name, detail).WithHint(
		"give the target table the key of the source table, or remove message.key.columns from the connector")
}
