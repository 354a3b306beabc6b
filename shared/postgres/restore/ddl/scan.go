package ddl

import (
	"strings"

	"tidemark/shared/manifest/body"
)

// kind is what a token is.
type kind int

const (
	word    kind = iota // a keyword, or a name that needs no quotes
	quoted              // a name in quotes
	literal             // a text
	sign                // anything else, one character
)

type token struct {
	kind       kind
	start, end int
	text       string
}

// name is a token as a name.
func (t token) name() string {
	if t.kind == quoted && len(t.text) > 1 {
		return strings.ReplaceAll(t.text[1:len(t.text)-1], `""`, `"`)
	}
	return t.text
}

// statement is a text and its tokens.
type statement struct {
	sql    string
	tokens []token
}

func scan(sql string) statement {
	s := statement{sql: sql}
	for at := 0; at < len(sql); {
		if strings.IndexByte(" \t\r\n\f\v", sql[at]) >= 0 {
			at++
			continue
		}
		k, end := read(sql, at)
		s.tokens = append(s.tokens, token{k, at, end, sql[at:end]})
		at = end
	}
	return s
}

// read reads the token that begins at a place.
func read(sql string, at int) (kind, int) {
	switch c := sql[at]; {
	case c == '"':
		return quoted, closed(sql, at+1, '"', false)
	case c == '\'':
		return literal, closed(sql, at+1, '\'', false)
	case (c == 'E' || c == 'B' || c == 'X') && strings.HasPrefix(sql[at+1:], "'"):
		return literal, closed(sql, at+2, '\'', c == 'E')
	case inName(c) && c != '$' && (c < '0' || c > '9'):
		end := at
		for end < len(sql) && inName(sql[end]) {
			end++
		}
		return word, end
	case c == '$':
		if end := dollar(sql, at); end > 0 {
			return literal, end
		}
	}
	return sign, at + 1
}

func inName(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// closed is the place behind the quote that ends what began before at. A doubled quote is one inside.
func closed(sql string, at int, quote byte, escapes bool) int {
	for ; at < len(sql); at++ {
		switch {
		case escapes && sql[at] == '\\':
			at++
		case sql[at] != quote:
		case at+1 < len(sql) && sql[at+1] == quote:
			at++
		default:
			return at + 1
		}
	}
	return len(sql)
}

// dollar is the place behind a text in dollars, 0 when none begins at a place.
func dollar(sql string, at int) int {
	length := strings.IndexByte(sql[at+1:], '$')
	if length < 0 {
		return 0
	}
	tag := sql[at : at+length+2]
	for i := 1; i < len(tag)-1; i++ {
		if !inName(tag[i]) || tag[1] >= '0' && tag[1] <= '9' {
			return 0
		}
	}
	end := strings.Index(sql[at+len(tag):], tag)
	if end < 0 {
		return 0
	}
	return at + len(tag) + end + len(tag)
}

// is says whether a token is this word or sign.
func (s statement) is(i int, text string) bool {
	return i >= 0 && i < len(s.tokens) && s.tokens[i].text == text && (s.tokens[i].kind == word || s.tokens[i].kind == sign)
}

// next is the place of the first such token from a place on, behind all when there is none.
func (s statement) next(from int, text string) int {
	for i := from; i < len(s.tokens); i++ {
		if s.is(i, text) {
			return i
		}
	}
	return len(s.tokens)
}

// closing is the place of the bracket that closes the one at a place.
func (s statement) closing(open int) int {
	depth := 0
	for i := open; i < len(s.tokens); i++ {
		switch {
		case s.is(i, "("):
			depth++
		case s.is(i, ")"):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(s.tokens)
}

// depth is how many brackets are open between two places.
func (s statement) depth(from, to int) int {
	depth := 0
	for i := from; i < to; i++ {
		switch {
		case s.is(i, "("):
			depth++
		case s.is(i, ")"):
			depth--
		}
	}
	return depth
}

// comma is the place of the next comma outside of brackets, or end.
func (s statement) comma(from, end int) int {
	for i := from; i < end; i++ {
		switch {
		case s.is(i, "("):
			i = s.closing(i)
		case s.is(i, ","):
			return i
		}
	}
	return end
}

// text is what stands between two places.
func (s statement) text(from, to int) string {
	if from >= min(to, len(s.tokens)) {
		return ""
	}
	return s.sql[s.tokens[from].start:s.tokens[to-1].end]
}

// named is a name of two parts and the place of its first.
type named struct {
	body.Name

	at int
}

const parts = 3 // of a name of two: with the dot between

// names are the names of two parts between two places.
func (s statement) names(from, to int) []named {
	var names []named
	for i := from; i+parts <= min(to, len(s.tokens)); i++ {
		first, last := s.tokens[i], s.tokens[i+2]
		if first.kind <= quoted && last.kind <= quoted && s.is(i+1, ".") && first.end+1 == last.start {
			names = append(names, named{body.Name{Schema: first.name(), Name: last.name()}, i})
			i += parts - 1
		}
	}
	return names
}
