// Package reduction owns what changes, taken in order, come to: groups that a target may write with one statement each and
// that leave the same rows as the changes one by one (L6).
//
// Changes of tables where order shows, and changes that touch more than the row of one key, stay as they are. All others are
// gathered in windows, one a table, where each key keeps only its net effect; a window is written when a change comes that
// cannot be taken into it. Two keys are one only if their texts are: where the target might see that differently the change
// is not gathered (see isExact). Whenever the changes one by one pass, the groups leave the same rows; where one of them
// would have been refused on the way, by a check or a foreign key that a later one satisfies, the groups may pass. The
// package refuses to guess: a bulk group that the target refuses is the caller's to
// ask for again with its table in order. It does no I/O, never alters a change, and a Reduction belongs to one goroutine.
package reduction

import (
	"encoding/binary"
	"slices"

	"tidemark/shared/change"
)

// Group is a run of changes of one relation with one operation, in order.
type Group struct {
	Relation *change.Relation
	Op       change.Op
	Changes  []change.Change

	// Bulk says that no two changes are of one row and that all carry the same cells: one statement may write them all.
	// An Insert is then an upsert, an Update changes rows that must be there.
	Bulk bool
	// Reset says that the rows were deleted before: columns that they do not carry go back to their default.
	Reset bool
	// Strict says that the rows of a Delete must be there.
	Strict bool
	// Fresh says that the rows of an Insert began as inserts: most likely none of them is there, though one may be.
	Fresh bool
}

// Reduction turns changes into groups.
type Reduction struct {
	set     *change.Set // where merged rows live
	inOrder map[*change.Relation]bool
	groups  []Group
	windows []*window // in the order of their first change
}

// New returns a reduction of changes that live in set. Relations of inOrder are not gathered.
func New(set *change.Set, inOrder map[*change.Relation]bool) *Reduction {
	return &Reduction{set: set, inOrder: inOrder}
}

// Add takes changes behind those before them.
func (r *Reduction) Add(changes []change.Change) {
	for i := range changes {
		r.one(&changes[i])
	}
}

// Groups returns what was added, as groups in the order in which they take effect. Nothing may be added afterwards.
func (r *Reduction) Groups() []Group {
	r.flush()
	return r.groups
}

func (r *Reduction) one(c *change.Change) {
	if r.hasTwin(c.Relation) {
		r.flush()
	}
	if r.inOrder[c.Relation] || !isGatherable(c) {
		r.barrier(c.Relation)
		r.groups = appendInOrder(r.groups, c)
		return
	}
	w := r.window(c.Relation)
	if w.take(r.set, c) {
		return
	}
	r.barrier(c.Relation)
	r.window(c.Relation).take(r.set, c)
}

// hasTwin says whether a window is open for another description of the same table: the catalog was read again between two
// records of the delivery.
func (r *Reduction) hasTwin(relation *change.Relation) bool {
	return slices.ContainsFunc(r.windows, func(w *window) bool {
		return w.relation != relation && w.relation.Name == relation.Name
	})
}

// isGatherable says whether a change's effect is on the row of its key alone, and its key's text tells which row.
func isGatherable(c *change.Change) bool {
	if c.Relation.InOrder || c.Move != nil || c.Op == change.Truncate {
		return false
	}
	if len(c.Relation.Key) == 0 {
		return c.Op == change.Insert
	}
	for n, i := range c.Relation.Key {
		if n >= len(c.Key) || !isExact(c.Relation.Columns[i].Type.Equality, c.Key[n]) {
			return false
		}
	}
	return true
}

// isExact says whether no other text is equal to this one in the target.
func isExact(equality change.Equality, value change.Value) bool {
	if value.IsMissing() || value.IsNull() {
		return false
	}
	text := value.Bytes()
	switch equality {
	case change.EqualityText:
		return true
	case change.EqualityInteger:
		return isPlainInteger(text)
	case change.EqualityUUID:
		return isPlainUUID(text)
	case change.EqualityUnknown:
	}
	return false
}

func isPlainInteger(text []byte) bool {
	digits := text
	if len(digits) > 1 && digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) == 0 || digits[0] == '0' && len(text) > 1 {
		return false
	}
	return !slices.ContainsFunc(digits, func(c byte) bool { return c < '0' || c > '9' })
}

func isPlainUUID(text []byte) bool {
	const length = 36
	if len(text) != length {
		return false
	}
	for i, c := range text {
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return false
			}
		}
	}
	return true
}

func (r *Reduction) window(relation *change.Relation) *window {
	for _, w := range r.windows {
		if w.relation == relation {
			return w
		}
	}
	// A window rarely holds more than there are changes of its relation; those of a single one are the common case.
	expected := min(len(r.set.Changes)/(len(r.windows)+1), 1<<10)
	w := &window{relation: relation, index: make(map[string]int, expected), nets: make([]net, 0, expected)}
	r.windows = append(r.windows, w)
	return w
}

// barrier writes what must come before a change of relation that is not gathered: its own window, or all of them when
// foreign keys, triggers or actions tie the table to others.
func (r *Reduction) barrier(relation *change.Relation) {
	if relation.InOrder || r.isTied(relation) {
		r.flush()
		return
	}
	for i, w := range r.windows {
		if w.relation == relation {
			r.windows = slices.Delete(r.windows, i, i+1)
			r.groups = append(append(r.groups, w.writes()...), w.deletes()...)
			return
		}
	}
}

func (r *Reduction) isTied(relation *change.Relation) bool {
	return len(relation.Parents) > 0 || slices.ContainsFunc(r.windows, func(w *window) bool {
		return slices.Contains(w.relation.Parents, relation.Name)
	})
}

// flush writes all windows: rows of parents before rows of their children, deletes the other way round and behind, but
// first where a further unique constraint may need the place.
func (r *Reduction) flush() {
	windows := parentsFirst(r.windows)
	r.windows = nil
	for _, w := range slices.Backward(windows) {
		if w.relation.Further {
			r.groups = append(r.groups, w.deletes()...)
		}
	}
	for _, w := range windows {
		r.groups = append(r.groups, w.writes()...)
	}
	for _, w := range slices.Backward(windows) {
		if !w.relation.Further {
			r.groups = append(r.groups, w.deletes()...)
		}
	}
}

// parentsFirst sorts windows so that a table comes behind those that its foreign keys point to. In a circle, which no
// order satisfies, some order is taken.
func parentsFirst(windows []*window) []*window {
	sorted := make([]*window, 0, len(windows))
	var visit func(w *window)
	seen := map[*window]bool{}
	visit = func(w *window) {
		if seen[w] {
			return
		}
		seen[w] = true
		for _, other := range windows {
			if slices.Contains(w.relation.Parents, other.relation.Name) {
				visit(other)
			}
		}
		sorted = append(sorted, w)
	}
	for _, w := range windows {
		visit(w)
	}
	return sorted
}

// appendInOrder puts a change behind those before it: a group ends where relation or operation changes.
func appendInOrder(groups []Group, c *change.Change) []Group {
	if last := len(groups) - 1; last >= 0 && !groups[last].Bulk &&
		groups[last].Relation == c.Relation && groups[last].Op == c.Op {
		groups[last].Changes = append(groups[last].Changes, *c)
		return groups
	}
	return append(groups, Group{Relation: c.Relation, Op: c.Op, Changes: []change.Change{*c}})
}

// appendKey appends a text that is equal for equal keys only.
func appendKey(to []byte, key []change.Value) []byte {
	for i := range key {
		text := key[i].Bytes()
		to = binary.AppendUvarint(to, uint64(len(text)))
		to = append(to, text...)
	}
	return to
}
