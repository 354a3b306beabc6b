package snapshot

import (
	_ "embed" // the questions are files
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres/snapshot/part"
)

//go:embed sql/measures.sql
var measuresQuestion string

//go:embed sql/orders.sql
var ordersQuestion string

//go:embed sql/notes.sql
var notesQuestion string

// measure is what a table's pages take.
type measure struct {
	oid          uint32
	pages, bytes int64 // bytes with those of its large values
}

func scanMeasure(row pgx.CollectableRow) (measure, error) {
	var m measure
	err := row.Scan(&m.oid, &m.pages, &m.bytes)
	return m, err
}

// order is an index that gives a table's rows an order.
type order struct {
	oid         uint32
	key         []part.Column
	natural     bool     // the rows come in this order when the index is followed
	correlation *float32 // of the first column with the pages, nil: unknown
}

func scanOrder(row pgx.CollectableRow) (order, error) {
	var o order
	var names, types, collations []string
	err := row.Scan(&o.oid, &names, &types, &collations, &o.natural, &o.correlation)
	for i := range names {
		o.key = append(o.key, part.Column{Name: names[i], Type: types[i], Collation: collations[i]})
	}
	return o, err
}

func (o order) is(key []string) bool {
	return slices.EqualFunc(o.key, key, func(c part.Column, name string) bool { return c.Name == name })
}

// note says why a column's values do not come back as they were.
type note struct {
	oid        uint32
	unreadable bool // not even COPY reads them
	text       string
}

func scanNote(row pgx.CollectableRow) (note, error) {
	var n note
	err := row.Scan(&n.oid, &n.unreadable, &n.text)
	return n, err
}

// readable is a table that readers may read.
type readable struct {
	part.Table
	measure

	order order
}

// catalog is what the server says of all tables.
type catalog struct {
	numbers  map[body.Name]uint32
	measures map[uint32]measure
	orders   map[uint32][]order // the best first
}

func newCatalog(locked relations, measures []measure, orders []order) catalog {
	c := catalog{numbers: locked.numbers(), measures: map[uint32]measure{}, orders: map[uint32][]order{}}
	for _, m := range measures {
		c.measures[m.oid] = m
	}
	for _, o := range orders {
		c.orders[o.oid] = append(c.orders[o.oid], o)
	}
	return c
}

// readable finds a captured table. One without a lock, or whose key no index has, was captured by another rule than ours.
func (c catalog) readable(t body.Table) (readable, error) {
	oid, locked := c.numbers[t.Name]
	r := readable{Table: part.Table{Name: t.Name}, measure: c.measures[oid]}
	if !locked {
		return r, fault.New(fault.Bug, "table %s is captured and was not locked", t.Name)
	}
	if len(t.Key) == 0 {
		return r, nil
	}
	at := slices.IndexFunc(c.orders[oid], func(o order) bool { return o.is(t.Key) })
	if at < 0 {
		return r, fault.New(fault.Bug, "table %s has no index for its key (%s)", t.Name, strings.Join(t.Key, ", "))
	}
	r.order = c.orders[oid][at]
	r.Key = r.order.key
	return r, nil
}

// Reading by the key follows the index from row to row. That costs as much as reading the pages where the rows lie in the
// key's order. Where they do not, it cost more than twice as much of the server's time with all pages in memory, and each row
// may be a page read anew. A table of about one chunk can afford that, and then has the same chunk wherever its rows lie. A
// larger one is read by its pages and has the chunks of before as long as its rows stay where they are: vacuuming moves none,
// an update moves its row, VACUUM FULL and CLUSTER move all.
const (
	smallTable  = 32 << 20
	correlating = 0.5
)

func (r readable) isOrdered() bool {
	o := r.order
	if len(o.key) == 0 || !o.natural {
		return false
	}
	return r.bytes <= smallTable || o.correlation == nil || *o.correlation >= correlating || *o.correlation <= -correlating
}
