package plain

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"tidemark/shared/change"
	"tidemark/shared/fault"
	"tidemark/shared/format/jsonnode"
)

// key reads the row's key into one cell a key column and joins it with the row, which a tombstone does not have.
func (r *reader) key(row []change.Value) ([]change.Value, error) {
	cells := r.set.Cells(len(r.relation.Key))
	var err error
	switch r.options.Key.From {
	case RecordKey:
		err = r.readRecordKey(cells)
	case RecordKeyText:
		err = r.readKeyText(cells)
	case Headers:
		err = r.readHeaders(cells)
	case Value:
		err = r.readFields(cells, row)
	}
	if err != nil {
		return nil, err
	}
	for at, column := range r.relation.Key {
		name := r.relation.Columns[column].Name
		if cells[at].IsNull() {
			return nil, poison("key column %s: null", name)
		}
		if row == nil || r.relation.Columns[column].Generated {
			continue
		}
		switch {
		case row[column].IsMissing():
			row[column] = cells[at]
		case row[column].IsNull() || !bytes.Equal(row[column].Bytes(), cells[at].Bytes()):
			return nil, poison("key column %s: the field says otherwise than the %s", name, r.place()).WithHint(
				"write the same text in both places, leave the field out, or say where the key is: key: {from: …}")
		}
	}
	return cells, nil
}

// place names the place of the key for a message.
func (r *reader) place() string {
	switch r.options.Key.From {
	case RecordKey, RecordKeyText:
		return "record's key"
	case Headers:
		return "header"
	case Value:
	}
	return "document"
}

// readFields takes the key out of the document.
func (r *reader) readFields(cells, row []change.Value) error {
	if row == nil {
		return fault.New(fault.Misconfigured, "a tombstone, and the key stands in the value").WithHint(
			"say key: {from: record_key} if the record's key tells the row, or tombstones: ignore, which keeps the rows")
	}
	for at, column := range r.relation.Key {
		if cells[at] = row[column]; cells[at].IsMissing() {
			return poison("key column %s: no field for it", r.relation.Columns[column].Name)
		}
	}
	return nil
}

// readRecordKey reads the record's key in JSON.
func (r *reader) readRecordKey(cells []change.Value) error {
	if r.rec.Key.IsNull() || isNullText(r.rec.Key.Bytes()) {
		return r.noKey()
	}
	root, err := jsonnode.Parse(r.rec.Key.Bytes())
	if err != nil {
		return poison("record key: %w", err).WithHint(
			"if the key is a text and no JSON, say key: {from: record_key_text}")
	}
	switch root.Kind() {
	case '{':
		return r.readKeyObject(cells, root)
	case '[':
		return poison("record key: %w", root.Mismatch("an object or a scalar"))
	}
	column, err := r.onlyKeyColumn()
	if err != nil {
		return err
	}
	if cells[0], err = r.forms[column].Value(root, r.set); err != nil {
		return r.refused(column, err)
	}
	return nil
}

// isNullText says whether a key in JSON is null, which names no row.
func isNullText(key []byte) bool { return string(bytes.Trim(key, " \t\r\n")) == "null" }

// readKeyObject reads an object whose fields must be the columns of the key: with fewer columns one row would be made
// of two, with more no row could be told.
func (r *reader) readKeyObject(cells []change.Value, root jsonnode.Node) error {
	for w := root.Walk(); ; {
		name, value, ok := w.Member()
		if !ok {
			return r.checkWhole(cells)
		}
		to := name
		if renamed, ok := r.keyColumns[string(name)]; ok {
			to = renamed
		}
		i, known := r.relation.Column(to)
		at := slices.Index(r.relation.Key, i)
		switch {
		case !known || at < 0:
			return r.misfit(fmt.Sprintf("the record's key has %.100q, which leads to no column of it", name))
		case !cells[at].IsMissing():
			return poison("key column %s: two fields of the record's key lead to it", to)
		}
		var err error
		if cells[at], err = r.forms[i].Value(value, r.set); err != nil {
			return r.refused(i, err)
		}
	}
}

func (r *reader) checkWhole(cells []change.Value) error {
	var absent []string
	for at, column := range r.relation.Key {
		if cells[at].IsMissing() {
			absent = append(absent, r.relation.Columns[column].Name)
		}
	}
	if absent == nil {
		return nil
	}
	return r.misfit("the record's key lacks " + strings.Join(absent, ", "))
}

func (r *reader) misfit(detail string) error {
	return fault.New(fault.Misconfigured, "key of %s: %s", r.relation.Name, detail).WithHint(
		"give the target table the key that the records have, or say where the key is: key: {from: …, columns: …}")
}

// readKeyText takes the record's key as it stands.
func (r *reader) readKeyText(cells []change.Value) error {
	if r.rec.Key.IsNull() {
		return r.noKey()
	}
	column, err := r.onlyKeyColumn()
	if err != nil {
		return err
	}
	if cells[0], err = r.forms[column].Text(r.rec.Key.Bytes(), r.set); err != nil {
		return r.refused(column, err)
	}
	return nil
}

func (r *reader) onlyKeyColumn() (int, error) {
	if len(r.relation.Key) > 1 {
		return 0, r.misfit(fmt.Sprintf("the record's key is one value, not %d", len(r.relation.Key)))
	}
	return r.relation.Key[0], nil
}

func (r *reader) noKey() error {
	return poison("the record has no key, which tells the row").WithHint(
		"write a key, or say where else the key is: key: {from: value} or {from: headers}")
}

// setHeaders finds the header of each key column.
func (s *shape) setHeaders(o *Options) error {
	if o.Key.From != Headers || len(s.relation.Key) == 0 {
		return nil
	}
	s.headers = make([]string, len(s.relation.Key))
	for at, column := range s.relation.Key {
		s.headers[at] = s.relation.Columns[column].Name
	}
	for name, to := range o.Key.Columns {
		i, known := s.relation.Column([]byte(to))
		at := slices.Index(s.relation.Key, i)
		if !known || at < 0 {
			return fault.New(fault.Misconfigured, "key of %s: header %s leads to %s, which is not part of it",
				s.relation.Name, name, to).WithHint("correct key: {columns: …} in the flow file")
		}
		s.headers[at] = name
	}
	return nil
}

func (r *reader) readHeaders(cells []change.Value) error {
	for at, column := range r.relation.Key {
		value, ok := r.rec.Header(r.headers[at])
		if !ok || value.IsNull() {
			return poison("header %s: none, and it tells the row", r.headers[at])
		}
		var err error
		if cells[at], err = r.forms[column].Text(value.Bytes(), r.set); err != nil {
			return r.refused(column, err)
		}
	}
	return nil
}
