package jsonnode

import "bytes"

// lore is what a Document remembers of the names in its texts, which repeat from record to record: the same objects
// with the same names in the same order. A name that stands where it stood before needs no look at its characters, and
// none at the names before it in its object.
//
// It is a tree of the names in their order. A path through it, from where an object begins, is what some object had: so
// its names are strings without fault and differ from each other.
type lore struct {
	known []known
	bytes []byte // of the names
	full  bool
}

// place is a name in the lore, or where an object begins.
type place int32

const nowhere place = 0

// known is a name and what was seen around it.
type known struct {
	name    []byte // with the quotes
	escaped bool
	next    place // a name behind it
	other   place // another name in its stead
	within  place // where the object in its value begins
}

const (
	// maxKnown and maxKnownBytes bound what texts full of invented names make a Document remember.
	maxKnown      = 1 << 13
	maxKnownBytes = 1 << 17
	// maxOthers bounds how many names are tried for one.
	maxOthers = 16
)

// begin forgets everything if there is no room for more.
func (l *lore) begin() {
	if l.known != nil && !l.full {
		return
	}
	l.known = append(l.known[:0], known{}, known{})
	l.bytes, l.full = l.bytes[:0], false
}

// root is where the outermost object begins.
func (l *lore) root() place {
	if l.known == nil {
		return nowhere
	}
	return 1
}

// follow is the place of the name that text begins with, if it was seen behind at.
func (l *lore) follow(at place, text []byte) place {
	for at = l.known[at].next; at != nowhere; at = l.known[at].other {
		if bytes.HasPrefix(text, l.known[at].name) {
			break
		}
	}
	return at
}

// within is where the object in the value of a name begins.
func (l *lore) within(at place) place {
	if l.known[at].within == nowhere {
		l.known[at].within = l.add(known{})
	}
	return l.known[at].within
}

// learn is the place of a name behind at, nowhere if there is no room.
func (l *lore) learn(at place, name []byte, escaped bool) place {
	tried := 0
	for next := l.known[at].next; next != nowhere; next = l.known[next].other {
		if string(l.known[next].name) == string(name) {
			return next
		}
		tried++
	}
	k := known{escaped: escaped, other: l.known[at].next}
	if tried >= maxOthers {
		k.other = nowhere
	}
	if len(l.bytes)+len(name) > maxKnownBytes {
		l.full = true
		return nowhere
	}
	start := len(l.bytes)
	l.bytes = append(l.bytes, name...)
	k.name = l.bytes[start:len(l.bytes):len(l.bytes)]
	added := l.add(k)
	if added != nowhere {
		l.known[at].next = added
	}
	return added
}

func (l *lore) add(k known) place {
	if len(l.known) >= maxKnown {
		l.full = true
		return nowhere
	}
	l.known = append(l.known, k)
	return place(len(l.known) - 1) //nolint:gosec // at most maxKnown
}
