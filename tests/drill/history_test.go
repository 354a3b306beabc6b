//go:build drill

package drill_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/shared/position"
	"tidemark/shared/record"
)

// marker stands in every key and in every text of every record: output that holds it holds payload.
const marker = "zebra"

// ddl makes the tables that the histories write. audit counts what happens to rows, so that an effect that comes twice
// shows even where the rows end up the same. The row triggers of orders and journal keep their changes one by one;
// those of crate come a statement at a time and leave bulk statements and COPY allowed. basket has no trigger, so its
// TRUNCATE is a real one.
const ddl = `
CREATE SCHEMA shop;
CREATE TABLE shop.orders (code text PRIMARY KEY, customer text NOT NULL, note text);
CREATE TABLE shop.journal (at bigint, entry text);
CREATE TABLE shop.basket (code text PRIMARY KEY, amount bigint);
CREATE TABLE shop.crate (code text PRIMARY KEY, amount bigint, note text);
CREATE TABLE shop.audit (n bigint GENERATED ALWAYS AS IDENTITY, of text, act text);
CREATE FUNCTION shop.note_act() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN INSERT INTO shop.audit (of, act) VALUES (TG_TABLE_NAME, TG_OP); RETURN NULL; END $$;
CREATE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON shop.orders FOR EACH ROW EXECUTE FUNCTION shop.note_act();
CREATE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON shop.journal FOR EACH ROW EXECUTE FUNCTION shop.note_act();
CREATE FUNCTION shop.note_acts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN INSERT INTO shop.audit (of, act) SELECT TG_TABLE_NAME, TG_OP FROM changed; RETURN NULL; END $$;
CREATE TRIGGER inserts AFTER INSERT ON shop.crate REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION shop.note_acts();
CREATE TRIGGER updates AFTER UPDATE ON shop.crate REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION shop.note_acts();
CREATE TRIGGER deletes AFTER DELETE ON shop.crate REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION shop.note_acts();
`

// stateSQL prints checkpoints, rows, acts and halves of key changes, all of one snapshot. A checkpoint at 0 says nothing.
const stateSQL = `SELECT line FROM (
  SELECT 'checkpoint ' || topic || '/' || partition || '=' || next_offset AS line FROM tidemark.checkpoint WHERE next_offset > 0
  UNION ALL SELECT 'row orders ' || concat_ws('|', code, customer, coalesce(note, '\N')) FROM shop.orders
  UNION ALL SELECT 'row journal ' || concat_ws('|', at, entry) FROM shop.journal
  UNION ALL SELECT 'row basket ' || concat_ws('|', code, amount) FROM shop.basket
  UNION ALL SELECT 'row crate ' || concat_ws('|', code, coalesce(amount::text, '\N'), coalesce(note, '\N'))
    FROM shop.crate
  UNION ALL SELECT 'acts ' || of || ' ' || act || ' ' || count(*) FROM shop.audit GROUP BY of, act
  UNION ALL SELECT 'waiting halves ' || count(*) FROM tidemark.moved_row) AS lines ORDER BY line COLLATE "C"`

// resetSQL takes a target back to before its first record. It waits for sessions that have not noticed their end.
const resetSQL = `SET lock_timeout = '10s'; DELETE FROM tidemark.checkpoint; DELETE FROM tidemark.moved_row;
DELETE FROM shop.orders; DELETE FROM shop.journal; DELETE FROM shop.basket; DELETE FROM shop.crate; DELETE FROM shop.audit`

// table is a table of the source, its columns in order; the first is the key of a keyed one.
type table struct {
	name    string
	columns []string
	keyed   bool
}

var (
	orders  = table{"orders", []string{"code", "customer", "note"}, true}
	journal = table{"journal", []string{"at", "entry"}, false}
	basket  = table{"basket", []string{"code", "amount"}, true}
	crate   = table{"crate", []string{"code", "amount", "note"}, true}
)

func (t table) partition(number int32) position.Partition {
	return position.Partition{Topic: "drill.shop." + t.name, Number: number}
}

// row is the cells of one row as text, `\N` for NULL.
type row []string

// act is what a record does to the tables: its meaning, made beside its bytes and not from them.
type act struct {
	table          table
	removed, added row
	truncates      bool
	half           string // the key change that this is one half of
}

// history is the records of all partitions, with what they mean.
type history struct {
	records map[position.Partition][]record.Record
	acts    map[position.Partition][]act
	lsn     int64
}

func newHistory() *history {
	return &history{records: map[position.Partition][]record.Record{}, acts: map[position.Partition][]act{}}
}

const unavailable = "__debezium_unavailable_value"

// add appends a record. value nil is a tombstone.
func (h *history) add(p position.Partition, key string, value map[string]any, a act, headers ...record.Header) {
	h.lsn++
	rec := record.Record{
		Offset: position.Offset(len(h.records[p])), Time: time.UnixMilli(1_700_000_000_000 + h.lsn).UTC(),
		Key: record.Null(), Value: record.Null(), Headers: headers,
	}
	if key != "" {
		rec.Key = record.Present([]byte(key))
	}
	if value != nil {
		text, err := json.Marshal(value)
		if err != nil {
			panic(err) // texts and numbers
		}
		rec.Value = record.Present(text)
	}
	h.records[p], h.acts[p] = append(h.records[p], rec), append(h.acts[p], a)
}

// change appends a change as Debezium writes it. missing names columns that the row after does not bring.
func (h *history) change(p position.Partition, op string, a act, missing ...string) {
	value := h.envelope(op, a.table)
	key := ""
	if a.table.keyed {
		key = a.table.key(a)
	}
	if a.added != nil {
		value["after"] = a.table.object(a.added, missing)
	}
	if a.removed != nil && !a.table.keyed {
		value["before"] = a.table.object(a.removed, nil)
	}
	h.add(p, key, value, a)
}

func (h *history) envelope(op string, of table) map[string]any {
	return map[string]any{
		"op": op, "before": nil, "after": nil, "ts_ms": 1,
		"source": map[string]any{
			"name": "drill", "db": "src", "schema": "shop", "table": of.name, "txId": 700 + h.lsn, "lsn": 9000 + h.lsn,
		},
	}
}

func (t table) key(a act) string {
	cells := a.added
	if cells == nil {
		cells = a.removed
	}
	return fmt.Sprintf("{%q:%q}", t.columns[0], cells[0])
}

func (t table) object(cells row, missing []string) map[string]any {
	out := map[string]any{}
	for i, column := range t.columns {
		number, err := strconv.ParseInt(cells[i], 10, 64)
		switch {
		case slices.Contains(missing, column):
			out[column] = unavailable
		case cells[i] == `\N`:
			out[column] = nil
		case err == nil:
			out[column] = number
		default:
			out[column] = cells[i]
		}
	}
	return out
}

func (h *history) insert(t table, number int32, added row) {
	h.change(t.partition(number), "c", act{table: t, added: added})
}

// again inserts a row that is there already.
func (h *history) again(t table, number int32, removed, added row) {
	h.change(t.partition(number), "c", act{table: t, removed: removed, added: added})
}

// replace deletes a row and makes it anew, which a bulk statement does as one update.
func (h *history) replace(t table, number int32, removed, added row) {
	p, gone := t.partition(number), act{table: t, removed: removed}
	h.change(p, "d", gone)
	h.forget(p)
	h.add(p, t.key(gone), nil, act{})
	h.again(t, number, removed, added)
}

// updateAndRemove changes some cells of a row and deletes it, of which a bulk statement does only the latter.
func (h *history) updateAndRemove(t table, number int32, removed, changed row, missing ...string) {
	h.update(t, number, removed, changed, missing...)
	h.forget(t.partition(number))
	h.remove(t, number, removed)
}

// forget takes the meaning of the last record away: the next one of its key has it.
func (h *history) forget(p position.Partition) { h.acts[p][len(h.acts[p])-1] = act{} }

// update changes a row. missing columns keep their value and are not in the record.
func (h *history) update(t table, number int32, removed, added row, missing ...string) {
	h.change(t.partition(number), "u", act{table: t, removed: removed, added: added}, missing...)
}

// remove deletes a row and, in a keyed table, leaves the tombstone behind it.
func (h *history) remove(t table, number int32, removed row) {
	a := act{table: t, removed: removed}
	h.change(t.partition(number), "d", a)
	if t.keyed {
		h.add(t.partition(number), t.key(a), nil, act{})
	}
}

func (h *history) truncate(t table, number int32) {
	h.add(t.partition(number), "", h.envelope("t", t), act{table: t, truncates: true})
}

// move changes a row's key: the old one goes in its partition, the new one comes in another. Both carry one position.
func (h *history) move(t table, from, to int32, removed, added row, missing ...string) {
	gone, come := act{table: t, removed: removed}, act{table: t, added: added}
	gone.half = removed[0] + ">" + added[0]
	come.half = gone.half
	oldKey, newKey := t.key(gone), t.key(come)
	deletes, inserts := h.envelope("d", t), h.envelope("c", t)
	inserts["after"] = t.object(added, missing)
	h.add(t.partition(from), oldKey, deletes, gone,
		record.Header{Name: "__debezium.newkey", Value: record.Present([]byte(newKey))})
	h.add(t.partition(from), oldKey, nil, act{})
	h.add(t.partition(to), newKey, inserts, come,
		record.Header{Name: "__debezium.oldkey", Value: record.Present([]byte(oldKey))})
}

// end is the position behind the last record of every partition.
func (h *history) end() position.Cut {
	cut := position.Cut{}
	for p, records := range h.records {
		cut[p] = position.Offset(len(records))
	}
	return cut
}

// batch is the records from one cut to another.
func (h *history) batch(from, until position.Cut) record.Batch {
	var batch record.Batch
	for _, p := range until.Partitions() {
		if from[p] < until[p] {
			batch = append(batch, record.Run{Partition: p, Records: h.records[p][from[p]:until[p]]})
		}
	}
	return batch
}

// state is what stateSQL prints of a target that stands at cut.
func (h *history) state(cut position.Cut) []string {
	rows, acts, halves := map[string]int{}, map[string]int{}, map[string]int{}
	var lines []string
	for _, p := range cut.Partitions() {
		if cut[p] > 0 {
			lines = append(lines, fmt.Sprintf("checkpoint %s=%s", p, cut[p]))
		}
		for _, a := range h.acts[p][:cut[p]] {
			a.apply(rows, acts, halves)
		}
	}
	for line, n := range rows {
		lines = append(lines, slices.Repeat([]string{line}, n)...)
	}
	for line, n := range acts {
		lines = append(lines, fmt.Sprintf("%s %d", line, n))
	}
	lines = append(lines, fmt.Sprintf("waiting halves %d", len(halves)))
	slices.Sort(lines)
	return lines
}

// apply does the act to a model of the tables.
func (a act) apply(rows, acts, halves map[string]int) {
	prefix := "row " + a.table.name + " "
	if a.truncates {
		for line := range rows {
			if strings.HasPrefix(line, prefix) {
				delete(rows, line)
			}
		}
	}
	if a.half != "" {
		if halves[a.half]++; halves[a.half] == 2 {
			delete(halves, a.half)
		}
	}
	if a.removed != nil {
		rows[prefix+strings.Join(a.removed, "|")]--
	}
	if a.added != nil {
		rows[prefix+strings.Join(a.added, "|")]++
	}
	if verb := a.verb(); verb != "" && a.table.name != basket.name {
		acts["acts "+a.table.name+" "+verb]++
	}
}

func (a act) verb() string {
	switch {
	case a.removed != nil && a.added != nil:
		return "UPDATE"
	case a.removed != nil:
		return "DELETE"
	case a.added != nil:
		return "INSERT"
	}
	return ""
}

// everyKind is a history with every kind of change, in two deliveries: first is where the first one ends. The two are not
// for one delivery: in bulk their acts would be others.
func everyKind() (h *history, first position.Cut) {
	h, first = oneByOne()
	h.inBulk()
	return h, first
}

// oneByOne is everyKind without what comes to bulk statements in its second delivery.
func oneByOne() (h *history, first position.Cut) {
	h = newHistory()
	h.insert(orders, 0, row{"zebra-a", "zebra ann", "zebra long note"})
	h.insert(orders, 0, row{"zebra-b", "zebra bob", `\N`})
	h.insert(orders, 1, row{"zebra-c", "zebra cid", "zebra other note"})
	h.insert(journal, 0, row{"1", "zebra opened"})
	h.insert(journal, 0, row{"1", "zebra opened"})
	h.insert(basket, 0, row{"zebra-x", "7"})
	for _, code := range strings.Fields("a b c d e f g h") {
		h.insert(crate, 0, row{"zebra-" + code, "1", "zebra " + code})
	}
	first = h.end()

	h.insert(basket, 0, row{"zebra-y", "8"})
	h.truncate(basket, 0)
	h.insert(basket, 0, row{"zebra-y", "9"})
	h.remove(journal, 0, row{"1", "zebra opened"})
	h.insert(journal, 0, row{"2", "zebra closed"})
	h.update(journal, 0, row{"2", "zebra closed"}, row{"2", "zebra closed again"})
	h.insert(orders, 0, row{"zebra-d", "zebra dan", "zebra"})
	h.update(orders, 0, row{"zebra-b", "zebra bob", `\N`}, row{"zebra-b", "zebra bob", "zebra new"})
	h.update(orders, 0, row{"zebra-a", "zebra ann", "zebra long note"}, row{"zebra-a", "zebra eve", "zebra long note"}, "note")
	h.remove(orders, 0, row{"zebra-b", "zebra bob", "zebra new"})
	h.move(orders, 0, 1, row{"zebra-a", "zebra eve", "zebra long note"}, row{"zebra-e", "zebra eve", "zebra long note"}, "note")
	h.move(orders, 1, 0, row{"zebra-c", "zebra cid", "zebra other note"}, row{"zebra-f", "zebra cid", "zebra other note"})
	h.update(orders, 1, row{"zebra-e", "zebra eve", "zebra long note"}, row{"zebra-e", "zebra eve", `\N`})
	return h, first
}

// inBulk adds, to rows of crate that oneByOne makes, every change that comes to bulk statements of two rows or more, and
// those that do so as one.
func (h *history) inBulk() {
	of := func(code, amount string) row { return row{"zebra-" + code, amount, "zebra " + code} }
	h.insert(crate, 0, of("i", "1"))
	h.insert(crate, 0, of("j", `\N`))
	for _, code := range []string{"a", "b"} {
		h.update(crate, 0, of(code, "1"), of(code, "2"))
	}
	for _, code := range []string{"c", "d"} {
		h.update(crate, 0, of(code, "1"), of(code, "3"), "note")
	}
	for _, code := range []string{"e", "f"} {
		h.remove(crate, 0, of(code, "1"))
	}
	h.updateAndRemove(crate, 0, of("g", "1"), of("g", "4"), "note")
	h.replace(crate, 0, of("h", "1"), of("h", "5"))
}

// newRows is how many rows of crate come at once in manyNew, and how many of the first partition. They are more than one
// message of COPY holds.
const newRows, newRowsOfFirst = 310, 170

// manyNew is a history whose second delivery brings enough new rows of one table for COPY, from two partitions, with
// changes of other kinds before and behind them. taken makes the last of the new rows one that is there: the server
// finds out when it has all of them.
func manyNew(taken bool) (h *history, first position.Cut) {
	h = newHistory()
	note := "zebra " + strings.Repeat("stripes ", 28)
	of := func(n int) row { return row{fmt.Sprintf("zebra-%04d", n), strconv.Itoa(n), note} }
	last, kept := of(newRows), row{"zebra-kept", "1", "zebra"}
	h.insert(orders, 0, row{"zebra-a", "zebra ann", "zebra long note"})
	h.insert(journal, 0, row{"1", "zebra opened"})
	h.insert(basket, 0, row{"zebra-x", "7"})
	h.insert(crate, 0, kept)
	if taken {
		h.insert(crate, 1, row{last[0], "0", `\N`})
	}
	first = h.end()

	h.insert(basket, 0, row{"zebra-y", "8"})
	for n := 1; n <= newRowsOfFirst; n++ {
		h.insert(crate, 0, of(n))
	}
	h.update(crate, 0, kept, row{kept[0], "2", kept[2]}, "note")
	for n := newRowsOfFirst + 1; n < newRows; n++ {
		h.insert(crate, 1, of(n))
	}
	if taken {
		h.again(crate, 1, row{last[0], "0", `\N`}, last)
	} else {
		h.insert(crate, 1, last)
	}
	h.insert(journal, 0, row{"1", "zebra opened"})
	h.remove(journal, 0, row{"1", "zebra opened"})
	h.update(orders, 0, row{"zebra-a", "zebra ann", "zebra long note"}, row{"zebra-a", "zebra eve", "zebra long note"}, "note")
	return h, first
}
