// Package plain owns how a JSON document that an application writes becomes a change.
//
// A document is a row: its fields lead to the columns of their name, and the record is an upsert of what it carries. A
// column without a field is not NULL but absent, and Options.Absent says what that means; a field that is null is NULL
// and never a default. A key with the value null is a delete. A table without a key only grows.
//
// It refuses what it cannot read for certain: names that stand twice, text that is not UTF-8, values that do not fit
// the column, a key that is said twice in two ways, an empty value, which is neither JSON nor null. Such a record is
// fault.Poison; what every record of a table would meet is fault.Misconfigured, and no message holds a value.
//
// A Decoder reads one topic and keeps what it learned of tables, so it belongs to one goroutine at a time; make one for
// each.
package plain

import (
	"context"
	"fmt"

	"tidemark/shared/change"
	"tidemark/shared/fault"
	"tidemark/shared/format/jsonnode"
	"tidemark/shared/record"
)

// Decoder turns records into changes.
type Decoder struct {
	catalog    change.Catalog
	options    Options
	route      *route
	columns    map[string][]byte // of Options.Columns
	keyColumns map[string][]byte // of Options.Key.Columns
	// watched are the fields that must be known before the row is read: those that name the table, and behind them the
	// one that deletes. seen has their values in the document at hand.
	watched []string
	seen    []jsonnode.Node
}

// New returns a decoder that resolves tables through catalog.
//
// Errors: fault.Misconfigured for options that contradict each other or the topic.
func New(catalog change.Catalog, options Options) (*Decoder, error) {
	options = options.withDefaults()
	if err := options.validate(); err != nil {
		return nil, fault.Wrap(fault.Misconfigured, fmt.Errorf("plain options: %w", err))
	}
	way, err := newRoute(&options)
	if err != nil {
		return nil, fault.Wrap(fault.Misconfigured, fmt.Errorf("plain options: %w", err))
	}
	d := &Decoder{
		catalog: catalog, options: options, route: way, watched: way.fields,
		columns: inBytes(options.Columns), keyColumns: inBytes(options.Key.Columns),
	}
	if options.DeleteField != "" {
		d.watched = append(d.watched, options.DeleteField)
	}
	d.seen = make([]jsonnode.Node, len(d.watched))
	return d, nil
}

func inBytes(names map[string]string) map[string][]byte {
	converted := make(map[string][]byte, len(names))
	for from, to := range names {
		converted[from] = []byte(to)
	}
	return converted
}

// Decode appends the change of rec to set. It appends nothing for tombstones that mean nothing, and for tables that
// the catalog leaves out. Cells share the bytes of rec. The caller has dealt with rec.Malformed. When err is not nil
// nothing was appended.
//
// Errors: fault.Poison for a record that can never apply, fault.Misconfigured when a table or a column does not fit the
// records, and whatever the catalog says of a table it cannot find.
func (d *Decoder) Decode(ctx context.Context, rec *record.Record, set *change.Set) error {
	row, deletes, err := d.document(rec)
	if err != nil || deletes && row == nil && d.isMeaningless(rec) {
		return err
	}
	to, err := d.route.of(rec, d.seen)
	if err != nil {
		return err
	}
	relation, err := d.catalog.Relation(ctx, to.name)
	if err != nil {
		return fmt.Errorf("find relation of %s: %w", to.name, err)
	}
	if relation == nil {
		return nil
	}
	known, err := to.of(relation, &d.options)
	if err != nil {
		return err
	}
	r := reader{Decoder: d, set: set, shape: known, rec: rec, document: row, deletes: deletes}
	c, err := r.change()
	if err != nil {
		return fmt.Errorf("table %s: %w", to.name, err)
	}
	set.Add(c)
	return nil
}

// document reads the value of rec as far as it needs no relation: an object and whether its row is to be deleted. A
// tombstone has no object.
func (d *Decoder) document(rec *record.Record) (row jsonnode.Node, deletes bool, err error) {
	clear(d.seen)
	switch {
	case rec.IsTombstone():
		if len(d.route.fields) > 0 && !d.isMeaningless(rec) {
			return nil, true, fault.New(fault.Misconfigured, "a tombstone, and the table's name stands in fields").WithHint(
				"let the topic or a header name the table, or say tombstones: ignore, which keeps the rows")
		}
		return nil, true, nil
	case len(rec.Value.Bytes()) == 0:
		return nil, false, poison("record value: empty, which is neither a JSON object nor null")
	}
	root, err := jsonnode.Parse(rec.Value.Bytes())
	if err != nil {
		return nil, false, poison("record value: %w", err)
	}
	if root.Kind() != '{' {
		return nil, false, poison("record value: %w", root.Mismatch("an object"))
	}
	if len(d.watched) > 0 {
		d.watch(root)
	}
	deletes, err = d.deletes()
	return root, deletes, err
}

func (d *Decoder) watch(root jsonnode.Node) {
	for w := root.Walk(); ; {
		name, value, ok := w.Member()
		if !ok {
			return
		}
		for i := range d.watched {
			if d.watched[i] == string(name) {
				d.seen[i] = value
			}
		}
	}
}

// deletes reads the field that says whether the row is to be deleted.
func (d *Decoder) deletes() (bool, error) {
	if d.options.DeleteField == "" {
		return false, nil
	}
	n := d.seen[len(d.seen)-1]
	word := string(n)
	if n.Kind() == '"' {
		word = string(n.Text())
	}
	switch {
	case n.IsNull() || word == "false":
		return false, nil
	case word == "true":
		return true, nil
	}
	return false, poison("field %s: %w", d.options.DeleteField, n.Mismatch("true or false"))
}

// isMeaningless says whether a tombstone deletes nothing: it is told to, or it names no row.
func (d *Decoder) isMeaningless(rec *record.Record) bool {
	return d.options.Tombstone == Ignore || d.options.Key.From != Headers && rec.Key.IsNull() ||
		d.options.Key.From == RecordKey && isNullText(rec.Key.Bytes())
}

func poison(format string, args ...any) *fault.Error {
	return fault.New(fault.Poison, format, args...)
}
