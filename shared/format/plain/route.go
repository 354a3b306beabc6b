package plain

import (
	"errors"
	"fmt"
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
	scratch       []byte // schema, a zero byte, table
}

// table is a table that records lead to.
type table struct {
	name change.Name
	shape
}

// part is a piece of a template: a constant, or what stands in a header or a field.
type part struct {
	kind partKind
	text string // the constant, or the name
	at   int    // of a field among those that parts ask for
}

type partKind uint8

const (
	constant partKind = iota
	header
	field
)

// newRoute reads the table's name or template.
func newRoute(o *Options) (*route, error) {
	if name, ok := o.Tables[o.Topic]; ok && o.Topic != "" {
		return &route{fixed: &table{name: name}}, nil
	}
	if o.Table == "" {
		return nil, fmt.Errorf("no table for topic %q", o.Topic)
	}
	r := &route{tables: make(map[string]*table)}
	schema, name, ok := divide(o.Table)
	if !ok {
		return nil, fmt.Errorf("table %q: want SCHEMA.TABLE, with a dot outside of ${}", o.Table)
	}
	var err error
	if r.schema, err = r.parse(schema, o.Topic); err == nil {
		r.table, err = r.parse(name, o.Topic)
	}
	if err != nil {
		return nil, fmt.Errorf("table %q: %w", o.Table, err)
	}
	for _, p := range append(r.schema[:len(r.schema):len(r.schema)], r.table...) {
		if p.kind != constant {
			return r, nil
		}
	}
	divider, err := r.fill(nil, nil)
	if err != nil {
		return nil, err
	}
	fixed, err := r.filled(divider)
	r.fixed = &table{name: fixed}
	return r, err
}

// divide splits a template at the first dot that is not part of a placeholder. Any other dot would make the tables of
// the topics a.b and a hang on how many dots the topic's name has.
func divide(template string) (schema, name string, ok bool) {
	inside := false
	for i := range len(template) {
		switch {
		case strings.HasPrefix(template[i:], "${"):
			inside = true
		case template[i] == '}':
			inside = false
		case template[i] == '.' && !inside:
			return template[:i], template[i+1:], true
		}
	}
	return "", "", false
}

func (r *route) parse(template, topic string) ([]part, error) {
	var parts []part
	for rest := template; rest != ""; {
		before, after, found := strings.Cut(rest, "${")
		if before != "" {
			parts = append(parts, part{text: before})
		}
		if !found {
			break
		}
		inner, behind, closed := strings.Cut(after, "}")
		if !closed {
			return nil, errors.New("${ without }")
		}
		p, err := r.placeholder(inner, topic)
		if err != nil {
			return nil, fmt.Errorf("${%s}: %w", inner, err)
		}
		parts, rest = append(parts, p), behind
	}
	return parts, nil
}

func (r *route) placeholder(inner, topic string) (part, error) {
	kind, argument, hasArgument := strings.Cut(inner, ":")
	switch {
	case kind == "topic" && topic == "":
		return part{}, errors.New("the topic was not given")
	case kind == "topic" && !hasArgument:
		return part{text: topic}, nil
	case kind == "topic":
		text, err := topicPart(topic, argument)
		return part{text: text}, err
	case kind == "header" && argument != "":
		return part{kind: header, text: argument}, nil
	case kind == "field" && argument != "":
		r.fields = append(r.fields, argument)
		return part{kind: field, text: argument, at: len(r.fields) - 1}, nil
	}
	return part{}, errors.New("want topic, topic:N, header:NAME or field:NAME")
}

// topicPart is a part of a topic between dots: 1 is the first, -1 the last.
func topicPart(topic, argument string) (string, error) {
	parts := strings.Split(topic, ".")
	at, err := strconv.Atoi(argument)
	switch {
	case err == nil && at > 0 && at <= len(parts):
		return parts[at-1], nil
	case err == nil && at < 0 && -at <= len(parts):
		return parts[len(parts)+at], nil
	}
	return "", fmt.Errorf("topic %q has parts 1 to %d, from the end -1 to -%d", topic, len(parts), len(parts))
}

// maxTables bounds what a log full of invented names could make a Decoder remember.
const maxTables = 1 << 14

// of finds the table of a record whose document has these values in the fields that parts ask for.
func (r *route) of(rec *record.Record, fields []jsonnode.Node) (*table, error) {
	if r.fixed != nil {
		return r.fixed, nil
	}
	divider, err := r.fill(rec, fields)
	if err != nil {
		return nil, err
	}
	if found := r.tables[string(r.scratch)]; found != nil {
		return found, nil
	}
	name, err := r.filled(divider)
	if err != nil { // which holds what the record says
		return nil, poison("what header or field say of the table is no table's name")
	}
	if len(r.tables) >= maxTables {
		clear(r.tables)
	}
	found := &table{name: name}
	r.tables[string(r.scratch)] = found
	return found, nil
}

// fill puts the parts together in scratch and says where the schema ends.
func (r *route) fill(rec *record.Record, fields []jsonnode.Node) (divider int, err error) {
	r.scratch = r.scratch[:0]
	for i := range r.schema {
		if r.scratch, err = r.schema[i].append(r.scratch, rec, fields); err != nil {
			return 0, err
		}
	}
	divider = len(r.scratch)
	r.scratch = append(r.scratch, 0)
	for i := range r.table {
		if r.scratch, err = r.table[i].append(r.scratch, rec, fields); err != nil {
			return 0, err
		}
	}
	return divider, nil
}

// filled is the name in scratch.
func (r *route) filled(divider int) (change.Name, error) {
	name := change.Name{Schema: string(r.scratch[:divider]), Table: string(r.scratch[divider+1:])}
	if strings.Contains(name.Schema, ".") {
		return name, fmt.Errorf("table %q: a dot in the schema, where only the table may have one", name)
	}
	return name, name.Validate()
}

// append appends what the part stands for.
func (p *part) append(dst []byte, rec *record.Record, fields []jsonnode.Node) ([]byte, error) {
	switch p.kind {
	case constant:
		return append(dst, p.text...), nil
	case header:
		value, ok := rec.Header(p.text)
		switch {
		case !ok || value.IsNull():
			return dst, poison("header %s: none, and the table's name needs it", p.text)
		case !utf8.Valid(value.Bytes()):
			return dst, poison("header %s: not text in UTF-8", p.text)
		}
		return append(dst, value.Bytes()...), nil
	case field:
	}
	if fields[p.at].Kind() != '"' {
		return dst, poison("field %s, which names the table: %w", p.text, fields[p.at].Mismatch("a string"))
	}
	dst, err := fields[p.at].AppendText(dst)
	if err != nil {
		return dst, poison("field %s, which names the table: %w", p.text, err)
	}
	return dst, nil
}
