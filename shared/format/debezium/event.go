package debezium

import (
	"bytes"
	"errors"
	"fmt"

	"tidemark/shared/change"
	"tidemark/shared/fault"
	"tidemark/shared/format/jsonnode"
	"tidemark/shared/record"
)

// event is a record before its table is known: which row images it carries and where they come from.
type event struct {
	op            operation
	flat          bool // unwrapped: one row without an envelope
	table         *table
	schema        *schema
	before, after jsonnode.Object
	source        source
}

// operation is the letter of an envelope's op.
type operation byte

const (
	opNone     operation = 0 // changes nothing
	opRead     operation = 'r'
	opCreate   operation = 'c'
	opUpdate   operation = 'u'
	opDelete   operation = 'd'
	opTruncate operation = 't'
	opMessage  operation = 'm'
	opUpsert   operation = '+' // an unwrapped row that does not say what made it
)

// source is where a change came from, for its table and for joining the halves of a changed key.
type source struct {
	name, db, schema, table, transaction, lsn jsonnode.Node
}

// members are the fields of a payload that decide what it is.
type members struct {
	before, after, source jsonnode.Object
	op, status, id, time  jsonnode.Node
	flatOp, deleted       jsonnode.Node
	flat                  source
	count                 int
}

// event reads the value of rec into ev as far as it needs no relation.
func (d *Decoder) event(ev *event, rec *record.Record) error {
	if rec.IsTombstone() {
		d.tombstone(ev, rec)
		return nil
	}
	payload, schema, err := d.document(&d.values, rec.Value.Bytes())
	if err != nil {
		return poison("record value: %w", err)
	}
	if payload.IsNull() {
		d.tombstone(ev, rec)
		return nil
	}
	if payload.Kind() != '{' {
		return poison("record value: %w", payload.Mismatch("an object"))
	}
	m := members{}
	m.read(&payload)
	ev.schema = schema
	switch {
	case !d.options.Table.IsZero() || m.isFlat():
		return d.flat(ev, &m, payload)
	case m.op == nil && m.source.Node == nil && m.isControl():
		return nil
	}
	return d.envelope(ev, &m)
}

// tombstone is a delete only where every record is a row of one table; otherwise the delete went before it.
func (d *Decoder) tombstone(ev *event, rec *record.Record) {
	if !d.options.Table.IsZero() && !rec.Key.IsNull() {
		ev.op, ev.flat, ev.table = opDelete, true, d.tableOf(d.options.Table)
	}
}

func (m *members) read(payload *jsonnode.Object) {
	for w := payload.Members(); w.Next(); m.count++ {
		switch name := w.Name(); string(name) {
		case "before":
			m.before = w.Object()
		case "after":
			m.after = w.Object()
		case "source":
			m.source = w.Object()
		default:
			if field := m.field(name); field != nil {
				*field = w.Node()
			}
		}
	}
}

func (m *members) field(name []byte) *jsonnode.Node {
	if bytes.HasPrefix(name, []byte(flatPrefix)) {
		return m.flatField(bytes.TrimPrefix(name[len(flatPrefix):], []byte("source_")))
	}
	switch string(name) {
	case "op":
		return &m.op
	case "status":
		return &m.status
	case "id":
		return &m.id
	case "ts_ms":
		return &m.time
	}
	return nil
}

// flatPrefix begins the names of what an unwrapped record says beside its row.
const flatPrefix = "__"

func (m *members) flatField(name []byte) *jsonnode.Node {
	switch string(name) {
	case "op":
		return &m.flatOp
	case "deleted":
		return &m.deleted
	}
	return m.flat.field(name)
}

// read takes what it needs of an envelope's source and stops once it has everything.
func (s *source) read(o *jsonnode.Object) {
	const fields = 6
	for w, found := o.Members(), 0; found < fields && w.Next(); {
		if field := s.field(w.Name()); field != nil {
			*field = w.Node()
			found++
		}
	}
}

func (s *source) field(name []byte) *jsonnode.Node {
	switch string(name) {
	case "name":
		return &s.name
	case "db":
		return &s.db
	case "schema":
		return &s.schema
	case "table":
		return &s.table
	case "txId":
		return &s.transaction
	case "lsn":
		return &s.lsn
	}
	return nil
}

func (m *members) isFlat() bool {
	return (m.flatOp != nil || m.deleted != nil) && (m.op == nil || m.source.Node == nil)
}

// isControl says whether a payload without op and source is a BEGIN or END, or a heartbeat.
func (m *members) isControl() bool {
	return m.status.Kind() == '"' && m.id.Kind() == '"' || m.count == 1 && m.time != nil
}

// envelope reads the full form.
func (d *Decoder) envelope(ev *event, m *members) error {
	op, err := operationOf(m.op)
	if err != nil {
		return err
	}
	if op == opMessage {
		return nil
	}
	if m.source.Kind() != '{' {
		return poison("field source: %w", m.source.Mismatch("an object"))
	}
	ev.source.read(&m.source)
	ev.op, ev.before, ev.after = op, m.before, m.after
	ev.table, err = d.tableNamed("source.", &ev.source)
	return err
}

func operationOf(n jsonnode.Node) (operation, error) {
	if text := n.Text(); len(text) == 1 {
		switch op := operation(text[0]); op {
		case opRead, opCreate, opUpdate, opDelete, opTruncate, opMessage:
			return op, nil
		case opNone, opUpsert:
		}
	}
	return opNone, poison("field op: not one of r, c, u, d, t, m")
}

// flat reads the unwrapped form, in which the payload is the row.
func (d *Decoder) flat(ev *event, m *members, payload jsonnode.Object) (err error) {
	ev.flat, ev.source = true, m.flat
	switch {
	case string(m.deleted) == "true" || string(m.deleted.Text()) == "true":
		ev.op = opDelete
	case m.flatOp.IsNull():
		ev.op = opUpsert
	default:
		ev.op, err = operationOf(m.flatOp)
	}
	switch {
	case err != nil:
		return err
	case ev.op == opMessage:
		ev.op = opNone
		return nil
	case ev.op == opDelete:
		ev.before = payload
	default:
		ev.after = payload
	}
	if !d.options.Table.IsZero() {
		ev.table = d.tableOf(d.options.Table)
		return nil
	}
	if m.flat.table == nil || m.flat.schema == nil {
		return fault.New(fault.Misconfigured, "an unwrapped record without __table and __schema").WithHint(
			"add table and source.schema to the unwrap transform's add.fields, or say which table the topic holds")
	}
	ev.table, err = d.tableNamed(flatPrefix, &m.flat)
	return err
}

// table is a table of the source.
type table struct {
	name  change.Name
	plain shape // of records without schema
}

// maxTables bounds what a log full of invented names could make a Decoder remember.
const maxTables = 1 << 14

func (d *Decoder) tableNamed(prefix string, s *source) (*table, error) {
	schemaName, tableName := s.schema.Text(), s.table.Text()
	if d.last != nil && d.last.name.Schema == string(schemaName) && d.last.name.Table == string(tableName) {
		return d.last, nil
	}
	name := change.Name{Schema: string(schemaName), Table: string(tableName)}
	if name.Validate() != nil {
		return nil, poison("fields %sschema and %stable: not a table's name", prefix, prefix)
	}
	d.last = d.tableOf(name)
	return d.last, nil
}

func (d *Decoder) tableOf(name change.Name) *table {
	tables := d.tables[name.Schema]
	if tables == nil {
		if len(d.tables) >= maxTables {
			clear(d.tables)
		}
		tables = make(map[string]*table)
		d.tables[name.Schema] = tables
	}
	found := tables[name.Table]
	if found == nil {
		if len(tables) >= maxTables {
			clear(tables)
		}
		found = &table{name: name}
		tables[name.Table] = found
	}
	return found
}

// move joins the halves of a changed key. Both carry the position of the one record of the source's log.
func (r *reader) move(header string, rec *record.Record) (*change.Move, error) {
	ev := &r.event
	other, ok := rec.Header(header)
	if !ok {
		return nil, nil //nolint:nilnil // no header, no move
	}
	if ev.source.lsn.IsNull() {
		if ev.flat {
			return nil, nil //nolint:nilnil // an unwrapped record need not say where it comes from
		}
		return nil, errors.New("field source.lsn: null, so that the halves of the changed key cannot be joined")
	}
	from, to := string(r.payloadText(rec.Key)), string(r.payloadText(other))
	if header == headerOldKey {
		from, to = to, from
	}
	s := &ev.source
	id := fmt.Sprintf("%s/%s/%s:%s/%s", s.name.Text(), s.db.Text(), s.transaction, s.lsn, ev.table.name)
	return &change.Move{ID: id, From: from, To: to}, nil
}

const (
	headerOldKey = "__debezium.oldkey"
	headerNewKey = "__debezium.newkey"
)

// payloadText is a key as JSON, without its schema; as it is when it is no JSON at all.
func (d *Decoder) payloadText(data record.Data) []byte {
	root, err := d.keys.Parse(data.Bytes())
	if err != nil {
		return data.Bytes()
	}
	return open(root).payload.Node
}
