package jsonnode

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is how many arrays and objects may stand in each other.
const maxDepth = 10_000

// bad is where a value ends that is none.
const bad = -1

// scanner checks a text in one pass and notes every member of every object on the way, so that nobody has to look for
// them again. Its methods take where something begins and return where it ends, or bad.
type scanner struct {
	text    []byte
	members []member
	lore    lore
	slots   []int // see hasTwins
}

// member is where a member of an object stands in the text. Those inside its value follow it directly.
type member struct {
	name, nameEnd   int // with the quotes
	value, valueEnd int
	next            int // the number of the member behind its value
	escaped         bool
}

// document says whether the text is one value and nothing else.
func (s *scanner) document() bool {
	i := s.value(s.blanks(0), 1, s.lore.root())
	return i != bad && s.blanks(i) == len(s.text)
}

// value takes any value. If it is an object, home is what the lore has of it.
func (s *scanner) value(i, depth int, home place) int {
	if i >= len(s.text) {
		return bad
	}
	switch s.text[i] {
	case '"':
		end, _ := s.quoted(i)
		return end
	case '{':
		return s.object(i, depth, home)
	case '[':
		return s.array(i, depth)
	case 'n':
		return s.word(i, "null")
	case 't':
		return s.word(i, "true")
	case 'f':
		return s.word(i, "false")
	}
	return s.number(i)
}

func (s *scanner) object(i, depth int, home place) int {
	if depth > maxDepth {
		return bad
	}
	i = s.blanks(i + 1)
	if s.is(i, '}') {
		return i + 1
	}
	names := newNames(len(s.members), home)
	for {
		if i = s.member(i, depth, &names); i == bad {
			return bad
		}
		i = s.blanks(i)
		switch {
		case s.is(i, ','):
			i = s.blanks(i + 1)
		case s.is(i, '}') && s.settle(&names):
			return i + 1
		default:
			return bad
		}
	}
}

func (s *scanner) member(i, depth int, n *names) int {
	at := len(s.members)
	end := s.name(i, n)
	if end == bad {
		return bad
	}
	if end = s.blanks(end); !s.is(end, ':') {
		return bad
	}
	start := s.blanks(end + 1)
	home := nowhere
	if n.place != nowhere && s.is(start, '{') {
		home = s.lore.within(n.place)
	}
	if end = s.value(start, depth+1, home); end == bad {
		return bad
	}
	m := &s.members[at]
	m.value, m.valueEnd, m.next = start, end, len(s.members)
	return end
}

// note begins a member.
func (s *scanner) note(name, end int, escaped bool) {
	if len(s.members) == cap(s.members) {
		s.grow()
	}
	at := len(s.members)
	s.members = s.members[:at+1]
	m := &s.members[at]
	m.name, m.nameEnd, m.escaped = name, end, escaped
}

func (s *scanner) grow() { s.members = slices.Grow(s.members, max(len(s.members), 64)) }

func (s *scanner) array(i, depth int) int {
	if depth > maxDepth {
		return bad
	}
	i = s.blanks(i + 1)
	if s.is(i, ']') {
		return i + 1
	}
	for {
		if i = s.value(i, depth+1, nowhere); i == bad {
			return bad
		}
		i = s.blanks(i)
		switch {
		case s.is(i, ','):
			i = s.blanks(i + 1)
		case s.is(i, ']'):
			return i + 1
		default:
			return bad
		}
	}
}

func (s *scanner) is(i int, c byte) bool { return i < len(s.text) && s.text[i] == c }

func (s *scanner) blanks(i int) int {
	for i < len(s.text) && isBlank(s.text[i]) {
		i++
	}
	return i
}

func isBlank(c byte) bool { return c <= ' ' && (c == ' ' || c == '\n' || c == '\r' || c == '\t') }

func (s *scanner) word(i int, word string) int {
	if end := i + len(word); end <= len(s.text) && string(s.text[i:end]) == word {
		return end
	}
	return bad
}

func (s *scanner) number(i int) int {
	if s.is(i, '-') {
		i++
	}
	if s.is(i, '0') {
		i++
	} else if i = s.digits(i); i == bad {
		return bad
	}
	if s.is(i, '.') {
		if i = s.digits(i + 1); i == bad {
			return bad
		}
	}
	if s.is(i, 'e') || s.is(i, 'E') {
		i++
		if s.is(i, '+') || s.is(i, '-') {
			i++
		}
		return s.digits(i)
	}
	return i
}

// digits takes one digit at least.
func (s *scanner) digits(i int) int {
	start := i
	for i < len(s.text) && '0' <= s.text[i] && s.text[i] <= '9' {
		i++
	}
	if i == start {
		return bad
	}
	return i
}

// quoted is the string whose quote stands at i, and whether it has escapes.
func (s *scanner) quoted(i int) (end int, escaped bool) {
	end, seen := endOfString(s.text, i)
	if seen.wide() && end != bad && !utf8.Valid(s.text[i:end]) {
		end = bad
	}
	return end, seen.escaped
}

// content is what a string holds beside plain ASCII.
type content struct {
	escaped bool
	bytes   uint64 // all of them, or-ed: their upper bits tell whether there are others than ASCII
}

func (c content) wide() bool { return c.bytes&highBits != 0 }

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// endOfString is where the string ends whose quote stands at i. Control characters and escapes are checked, UTF-8 is
// not.
func endOfString(text []byte, i int) (int, content) {
	seen := content{}
	for i++; ; {
		if i, seen.bytes = skipOrdinary(text, i, seen.bytes); i >= len(text) {
			return bad, seen
		}
		switch text[i] {
		case '"':
			return i + 1, seen
		case '\\':
			seen.escaped = true
			if i = endOfEscape(text, i); i == bad {
				return bad, seen
			}
		default:
			return bad, seen
		}
	}
}

// skipOrdinary goes to the next quote, backslash or control character and adds what it passes to seen.
func skipOrdinary(text []byte, i int, seen uint64) (int, uint64) {
	for ; i+8 <= len(text); i += 8 {
		eight := binary.LittleEndian.Uint64(text[i:])
		if found := specials(eight); found != 0 {
			skip := bits.TrailingZeros64(found) &^ 7
			return i + skip>>3, seen | eight&(1<<skip-1)
		}
		seen |= eight
	}
	for ; i < len(text) && text[i] >= ' ' && text[i] != '"' && text[i] != '\\'; i++ {
		seen |= uint64(text[i])
	}
	return i, seen
}

// specials marks the bytes of eight that are a quote, a backslash or a control character by their upper bit. Only the
// first mark is sure: the subtractions borrow, but never from before it.
func specials(eight uint64) uint64 {
	quotes, slashes := eight^lowBits*'"', eight^lowBits*'\\'
	return ((quotes-lowBits)&^quotes | (slashes-lowBits)&^slashes | (eight-lowBits*' ')&^eight) & highBits
}

// endOfEscape is where the escape at i ends; two for a character beyond 16 bits count as one.
func endOfEscape(text []byte, i int) int {
	if i+2 > len(text) {
		return bad
	}
	switch text[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	}
	first, ok := unit(text, i)
	if !ok || !utf16.IsSurrogate(first) {
		return endIf(ok, i+6)
	}
	second, ok := unit(text, i+6)
	return endIf(ok && utf16.DecodeRune(first, second) != utf8.RuneError, i+12)
}

func endIf(ok bool, end int) int {
	if ok {
		return end
	}
	return bad
}

// unit is the UTF-16 unit of the escape \uXXXX at i.
func unit(text []byte, i int) (rune, bool) {
	if i+6 > len(text) || text[i] != '\\' || text[i+1] != 'u' {
		return 0, false
	}
	value := rune(0)
	for _, c := range text[i+2 : i+6] {
		switch {
		case '0' <= c && c <= '9':
			value = value<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			value = value<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return value, true
}
