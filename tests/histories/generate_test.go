package histories_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"tidemark/shared/change"
)

// step is one change of a history, without the relation that it belongs to.
type step struct {
	table         string
	op            change.Op
	key, row, old []change.Value
	move          *change.Move
}

// history is what one partition of a source does, in order.
type history struct {
	changes  []step
	features map[string]bool
}

// String prints the history for a failed test.
func (h history) String() string {
	var b strings.Builder
	for i, s := range h.changes {
		fmt.Fprintf(&b, "%d %s %s key=%v row=%v old=%v move=%v\n", i, s.table, s.op, s.key, s.row, s.old, s.move)
	}
	return b.String()
}

func featureNames() []string {
	return []string{
		"insert", "insert over a row", "partial update", "full update", "delete", "delete of no row", "delete then insert",
		"key move", "key move with missing", "truncate", "further unique", "swap of unique", "no key", "inexact key",
		"fixed column", "foreign key", "trigger", "update of no row",
	}
}

// source is a model of the source's tables: what a real one could do next hangs on what is in it.
type source struct {
	random *rand.Rand
	rows   map[string]map[string][]change.Value // table → key text → row
	gone   map[string]map[string]bool           // keys that were deleted
	h      history
	moves  int
}

func generate(random *rand.Rand) history {
	s := &source{random: random, rows: map[string]map[string][]change.Value{}, gone: map[string]map[string]bool{}}
	s.h.features = map[string]bool{}
	for _, t := range tables() {
		s.rows[t], s.gone[t] = map[string][]change.Value{}, map[string]bool{}
	}
	// A few tables a history, so that changes of one key meet.
	chosen := tables()
	random.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	chosen = chosen[:1+random.IntN(4)]
	for n := 1 + random.IntN(mostChanges); n > 0; n-- {
		s.step(chosen[random.IntN(len(chosen))])
	}
	return s.h
}

func (s *source) step(table string) {
	switch table {
	case "nokey":
		s.stepNoKey()
		return
	case "child":
		s.stepChild()
		return
	case "parent":
		s.stepParent()
		return
	}
	switch n := s.random.IntN(20); {
	case table == "uniq" && n < 3:
		s.swap(table)
	case n == 0:
		s.truncate(table)
	case n <= 2:
		s.moveKey(table)
	case n == 3:
		s.deleteNothing(table)
	case n <= 7:
		s.remove(table)
	case n <= 11:
		s.update(table, true)
	case n <= 13:
		s.update(table, false)
	case n == 14:
		s.updateNothing(table)
	default:
		s.insert(table)
	}
}

func text(v string) change.Value { return change.Text([]byte(v)) }

// newKey is a key out of a small space, as the table's key columns.
func (s *source) newKey(table string) []change.Value {
	n := strconv.Itoa(s.random.IntN(6))
	switch table {
	case "pair":
		return []change.Value{text("k" + n), text("00000000-0000-0000-0000-00000000000" + n)}
	case "num":
		// 1 and 1.0 are one key to the target.
		return []change.Value{text(n + []string{"", ".0", ".00"}[s.random.IntN(3)])}
	}
	return []change.Value{text(n)}
}

// name is a text that is equal for keys that the target holds equal.
func name(table string, key []change.Value) string {
	first := key[0].String()
	if table == "num" {
		first, _, _ = strings.Cut(first, ".")
	}
	return first
}

func (s *source) word() change.Value {
	if s.random.IntN(8) == 0 {
		return change.Null()
	}
	return text("w" + strconv.Itoa(s.random.IntN(1000)))
}

// newRow is a whole row of the table under key.
func (s *source) newRow(table string, key []change.Value) []change.Value {
	row := slices.Clone(key)
	switch table {
	case "plain":
		return append(row, s.word(), s.word(), text(strconv.Itoa(s.random.IntN(100))))
	case "uniq":
		s.feature("further unique")
		return append(row, s.freeEmail(), s.word())
	case "fixed":
		s.feature("fixed column")
		return append(row, text(strconv.Itoa(100+s.random.IntN(100))), s.word())
	case "audited":
		s.feature("trigger")
		return append(row, s.word(), change.Missing())
	case "num":
		s.feature("inexact key")
	}
	return append(row, s.word(), s.word())
}

func (s *source) freeEmail() change.Value {
	for {
		email := text("e" + strconv.Itoa(s.random.IntN(1000)))
		taken := slices.ContainsFunc(slices.Collect(maps.Values(s.rows["uniq"])), func(row []change.Value) bool {
			return row[1].String() == email.String()
		})
		if !taken {
			return email
		}
	}
}

func (s *source) feature(name string) { s.h.features[name] = true }

func (s *source) add(st step) { s.h.changes = append(s.h.changes, st) }

// some returns the key text of a row that is there, in an order that hangs on the seed alone.
func (s *source) some(table string) (string, bool) {
	names := slices.Sorted(maps.Keys(s.rows[table]))
	if len(names) == 0 {
		return "", false
	}
	return names[s.random.IntN(len(names))], true
}

func keyOf(table string, row []change.Value) []change.Value {
	if table == "pair" {
		return row[:2]
	}
	return row[:1]
}
