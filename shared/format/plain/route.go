package plain

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tidemark/shared/change"
	"tidemark/shared/format/jsonnode"
	"tidemark/shared/record"
)

// route leads records to tables.
type route struct {
	fixed         *table // of every record, when the template has only constants
	schema, table []part
	fields        []string // that parts ask for
	tables        map[string]*table
	scratch       []byte
}

// part is a piece of a template: a constant, or what stands in a header or a field.
type part struct {
	kind partKind
	text string // the constant, or the name
	at   int    // of a field among those that are asked for
}

type partKind uint8

const (
	constant partKind = iota
	header
	field
)

// table is a table that records name.
type table struct {
	name change.Name
	shape
}

// newRoute reads the table's name or template.
func newRoute(o *Options) (*route, error) {
	r := &route{tables: make(map[string]*table)}
	if name, ok := o.Tables[o.Topic]; ok && o.Topic != "" {
		r.fixed = &table{name: name}
		return r, name.Validate()
	}
	if o.Table == "" {
		return nil, fmt.Errorf("no table for topic %q", o.Topic)
	}
	rest, parts, divided := o.Table, []part(nil), false
	for rest != "" {
		var p part
		var err error
		switch end := strings.IndexAny(rest, ".$"); {
		case strings.HasPrefix(rest, "${"):
			p, rest, err = r.placeholder(rest, o.Topic)
		case rest[0] == '.' && !divided:
			r.schema, parts, divided, rest = parts, nil, true, rest[1:]
			continue
		case end > 0 && !divided:
			p.text, rest = rest[:end], rest[end:]
		default:
			end = strings.Index(rest[1:], "$") + 1
			if end == 0 {
				end = len(rest)
			}
			p.text, rest = rest[:end], rest[end:]
		}
		if err != nil {
			return nil, fmt.Errorf("table %q: %w", o.Table, err)
		}
		parts = append(parts, p)
	}
	if r.table = parts; !divided {
		return nil, fmt.Errorf("table %q: want SCHEMA.TABLE, with a dot that is not part of what stands in", o.Table)
	}
	return r, r.fix()
}

// placeholder reads the placeholder at the start of text.
func (r *route) placeholder(text, topic string) (p part, rest string, err error) {
	inner, rest, closed := strings.Cut(text[len("${"):], "}")
	kind, argument, hasArgument := strings.Cut(inner, ":")
	switch {
	case !closed:
		return p, "", errors.New("${ without }")
	case kind == "topic" && topic == "":
		return p, "", errors.New("which topic it is was not said")
	case kind == "topic" && !hasArgument:
		p.text = topic
	case kind == "topic":
		p.text, err = topicPart(topic, argument)
	case kind == "header" && argument != "":
		p = part{kind: header, text: argument}
	case kind == "field" && argument != "":
		p = part{kind: field, text: argument, at: len(r.fields)}
		r.fields = append(r.fields, argument)
	default:
		err = fmt.Errorf("${%s}: want topic, topic:N, header:NAME or field:NAME", inner)
	}
	return p, rest, err
}

func topicPart(topic, argument string) (string, error) {
	parts := strings.Split(topic, ".")
	at, err := strconv.Atoi(argument)
	switch {
	case err == nil && at > 0 && at <= len(parts):
		return parts[at-1], nil
	case err == nil && at < 0 && -at <= len(parts):
		return parts[len(parts)+at], nil
	}
	return "", fmt.Errorf("${topic:%s}: topic %q has the parts 1 to %d, or -1 to -%d", argument, topic, len(parts), len(parts))
}

// fix makes the table's name if no record has a say in it.
func (r *route) fix() error {
	isConstant := func(p part) bool { return p.kind == constant }
	if !slices.ContainsFunc(slices.Concat(r.schema, r.table), func(p part) bool { return !isConstant(p) }) {
		name, err := r.name(nil, nil)
		r.fixed = &table{name: name}
		return err
	}
	return nil
}

// maxTables bounds what a log full of invented names could make a Decoder remember.
const maxTables = 1 << 14

// of finds the table of a record whose document has these values in the fields that are asked for.
func (r *route) of(rec *record.Record, fields []jsonnode.Node) (*table, error) {
	if r.fixed != nil {
		return r.fixed, nil
	}
	r.scratch = r.scratch[:0]
	for _, parts := range [][]part{r.schema, r.table} {
		for i := range parts {
			var err error
			if r.scratch, err = parts[i].append(r.scratch, rec, fields); err != nil {
				return nil, err
			}
		}
		r.scratch = append(r.scratch, 0) // no name holds it
	}
	if found := r.tables[string(r.scratch)]; found != nil {
		return found, nil
	}
	name, err := r.name(rec, fields)
	if err != nil {
		return nil, poison("what the record has for the table's name is no name: %w", err)
	}
	if len(r.tables) >= maxTables {
		clear(r.tables)
	}
	found := &table{name: name}
	r.tables[string(r.scratch)] = found
	return found, nil
}

// name puts the parts together.
func (r *route) name(rec *record.Record, fields []jsonnode.Node) (change.Name, error) {
	var texts [2]string
	for i, parts := range [][]part{r.schema, r.table} {
		var text []byte
		for j := range parts {
			var err error
			if text, err = parts[j].append(text, rec, fields); err != nil {
				return change.Name{}, err
			}
		}
		texts[i] = string(text)
	}
	if strings.Contains(texts[0], ".") {
		return change.Name{}, errors.New("a dot in the schema, where only the table may have one")
	}
	name := change.Name{Schema: texts[0], Table: texts[1]}
	return name, name.Validate()
}

// append appends what the part stands for.
func (p *part) append(dst []byte, rec *record.Record, fields []jsonnode.Node) ([]byte, error) {
	switch p.kind {
	case constant:
		return append(dst, p.text...), nil
	case header:
		value, ok := rec.Header(p.text)
		if !ok || value.IsNull() {
			return dst, poison("header %s: none, and the table's name needs it", p.text)
		}
		if !utf8.Valid(value.Bytes()) {
			return dst, poison("header %s: not text in UTF-8", p.text)
		}
		return append(dst, value.Bytes()...), nil
	case field:
	}
	if fields[p.at].Kind() != '"' {
		return dst, poison("field %s: %w for the table's name", p.text, fields[p.at].Mismatch("a string"))
	}
	dst, err := fields[p.at].AppendText(dst)
	if err != nil {
		return dst, poison("field %s: %w", p.text, err)
	}
	return dst, nil
}
