package setting

import "fmt"

// node is a value as it was written, whoever wrote it: a variable of the environment or a part of a file.
type node struct {
	at      place
	shape   shape
	text    string  // of everything that is one value
	items   []node  // of a list
	entries []entry // of a map, in the order they were written
}

type entry struct {
	key   node
	value node
}

// place is where in a file a node stands; the environment has no places.
type place struct{ line, column int }

func (p place) String() string {
	if p.line == 0 {
		return ""
	}
	return fmt.Sprintf("%d:%d", p.line, p.column)
}

// shape is what a node is before anybody asks what it should be.
type shape uint8

const (
	absent    shape = iota // not written at all: the default holds
	untyped                // a variable or a default: text that may mean any single value
	quotable               // text
	whole                  // a whole number
	fraction               // a number with a point or an exponent, infinity, not a number
	truth                  // true or false
	null                   // the word null, or ~
	nothing                // a key without a value
	listed                 // a list
	mapped                 // keys and values
	forbidden              // what no file of settings needs: an alias, a tag
)

func (s shape) String() string {
	switch s {
	case absent:
		return "absent"
	case untyped, quotable:
		return "text"
	case whole:
		return "a whole number"
	case fraction:
		return "a fraction"
	case truth:
		return "true or false"
	case null:
		return "null"
	case nothing:
		return "without a value"
	case listed:
		return "a list"
	case mapped:
		return "a map"
	case forbidden:
		return "an alias or a tag"
	}
	return fmt.Sprintf("shape(%d)", uint8(s))
}

// isSingle says whether the node is one value and not a collection of values.
func (n node) isSingle() bool {
	switch n.shape {
	case untyped, quotable, whole, fraction, truth, null:
		return true
	case absent, nothing, listed, mapped, forbidden:
	}
	return false
}

// maxShown is how much of a wrong value an error repeats.
const maxShown = 80

// shown is the value in quotes, cut where it is long.
func (n node) shown() string { return clip(n.text) }

func clip(text string) string {
	if len(text) > maxShown {
		return fmt.Sprintf("%.*q… (%d bytes)", maxShown, text, len(text))
	}
	return fmt.Sprintf("%q", text)
}
