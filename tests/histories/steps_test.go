package histories_test

import (
	"maps"
	"slices"
	"strconv"

	"tidemark/shared/change"
)

func (s *source) insert(table string) {
	key := s.newKey(table)
	at := name(table, key)
	if _, there := s.rows[table][at]; there {
		s.feature("insert over a row")
	}
	if s.gone[table][at] {
		s.feature("delete then insert")
	}
	row := s.newRow(table, key)
	if table == "plain" && s.random.IntN(3) == 0 {
		row[2] = change.Missing() // a column that the source does not have
	}
	s.feature("insert")
	s.rows[table][at] = row
	s.add(step{table: table, op: change.Insert, key: key, row: row})
}

func (s *source) update(table string, partial bool) {
	at, there := s.some(table)
	if !there {
		s.insert(table)
		return
	}
	key := keyOf(table, s.rows[table][at])
	row := s.newRow(table, key)
	if partial {
		s.feature("partial update")
		row[len(key)+s.random.IntN(len(row)-len(key))] = change.Missing()
	} else {
		s.feature("full update")
	}
	s.rows[table][at] = merged(s.rows[table][at], row)
	s.add(step{table: table, op: change.Update, key: key, row: row})
}

func merged(old, row []change.Value) []change.Value {
	out := slices.Clone(row)
	for i := range out {
		if out[i].IsMissing() {
			out[i] = old[i]
		}
	}
	return out
}

func (s *source) remove(table string) {
	at, there := s.some(table)
	if !there {
		s.deleteNothing(table)
		return
	}
	s.removeRow(table, at)
}

func (s *source) removeRow(table, at string) {
	s.feature("delete")
	s.add(step{table: table, op: change.Delete, key: keyOf(table, s.rows[table][at])})
	delete(s.rows[table], at)
	s.gone[table][at] = true
}

func (s *source) deleteNothing(table string) {
	key := s.newKey(table)
	if _, there := s.rows[table][name(table, key)]; there {
		return
	}
	s.feature("delete of no row")
	s.add(step{table: table, op: change.Delete, key: key})
}

// updateNothing is what no source sends: the history must stop there, both ways. It is rare, or no history would go far.
func (s *source) updateNothing(table string) {
	key := s.newKey(table)
	if _, there := s.rows[table][name(table, key)]; there || s.random.IntN(4) > 0 {
		return
	}
	row := s.newRow(table, key)
	row[len(row)-1] = change.Missing()
	s.feature("update of no row")
	s.add(step{table: table, op: change.Update, key: key, row: row})
}

func (s *source) truncate(table string) {
	s.feature("truncate")
	clear(s.rows[table])
	s.add(step{table: table, op: change.Truncate})
}

// moveKey changes a key to one that is free.
func (s *source) moveKey(table string) {
	at, there := s.some(table)
	to := s.newKey(table)
	if _, taken := s.rows[table][name(table, to)]; !there || taken {
		return
	}
	old := s.rows[table][at]
	from := keyOf(table, old)
	s.moves++
	move := &change.Move{ID: strconv.Itoa(s.moves), From: at, To: name(table, to)}
	row := append(slices.Clone(to), old[len(to):]...)
	s.feature("key move")
	sent := slices.Clone(row)
	if s.random.IntN(2) == 0 {
		s.feature("key move with missing")
		sent[len(sent)-1] = change.Missing()
	}
	s.add(step{table: table, op: change.Delete, key: from, move: move})
	s.add(step{table: table, op: change.Insert, key: to, row: sent, move: move})
	delete(s.rows[table], at)
	s.rows[table][name(table, to)] = row
}

// swap exchanges the unique values of two rows, through a third value as a real source has to.
func (s *source) swap(table string) {
	names := slices.Sorted(maps.Keys(s.rows[table]))
	if table != "uniq" || len(names) < 2 {
		s.insert(table)
		return
	}
	s.feature("swap of unique")
	a, b := s.rows[table][names[0]], s.rows[table][names[1]]
	emailA, emailB := a[1], b[1]
	for _, set := range []struct {
		name  string
		email change.Value
	}{{names[0], s.freeEmail()}, {names[1], emailA}, {names[0], emailB}} {
		row := slices.Clone(s.rows[table][set.name])
		row[1] = set.email
		s.rows[table][set.name] = row
		s.add(step{table: table, op: change.Update, key: row[:1], row: row})
	}
}

func (s *source) stepNoKey() {
	s.feature("no key")
	rows := s.rows["nokey"]
	at, there := s.some("nokey")
	switch op := s.random.IntN(10); {
	case op < 6 || !there:
		row := []change.Value{text(strconv.Itoa(s.random.IntN(3))), s.word(), change.Null()}
		rows[strconv.Itoa(len(s.h.changes))] = row
		s.add(step{table: "nokey", op: change.Insert, row: row})
		if s.random.IntN(3) == 0 { // a second row like it
			rows[strconv.Itoa(len(s.h.changes))] = row
			s.add(step{table: "nokey", op: change.Insert, row: row})
		}
	case op < 8:
		s.add(step{table: "nokey", op: change.Delete, old: rows[at]})
		delete(rows, at)
	default:
		row := slices.Clone(rows[at])
		row[2] = s.word()
		s.add(step{table: "nokey", op: change.Update, old: rows[at], row: row})
		rows[at] = row
	}
}

func (s *source) stepParent() {
	at, there := s.some("parent")
	hasChild := slices.ContainsFunc(slices.Collect(maps.Values(s.rows["child"])), func(row []change.Value) bool {
		return row[1].String() == at
	})
	if there && !hasChild && s.random.IntN(3) == 0 {
		s.removeRow("parent", at)
		return
	}
	s.insert("parent")
}

func (s *source) stepChild() {
	s.feature("foreign key")
	if _, there := s.some("child"); there && s.random.IntN(4) == 0 {
		s.remove("child")
		return
	}
	parent, there := s.some("parent")
	if !there || s.random.IntN(4) == 0 {
		s.insert("parent")
		parent, _ = s.some("parent")
	}
	key := s.newKey("child")
	row := append(slices.Clone(key), text(parent), s.word())
	s.rows["child"][name("child", key)] = row
	s.add(step{table: "child", op: change.Insert, key: key, row: row})
}
