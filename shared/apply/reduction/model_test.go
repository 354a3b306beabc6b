package reduction_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tidemark/shared/apply/reduction"
	"tidemark/shared/change"
)

// model is a target in pure Go: of each table its rows by key, or all rows of a table without a key.
type model map[*change.Relation]*rows

type rows struct {
	byKey map[string][]string
	bag   []string
}

// none is what a column holds that nobody gave a value: its default.
const none = "(default)"

func newModel(relations ...table) model {
	m := model{}
	for _, r := range relations {
		m[r.Relation] = &rows{byKey: map[string][]string{}}
	}
	return m
}

func (m model) clone() model {
	out := model{}
	for relation, r := range m {
		out[relation] = &rows{byKey: map[string][]string{}, bag: slices.Clone(r.bag)}
		for key, row := range r.byKey {
			out[relation].byKey[key] = slices.Clone(row)
		}
	}
	return out
}

// print lists the rows of all tables: a table without a key has no order.
func (m model) print() map[string]string {
	out := map[string]string{}
	for relation, r := range m {
		bag := slices.Sorted(slices.Values(r.bag))
		for n, row := range bag {
			out[fmt.Sprintf("%s #%d", relation.Name.Table, n)] = row
		}
		for _, key := range slices.Sorted(maps.Keys(r.byKey)) {
			out[fmt.Sprintf("%s %q", relation.Name.Table, key)] = strings.Join(r.byKey[key], "|")
		}
	}
	return out
}

// rowOf is the key as the target sees it, whatever its spelling.
func rowOf(c *change.Change) string {
	var parts []string
	for n, i := range c.Relation.Key {
		text := string(c.Key[n].Bytes())
		switch c.Relation.Columns[i].Type.Equality {
		case change.EqualityInteger:
			text = strings.TrimLeft(text, "+0")
		case change.EqualityUUID, change.EqualityUnknown:
			text = strings.ToLower(text)
		case change.EqualityText:
		}
		parts = append(parts, fmt.Sprintf("%q", text))
	}
	return strings.Join(parts, ",")
}

// one applies a change as the target would on its own.
func (m model) one(c *change.Change) error {
	r := m[c.Relation]
	if len(c.Relation.Key) == 0 {
		return r.oneWithoutKey(c)
	}
	if c.Op == change.Truncate {
		clear(r.byKey)
		return nil
	}
	key := rowOf(c)
	switch {
	case c.Op == change.Delete:
		delete(r.byKey, key)
	case c.Op == change.Update && c.HasMissing():
		if r.byKey[key] == nil {
			return fmt.Errorf("%s has no row %s to update", c.Relation.Name, key)
		}
		set(c, r.byKey[key], false)
	default:
		r.upsert(c, key, false)
	}
	return nil
}

func (r *rows) oneWithoutKey(c *change.Change) error {
	at := -1
	if c.Old != nil {
		if at = slices.Index(r.bag, words(c.Old)); at < 0 {
			return fmt.Errorf("%s has no row %s", c.Relation.Name, words(c.Old))
		}
	}
	switch c.Op {
	case change.Insert:
		r.bag = append(r.bag, inserted(c))
	case change.Update:
		r.bag[at] = inserted(c)
	case change.Delete:
		r.bag = slices.Delete(r.bag, at, at+1)
	case change.Truncate:
		r.bag = nil
	}
	return nil
}

func inserted(c *change.Change) string { return strings.ReplaceAll(words(c.Row), gone, none) }

// upsert makes a row that is not there with what c carries, and sets the cells of one that is.
func (r *rows) upsert(c *change.Change, key string, reset bool) {
	if r.byKey[key] != nil {
		set(c, r.byKey[key], reset)
		return
	}
	row := make([]string, len(c.Row))
	for i := range c.Row {
		row[i] = none
		if !c.Row[i].IsMissing() && !c.Relation.Columns[i].Generated {
			row[i] = word(c.Row[i])
		}
	}
	r.byKey[key] = row
}

// set changes cells of a row that is there: neither its key nor a column that is fixed or generated.
func set(c *change.Change, row []string, reset bool) {
	for i := range c.Row {
		switch column := c.Relation.Columns[i]; {
		case column.Fixed || column.Generated || c.Relation.IsKey(i):
		case !c.Row[i].IsMissing():
			row[i] = word(c.Row[i])
		case reset:
			row[i] = none
		}
	}
}

// group applies a group as its fields say, and refuses one that a target could not write.
func (m model) group(g reduction.Group) error {
	if err := wellFormed(g); err != nil {
		return err
	}
	r := m[g.Relation]
	for i := range g.Changes {
		c := &g.Changes[i]
		if !g.Bulk || len(g.Relation.Key) == 0 {
			if err := m.one(c); err != nil {
				return err
			}
			continue
		}
		key := rowOf(c)
		if (g.Op == change.Update || g.Strict) && r.byKey[key] == nil {
			return fmt.Errorf("%s has no row %s to %s", g.Relation.Name, key, g.Op)
		}
		switch g.Op {
		case change.Delete:
			delete(r.byKey, key)
		case change.Update:
			set(c, r.byKey[key], false)
		case change.Insert, change.Truncate:
			r.upsert(c, key, g.Reset)
		}
	}
	return nil
}

// malformed is a group that no target could write: a fault of the reduction, never of the changes.
type malformed struct{ why, group string }

func (m malformed) Error() string { return m.why + ": " + m.group }

// wellFormed checks what a group says of its changes.
func wellFormed(g reduction.Group) error {
	bad := func(why string) error { return malformed{why, show(g)} }
	switch {
	case len(g.Changes) == 0:
		return bad("an empty group")
	case !g.Bulk && (g.Reset || g.Strict || g.Fresh):
		return bad("a group one by one that is more than its changes")
	case g.Op == change.Truncate && g.Bulk, g.Strict && g.Op != change.Delete,
		(g.Reset || g.Fresh) && g.Op != change.Insert, g.Reset && g.Fresh, g.Bulk && g.Relation.InOrder:
		return bad("flags that do not fit")
	}
	keys := map[string]bool{}
	for i := range g.Changes {
		c := &g.Changes[i]
		if c.Relation != g.Relation || !g.Bulk && c.Op != g.Op {
			return bad("a change of another kind")
		}
		if !g.Bulk || len(g.Relation.Key) == 0 {
			continue
		}
		if keys[rowOf(c)] {
			return bad("one row twice")
		}
		keys[rowOf(c)] = true
	}
	return sameCells(g)
}

func sameCells(g reduction.Group) error {
	first := &g.Changes[0]
	for n := range g.Changes {
		c := &g.Changes[n]
		if !g.Bulk || g.Op == change.Delete {
			break
		}
		for i := range c.Row {
			if c.Row[i].IsMissing() != first.Row[i].IsMissing() {
				return malformed{"rows with other cells", show(g)}
			}
			if g.Reset && g.Relation.Columns[i].Fixed {
				return malformed{"a row with a fixed column made anew", show(g)}
			}
		}
	}
	return nil
}
