// Package connect owns Kafka Connect's schemas as JsonConverter writes them beside a value.
//
// It reads what the decoder needs: types, the names that say what a type means, and the parameters scale and length. It
// refuses schemas that are deeper than any row. A Schema is immutable once read.
package connect

import (
	"errors"
	"strconv"

	"tidemark/shared/format/jsonnode"
)

// Schema is a Connect schema of a value: its basic type, and the name and parameters that say what it means.
type Schema struct {
	Field  string // the member of a struct that it describes
	Basic  string // the type
	Means  string // the schema's name
	Scale  int    // the parameter of a decimal
	Length int    // the parameter of bits
	Fields []Schema
	Items  *Schema // of an array
}

// Member is the schema of the field of that name of a struct, nil when there is none.
func (f *Schema) Member(name string) *Schema {
	for i := range f.Fields {
		if f.Fields[i].Field == name {
			return &f.Fields[i]
		}
	}
	return nil
}

// maxSchemaDepth is far more than an envelope of rows of arrays needs.
const maxSchemaDepth = 16

// ReadSchema reads a schema as JsonConverter writes it.
func ReadSchema(n jsonnode.Node) (Schema, error) { return readSchema(n, maxSchemaDepth) }

func readSchema(n jsonnode.Node, depth int) (Schema, error) {
	f := Schema{}
	if n.Kind() != '{' || depth == 0 {
		return f, errors.New("a schema that is not an object, or too deep")
	}
	for w := n.Walk(); ; {
		name, value, ok := w.Member()
		if !ok {
			return f, nil
		}
		if err := f.read(string(name), value, depth-1); err != nil {
			return f, err
		}
	}
}

func (f *Schema) read(name string, n jsonnode.Node, depth int) error {
	switch name {
	case "field":
		f.Field = string(n.Text())
	case "type":
		f.Basic = string(n.Text())
	case "name":
		f.Means = string(n.Text())
	case "parameters":
		return f.readParameters(n)
	case "items":
		items, err := readSchema(n, depth)
		f.Items = &items
		return err
	case "fields":
		return f.readFields(n, depth)
	}
	return nil
}

func (f *Schema) readFields(n jsonnode.Node, depth int) error {
	if n.Kind() != '[' {
		return errors.New("a schema whose fields are not an array")
	}
	for w := n.Walk(); ; {
		element, ok := w.Element()
		if !ok {
			return nil
		}
		member, err := readSchema(element, depth)
		if err != nil {
			return err
		}
		f.Fields = append(f.Fields, member)
	}
}

func (f *Schema) readParameters(n jsonnode.Node) (err error) {
	if n.Kind() != '{' {
		return nil
	}
	for w := n.Walk(); err == nil; {
		name, value, ok := w.Member()
		if !ok {
			return nil
		}
		switch string(name) {
		case "scale":
			f.Scale, err = strconv.Atoi(string(value.Text()))
		case "length":
			f.Length, err = strconv.Atoi(string(value.Text()))
		}
	}
	return errors.New("a schema with a parameter that is not a number")
}
