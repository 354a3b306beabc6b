// Package debezium owns how a Debezium record in JSON becomes changes.
//
// It reads the full envelope and the unwrapped form, each with or without Connect's schema. A value is read by the
// schema's own type name where there is one, and else by the type of the target's column and the Options, which must
// say what the connector was told. Cells are PostgreSQL text: a slice of the record's bytes where the wire already has
// that text, else built in the Set, so a plain row costs no allocation of its own.
//
// It refuses what it cannot read for certain: doubled member names, text that is not UTF-8, shapes that do not fit the
// type, values that the wire has lost. Such a record is fault.Poison, what every record of a table would meet (an
// unknown column, a key that does not fit) is fault.Misconfigured, and no message holds payload. It never guesses a
// value from "before", which under the default replica identity is made up. DESIGN.md lists the forms and the losses.
//
// A Decoder keeps what it learned of tables and schemas, so it belongs to one goroutine at a time; make one for each.
package debezium

import (
	"context"
	"fmt"

	"tidemark/shared/change"
	"tidemark/shared/fault"
	"tidemark/shared/format/debezium/wire"
	"tidemark/shared/record"
)

// Decoder turns records into changes.
type Decoder struct {
	catalog     change.Catalog
	options     Options
	unavailable wire.Placeholder
	tables      map[string]map[string]*table // source schema, then table
	schemas     map[string]*schema           // by the schema's own JSON text
	last        *table                       // of the record before
	values      input
	keys        input
}

// New returns a decoder that resolves tables through catalog.
//
// Errors: fault.Misconfigured for options that no connector can mean.
func New(catalog change.Catalog, options Options) (*Decoder, error) {
	options = options.withDefaults()
	if err := options.validate(); err != nil {
		return nil, fault.Wrap(fault.Misconfigured, fmt.Errorf("debezium options: %w", err))
	}
	unavailable, err := wire.NewPlaceholder(options.UnavailableValue)
	if err != nil {
		return nil, fault.Wrap(fault.Misconfigured, fmt.Errorf("debezium options: unavailable value: %w", err))
	}
	return &Decoder{
		catalog:     catalog,
		options:     options,
		unavailable: unavailable,
		tables:      make(map[string]map[string]*table),
		schemas:     make(map[string]*schema),
	}, nil
}

// Decode appends the changes of rec to set. It appends nothing for records that change no row: transaction metadata,
// heartbeats, logical messages, the tombstone behind a delete, and tables that the catalog leaves out. Cells share the
// bytes of rec. The caller has dealt with rec.Malformed. When err is not nil nothing was appended.
//
// Errors: fault.Poison for a record that can never apply, fault.Misconfigured when table or key do not fit the record,
// and whatever the catalog says of a table it cannot find.
func (d *Decoder) Decode(ctx context.Context, rec *record.Record, set *change.Set) error {
	r := reader{Decoder: d, set: set}
	if err := d.event(&r.event, rec); err != nil || r.event.op == opNone {
		return err
	}
	name := &r.event.table.name
	var err error
	if r.relation, err = d.catalog.Relation(ctx, *name); err != nil {
		return fmt.Errorf("find relation of %s: %w", *name, err)
	}
	if r.relation == nil {
		return nil
	}
	c, err := r.change(rec)
	if err != nil {
		return fmt.Errorf("table %s: %w", *name, err)
	}
	set.Add(c)
	return nil
}

func poison(format string, args ...any) *fault.Error {
	return fault.New(fault.Poison, format, args...)
}
