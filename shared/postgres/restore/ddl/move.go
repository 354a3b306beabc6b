package ddl

import (
	"slices"
	"strings"

	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres"
)

// Moved says which tables, with their indexes and sequences, stand in another schema.
type Moved struct {
	Into                       string
	Tables, Indexes, Sequences map[body.Name]bool
}

// Move gives a statement about moved tables as it reads there. Names are moved where the statement's form has a table, an
// index or a sequence; a type or a function of the same name stays where it is.
func Move(sql string, moved Moved) string {
	s := scan(sql)
	var out strings.Builder
	done := 0
	put := func(start, end int, name string) {
		out.WriteString(sql[done:start])
		out.WriteString(name)
		done = end
	}
	for i := 0; i < len(s.tokens); i++ {
		if t := s.tokens[i]; t.kind == literal {
			if name, is := regclass(s, i); is && moved.Sequences[name] {
				put(t.start, t.end, postgres.QuoteText(postgres.QuoteTable(moved.Into, name.Name)))
			}
			continue
		}
		names := s.names(i, i+parts)
		if len(names) == 0 {
			continue
		}
		if n := names[0]; s.moves(n, moved) {
			put(s.tokens[i].start, s.tokens[i+2].end, postgres.QuoteTable(moved.Into, n.Name.Name))
		}
		i += parts - 1
	}
	return out.String() + sql[done:]
}

// moves says whether a name stands where its kind does.
func (s statement) moves(n named, moved Moved) bool {
	before := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return s.is(n.at-1, w) })
	}
	switch {
	case moved.Sequences[n.Name] && before("NAME", "SEQUENCE"): // SEQUENCE NAME of an identity
		return true
	case moved.Tables[n.Name] && (before("TABLE", "ONLY", "ON", "PARTITION", "INHERIT", "BY") || s.inherited(n.at)):
		return true
	}
	return moved.Indexes[n.Name] && (before("INDEX") || before("PARTITION") && s.is(1, "INDEX"))
}

// inherited says whether a place is in the list of what a table inherits from.
func (s statement) inherited(at int) bool {
	for i := at; i >= 0 && !s.is(i, ")"); i-- {
		if s.is(i, "INHERITS") {
			return true
		}
	}
	return false
}

// regclass gives the name in a literal that is cast to a relation.
func regclass(s statement, i int) (body.Name, bool) {
	if !s.is(i+1, ":") || !s.is(i+2, ":") || !s.is(i+3, "regclass") {
		return body.Name{}, false
	}
	text, escaped := strings.CutPrefix(s.tokens[i].text, "E")
	text = strings.ReplaceAll(strings.Trim(text, "'"), "''", "'")
	if escaped {
		text = strings.ReplaceAll(text, `\\`, `\`)
	}
	names := Names(text)
	if len(names) != 1 {
		return body.Name{}, false
	}
	return names[0], true
}

// Relations are the relations that a statement looks up by their names, as the default of a column looks up its sequence.
func Relations(sql string) []body.Name {
	s := scan(sql)
	var names []body.Name
	for i, t := range s.tokens {
		if name, is := regclass(s, i); t.kind == literal && is {
			names = append(names, name)
		}
	}
	return names
}
