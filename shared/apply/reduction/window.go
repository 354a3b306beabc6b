package reduction

import (
	"slices"
	"strings"

	"tidemark/shared/change"
)

// window gathers changes of one relation, at most one net effect a key.
type window struct {
	relation *change.Relation
	index    map[string]int // key → place in nets
	nets     []net
	scratch  []byte
}

// net is what all changes of one key, so far, come to.
type net struct {
	effect effect
	fresh  bool // an upsert that began as an insert
	key    string
	change change.Change
}

type effect uint8

const (
	upserts     effect = iota // makes the row, or sets its cells
	replaces                  // deletes the row and makes it anew
	updates                   // sets cells of a row that must be there
	removes                   // deletes the row, if it is there
	removesOnly               // deletes a row that must be there
)

// take adds a change to the window. It returns false when no net effect has the same result: the window must be written
// first.
func (w *window) take(set *change.Set, c *change.Change) bool {
	next := effectOf(c)
	if len(w.relation.Key) == 0 {
		w.nets = append(w.nets, net{effect: next, fresh: true, change: *c})
		return true
	}
	w.scratch = appendKey(w.scratch[:0], c.Key)
	i, seen := w.index[string(w.scratch)]
	if !seen {
		key := string(w.scratch)
		w.index[key] = len(w.nets)
		w.nets = append(w.nets, net{effect: next, fresh: c.Op == change.Insert, key: key, change: *c})
		return true
	}
	return w.nets[i].follow(set, next, c)
}

func effectOf(c *change.Change) effect {
	switch {
	case c.Op == change.Delete:
		return removes
	case c.Op == change.Update && c.HasMissing():
		return updates
	}
	return upserts
}

// follow makes n the net effect of itself and then c, and says whether there is one.
//
// insert+delete = delete; delete+insert = the row made anew, with absent columns at their default; update+update = the later
// present value of each column. An update must meet its row, so nothing may hide one that would not.
func (n *net) follow(set *change.Set, next effect, c *change.Change) bool {
	switch n.effect {
	case upserts, replaces:
		if next == removes {
			n.become(removes, c)
		} else {
			n.merge(set, c)
		}
		return true
	case updates:
		if next == removes {
			n.become(removesOnly, c)
		} else {
			n.merge(set, c)
		}
		return true
	case removes:
		if next == updates || next == upserts && !isReplaceable(c.Relation) {
			return false
		}
		if next == upserts {
			n.become(replaces, c)
		}
		return true
	case removesOnly:
		return next == removes
	}
	return false
}

func (n *net) become(e effect, c *change.Change) { n.effect, n.fresh, n.change = e, false, *c }

// isReplaceable says whether an update can do what delete and insert do: it cannot change a fixed column.
func isReplaceable(relation *change.Relation) bool {
	return !slices.ContainsFunc(relation.Columns, func(c change.Column) bool { return c.Fixed })
}

// merge lays the present cells of c over those of n. A fixed cell is what the row was made with, or what the target made.
func (n *net) merge(set *change.Set, c *change.Change) {
	row := set.Cells(len(n.change.Row))
	copy(row, n.change.Row)
	for i := range c.Row {
		if !c.Row[i].IsMissing() && !c.Relation.Columns[i].Fixed {
			row[i] = c.Row[i]
		}
	}
	n.change.Row = row
}

// writes are the groups that make and change rows, keys in order.
func (w *window) writes() []Group {
	w.sort()
	var groups []Group
	index := map[string]int{}
	for i := range w.nets {
		n := &w.nets[i]
		if n.effect == removes || n.effect == removesOnly {
			continue
		}
		group := Group{
			Relation: w.relation, Op: change.Insert, Bulk: true,
			Reset: n.effect == replaces, Fresh: n.effect == upserts && n.fresh,
		}
		if n.effect == updates {
			group.Op = change.Update
		}
		w.scratch = n.appendShape(w.scratch[:0])
		at, ok := index[string(w.scratch)]
		if !ok {
			at = len(groups)
			index[string(w.scratch)] = at
			group.Changes = make([]change.Change, 0, len(w.nets)-i)
			groups = append(groups, group)
		}
		groups[at].Changes = append(groups[at].Changes, n.change)
	}
	return groups
}

// deletes are the groups that remove rows, keys in order.
func (w *window) deletes() []Group {
	w.sort()
	var groups []Group
	for _, e := range []effect{removes, removesOnly} {
		group := Group{Relation: w.relation, Op: change.Delete, Bulk: true, Strict: e == removesOnly}
		for i := range w.nets {
			if w.nets[i].effect == e {
				group.Changes = append(group.Changes, w.nets[i].change)
			}
		}
		if len(group.Changes) > 0 {
			groups = append(groups, group)
		}
	}
	return groups
}

// sort puts the nets in the order of their keys, so that every transaction locks rows the same way round.
func (w *window) sort() {
	slices.SortStableFunc(w.nets, func(a, b net) int { return strings.Compare(a.key, b.key) })
	w.index = nil
}

// freshShape marks the shape of rows that began as inserts; effects are smaller.
const freshShape = 1 << 7

// appendShape appends a text that is equal for nets that one statement can write.
func (n *net) appendShape(to []byte) []byte {
	to = append(to, byte(n.effect))
	if n.fresh {
		to[len(to)-1] |= freshShape
	}
	for i := range n.change.Row {
		if n.change.Row[i].IsMissing() {
			to = append(to, 0)
		} else {
			to = append(to, 1)
		}
	}
	return to
}
