// Package applytest gives tests of package apply what they stand on: a wire format that people can read, a target in
// memory that fails on demand, and the conformance suite that every apply.Target passes.
//
// It knows no database. What it says of times and positions is fixed, so that a test can be run again. The memory target
// is safe for concurrent use; everything else is a plain value.
package applytest

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"tidemark/shared/apply"
	"tidemark/shared/change"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/record"
)

// What every test of the suite works with.
const (
	Flow                       = "flow"
	Topic                      = "orders"
	TargetID position.TargetID = "test-target"
)

// Refused is a body that the suite's table refuses.
const Refused = "refused"

// P is a partition of Topic.
func P(number int32) position.Partition { return position.Partition{Topic: Topic, Number: number} }

// wire is what a record's value holds: which row of which table gets which cells.
type wire struct {
	Table  string            `json:"table"`
	Remove bool              `json:"remove,omitempty"`
	Cells  map[string]string `json:"cells"`
}

// Put is a value that makes a row. cells are names and values in turn.
func Put(table string, cells ...string) record.Data { return encode(wire{Table: table}, cells) }

// Remove is a value that deletes a row. cells name the key.
func Remove(table string, cells ...string) record.Data {
	return encode(wire{Table: table, Remove: true}, cells)
}

func encode(w wire, cells []string) record.Data {
	w.Cells = make(map[string]string, len(cells)/2)
	for pair := range slices.Chunk(cells, 2) {
		w.Cells[pair[0]] = pair[1]
	}
	text, err := json.Marshal(w)
	if err != nil {
		return record.Missing() // strings always encode
	}
	return record.Present(text)
}

// Item is a value that makes a row of the suite's table.
func Item(id, body string) record.Data { return Put("item", "id", id, "body", body) }

// Unreadable is a value that no decoder can read.
func Unreadable() record.Data { return record.Present([]byte("{")) }

// TimeOf is the time of the record at an offset: later records are newer, as a broker's clock has it.
func TimeOf(offset position.Offset) time.Time {
	return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(offset) * time.Second)
}

// At is the record at an offset.
func At(offset position.Offset, value record.Data) record.Record {
	return record.Record{Offset: offset, Time: TimeOf(offset), Value: value}
}

// Items is a run of records [from, until), each with a row of its own: the offset is the id, body is what it says.
func Items(partition position.Partition, offsets position.Range, body string) record.Run {
	run := record.Run{Partition: partition}
	for o := offsets.From; o.Before(offsets.Until); o = o.Next() {
		run.Records = append(run.Records, At(o, Item(partition.String()+"/"+o.String(), body)))
	}
	return run
}

// Decoder reads what Put and Remove write.
type Decoder struct{ Catalog change.Catalog }

// Decode appends the change of rec. See apply.Decoder.
func (d Decoder) Decode(ctx context.Context, rec *record.Record, set *change.Set) error {
	if rec.IsTombstone() {
		return nil
	}
	var w wire
	if err := json.Unmarshal(rec.Value.Bytes(), &w); err != nil {
		return fault.New(fault.Poison, "the value is no row")
	}
	relation, err := d.Catalog.Relation(ctx, change.Name{Schema: "public", Table: w.Table})
	if err != nil || relation == nil {
		return err
	}
	c, err := w.change(relation, set)
	if err == nil {
		set.Add(c)
	}
	return err
}

func (w wire) change(relation *change.Relation, set *change.Set) (change.Change, error) {
	c := change.Change{Relation: relation, Op: change.Insert, Row: set.Cells(len(relation.Columns))}
	for name, value := range w.Cells {
		column, ok := relation.Column([]byte(name))
		if !ok {
			return c, fault.New(fault.Misconfigured, "%s has no column %s", relation.Name, name)
		}
		c.Row[column] = change.Text([]byte(value))
	}
	c.Key = set.Cells(len(relation.Key))
	for i, column := range relation.Key {
		c.Key[i] = c.Row[column]
	}
	if w.Remove {
		c.Op, c.Row = change.Delete, nil
	}
	return c, nil
}

var _ apply.Decoder = Decoder{}
