package jsonnode

import "bytes"

// Document is a text whose objects know where their members stand, so that nobody walks over a value to get behind it.
// It is for texts of which much is read, and used again for the next one. It belongs to one goroutine.
type Document struct {
	scanner scanner
}

// maxKept bounds what an unusual text makes a Document keep.
const maxKept = 1 << 14

// Parse checks text as the function Parse does and returns its value. What the Document returned before is void.
func (d *Document) Parse(text []byte) (Object, error) {
	d.begin(text)
	if !d.scanner.document() {
		return Object{}, refusal(text)
	}
	return d.object(bytes.Trim(text, blanks), 0, len(d.scanner.members)), nil
}

// ParseLast returns the value of an object's last member, where the text before offset is the same as in an object that
// Parse took, up to the value of its last member. It is false if Parse would refuse the text or find other members
// behind.
func (d *Document) ParseLast(text []byte, offset int) (Object, bool) {
	d.begin(text)
	s := &d.scanner
	start := s.blanks(offset)
	end := s.value(start, 2, s.lore.root())
	if end == bad {
		return Object{}, false
	}
	i := s.blanks(end)
	if !s.is(i, '}') || s.blanks(i+1) != len(text) {
		return Object{}, false
	}
	return d.object(text[start:end], 0, len(s.members)), true
}

func (d *Document) begin(text []byte) {
	if cap(d.scanner.members) > maxKept {
		d.scanner = scanner{}
	}
	d.scanner.lore.begin()
	d.scanner.text, d.scanner.members = text, d.scanner.members[:0]
}

func (d *Document) object(n Node, first, end int) Object {
	if n.Kind() != '{' {
		first, end = 0, 0
	}
	return Object{Node: n, document: d, first: first, end: end}
}

// Object is a value of a Document with its members, none if it is something else. The zero value is one that is not
// there.
type Object struct {
	Node
	document   *Document
	first, end int
}

// Members begins to go through the members.
func (o *Object) Members() Members {
	return Members{document: o.document, next: o.first, end: o.end}
}

// Members goes through the members of an Object.
type Members struct {
	document      *Document
	at, next, end int
}

// Next goes to the next member, false behind the last.
func (m *Members) Next() bool {
	if m.next >= m.end {
		return false
	}
	m.at = m.next
	m.next = m.document.scanner.members[m.at].next
	return true
}

// Name is the content of the member's name.
func (m *Members) Name() []byte { return m.document.scanner.nameOf(m.at) }

// Quoted is the member's name as it stands.
func (m *Members) Quoted() []byte {
	s := &m.document.scanner
	return s.text[s.members[m.at].name:s.members[m.at].nameEnd]
}

// Node is the member's value.
func (m *Members) Node() Node {
	s := &m.document.scanner
	return s.text[s.members[m.at].value:s.members[m.at].valueEnd]
}

// Offset is where the member's value begins in the text.
func (m *Members) Offset() int { return m.document.scanner.members[m.at].value }

// Object is the member's value with its own members.
func (m *Members) Object() Object { return m.document.object(m.Node(), m.at+1, m.next) }
