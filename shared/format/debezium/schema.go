package debezium

import (
	"tidemark/shared/change"
	"tidemark/shared/format/debezium/connect"
	"tidemark/shared/format/debezium/wire"
	"tidemark/shared/format/jsonnode"
)

// shape is how the columns of a relation stand on the wire.
type shape struct {
	relation *change.Relation
	forms    []wire.Form
	order    []int // one more than the column that stood at that place of the last image, 0 for none
}

// column is the relation's column of a name that stands at a place of an image. Images of a table have one order.
func (s *shape) column(place int, name []byte) (int, bool) {
	if place >= len(s.order) {
		return s.relation.Column(name)
	}
	if i := s.order[place] - 1; i >= 0 && s.relation.Columns[i].Name == string(name) {
		return i, true
	}
	i, known := s.relation.Column(name)
	if known {
		s.order[place] = i + 1
	}
	return i, known
}

// schema is a Connect schema that records of one table carry.
type schema struct {
	row *connect.Schema
	shape
}

// maxSchemas bounds the schemas kept; a table has one for each of its versions, and one for its key.
const maxSchemas = 1 << 10

// schemaOf reads a schema once for every text it comes in.
func (d *Decoder) schemaOf(text jsonnode.Node) (*schema, error) {
	if found := d.schemas[string(text)]; found != nil {
		return found, nil
	}
	root, err := connect.ReadSchema(text)
	if err != nil {
		return nil, err
	}
	if len(d.schemas) >= maxSchemas {
		clear(d.schemas)
	}
	found := &schema{row: rowOf(&root)}
	d.schemas[string(text)] = found
	return found, nil
}

// rowOf is the part of a schema that describes rows: of an envelope its row after, else the whole.
func rowOf(root *connect.Schema) *connect.Schema {
	after := root.Member("after")
	if after != nil && root.Member("source") != nil && root.Member("op") != nil {
		return after
	}
	return root
}

// shape is how the relation's columns stand in records of that schema, nil for records without one. A catalog that was
// read again has another Relation, so the shape is made again.
func (r *reader) shape(s *schema) *shape {
	known, row := &r.event.table.plain, (*connect.Schema)(nil)
	if s != nil {
		known, row = &s.shape, s.row
	}
	if known.relation != r.relation {
		*known = shape{
			relation: r.relation,
			forms:    newForms(r.relation, &r.options.Modes, row),
			order:    make([]int, len(r.relation.Columns)),
		}
	}
	return known
}

func newForms(relation *change.Relation, modes *wire.Modes, row *connect.Schema) []wire.Form {
	forms := make([]wire.Form, len(relation.Columns))
	for i := range relation.Columns {
		column := &relation.Columns[i]
		forms[i] = wire.NewForm(&column.Type, modes)
		if row == nil {
			continue
		}
		if described := row.Member(column.Name); described != nil {
			forms[i].Refine(described)
		}
	}
	return forms
}
