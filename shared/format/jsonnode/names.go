package jsonnode

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
)

// names are the names of an object while it is read, for finding one that stands twice.
type names struct {
	home, place place // in the lore: where the object begins, and the last name while all of them were known
	first       int   // the object's first member
	count       int   // how many there were
	unmarked    int   // the first member that is not in marks yet
	marks       uint64
}

func newNames(first int, home place) names {
	return names{home: home, place: home, first: first, unmarked: first}
}

// few is how many names are compared one by one.
const few = 32

// name takes a member's name and notes it. The lore knows it, or it must be another than those before.
func (s *scanner) name(i int, n *names) int {
	n.count++
	if n.place != nowhere {
		if n.place = s.lore.follow(n.place, s.text[i:]); n.place != nowhere {
			k := &s.lore.known[n.place]
			end := i + len(k.name)
			s.note(i, end, k.escaped)
			return end
		}
	}
	if !s.is(i, '"') {
		return bad
	}
	end, escaped := s.quoted(i)
	if end == bad || n.count <= few && !s.isNew(n, i, end, escaped) {
		return bad
	}
	s.note(i, end, escaped)
	return end
}

// isNew says whether no member before has the name that stands between i and end. Each member has a bit in marks for
// its name, so that most names are new at a glance.
func (s *scanner) isNew(n *names, i, end int, escaped bool) bool {
	for ; n.unmarked < len(s.members); n.unmarked = s.members[n.unmarked].next {
		m := &s.members[n.unmarked]
		n.marks |= s.mark(m.name, m.nameEnd, m.escaped)
	}
	if n.marks&s.mark(i, end, escaped) == 0 {
		return true
	}
	for at := n.first; at < len(s.members); at = s.members[at].next {
		m := &s.members[at]
		if !escaped && !m.escaped {
			if string(s.text[m.name:m.nameEnd]) == string(s.text[i:end]) {
				return false
			}
		} else if bytes.Equal(s.nameOf(at), Node(s.text[i:end]).Text()) {
			return false
		}
	}
	return true
}

// mark is the bit of a name, by its first bytes and its length; all bits if the bytes are not its characters.
func (s *scanner) mark(i, end int, escaped bool) uint64 {
	const golden = 0x9E3779B97F4A7C15
	begin, length := uint64(0), end-i-2
	switch {
	case escaped:
		return ^uint64(0)
	case i+9 > len(s.text):
		for k, c := range s.text[i+1 : end-1] {
			begin |= uint64(c) << (8 * k)
		}
	case length < 8:
		begin = binary.LittleEndian.Uint64(s.text[i+1:]) & (1<<(8*length) - 1)
	default:
		begin = binary.LittleEndian.Uint64(s.text[i+1:])
	}
	return 1 << ((begin + uint64(length)) * golden >> 58) //nolint:gosec // a length
}

// settle ends an object: it says whether all names differ, and the lore learns them.
func (s *scanner) settle(n *names) bool {
	if n.place != nowhere {
		return true
	}
	if n.count > few && s.hasTwins(n) {
		return false
	}
	for at := n.first; n.home != nowhere && at < len(s.members); at = s.members[at].next {
		m := &s.members[at]
		n.home = s.lore.learn(n.home, s.text[m.name:m.nameEnd], m.escaped)
	}
	return true
}

// hasTwins says whether two of an object's many names are equal, with a table of hashes that nobody can foresee.
func (s *scanner) hasTwins(n *names) bool {
	size := 4 * few
	for size < 2*n.count {
		size *= 2
	}
	if len(s.slots) < size {
		s.slots = make([]int, size)
	}
	slots, seed, mask := s.slots[:size], maphash.MakeSeed(), uint64(size-1) //nolint:gosec // a length
	clear(slots)
	for at := n.first; at < len(s.members); at = s.members[at].next {
		name := s.nameOf(at)
		slot := maphash.Bytes(seed, name) & mask
		for ; slots[slot] != 0; slot = (slot + 1) & mask {
			if bytes.Equal(s.nameOf(slots[slot]-1), name) {
				return true
			}
		}
		slots[slot] = at + 1
	}
	return false
}

// nameOf is the content of a member's name.
func (s *scanner) nameOf(at int) []byte {
	m := &s.members[at]
	if m.escaped {
		return Node(s.text[m.name:m.nameEnd]).Text()
	}
	return s.text[m.name+1 : m.nameEnd-1]
}
