// Package ddl owns what the text of a base's definitions says: which columns a table has, what it inherits from, which
// names stand in it, and how it reads in another schema.
//
// It reads what package capture writes, which is what a server prints, and nothing that a person wrote: names are whole,
// keywords are capitals, there are no comments. It refuses nothing: a text of another form has no columns and no names. It
// runs no statement. Its functions are pure and safe for concurrent use.
package ddl

import (
	"strings"

	"tidemark/shared/manifest/body"
)

// Column is a column as a table's definition has it.
type Column struct {
	Name, Type string
	// Generated is the text behind GENERATED ALWAYS of a column that is computed, empty for others.
	Generated string
}

// Table is what a table's definition says.
type Table struct {
	Columns []Column    // its own, in their order
	Parents []body.Name // whose columns it has, too
	// Partitioned says that its rows stand in other tables.
	Partitioned bool
}

// ReadTable reads the statement that makes a table.
func ReadTable(sql string) Table {
	s := scan(sql)
	open := s.next(0, "(")
	end := s.closing(open)
	t := Table{}
	for at := open + 1; at < end; {
		until := s.comma(at, end)
		t.Columns = append(t.Columns, s.column(at, until))
		at = until + 1
	}
	for i := end + 1; i < len(s.tokens); i++ {
		switch {
		case s.is(i, "INHERITS"):
			for _, n := range s.names(i, s.closing(i+1)) {
				t.Parents = append(t.Parents, n.Name)
			}
		case s.is(i, "PARTITION") && s.is(i+1, "BY"):
			t.Partitioned = true
		}
	}
	return t
}

// column reads the column that tokens describe.
func (s statement) column(at, until int) Column {
	c := Column{Name: s.tokens[at].name()}
	end := until
	for i := until - 1; i > at; i-- { // a word inside of brackets is no word of the column's
		if s.depth(at, i) == 0 && (s.is(i, "COLLATE") || s.is(i, "GENERATED") || s.is(i, "NOT")) {
			end = i
		}
	}
	c.Type = s.text(at+1, end)
	for i := at + 1; i < until; i++ {
		if s.depth(at, i) == 0 && s.is(i, "GENERATED") && s.is(i+1, "ALWAYS") && s.is(i+2, "AS") && s.is(i+3, "(") {
			c.Generated = s.text(i+2, until)
		}
	}
	return c
}

// Names are the names of two parts in a text, each once, in their order. Those in literals are none.
func Names(text string) []body.Name {
	s := scan(text)
	var names []body.Name
	seen := map[body.Name]bool{}
	for _, n := range s.names(0, len(s.tokens)) {
		if !seen[n.Name] {
			seen[n.Name] = true
			names = append(names, n.Name)
		}
	}
	return names
}

// Constraint is what follows the name of a constraint that a statement adds; empty when it adds none.
func Constraint(sql string) string {
	s := scan(sql)
	for i := range s.tokens {
		if s.is(i, "CONSTRAINT") && i+2 < len(s.tokens) {
			return s.text(i+2, len(s.tokens))
		}
	}
	return ""
}

// Before is the part of a text that stands before any of these words, all of it when none is in it.
func Before(text string, words ...string) string {
	s := scan(text)
	for i := range s.tokens {
		for _, w := range words {
			if s.is(i, w) {
				return strings.TrimSpace(text[:s.tokens[i].start])
			}
		}
	}
	return text
}

// Has says whether a word stands in a text, outside of names and literals.
func Has(text, word string) bool { return Before(text, word) != text }
