package harness

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// Effect is one thing that a client asked the server to do, numbered from 1 in the order of arrival.
type Effect struct {
	Number int
	Text   string // verb and table, never a value
}

// String is number and text.
func (e Effect) String() string { return fmt.Sprintf("%d %s", e.Number, e.Text) }

// Connect is the text of a connection's start-up, from its first message until it is ready.
const Connect = "connect"

// A COPY FROM STDIN is its statement, each message of rows, and its end: only then are the rows there.
const (
	CopyData = "copy data"
	CopyDone = "copy done"
	CopyFail = "copy fail" // the client gives up
)

const namePattern = `((?:"[^"]+"|\w+)(?:\.(?:"[^"]+"|\w+))?)`

// matcher finds what a statement is about, and remembers it: a sweep sends the same statements over and over.
type matcher struct {
	changed, bulk, copied, called, nested, read *regexp.Regexp

	mu    sync.Mutex
	known map[string]string // text by statement
}

func newMatcher() *matcher {
	return &matcher{
		known:   map[string]string{},
		changed: regexp.MustCompile(`(?i)\b(INSERT INTO|UPDATE|DELETE FROM)\s+(?:ONLY\s+)?` + namePattern),
		bulk:    regexp.MustCompile(`(?i)\b(?:FROM|USING)\s+unnest\(`),
		copied:  regexp.MustCompile(`(?is)^\s*COPY\s+` + namePattern + `.*\bFROM\s+STDIN\b`),
		called:  regexp.MustCompile(`(?i)^SELECT\s+` + namePattern + `\(`),
		nested:  regexp.MustCompile(`\([^()]*\)`),
		read:    regexp.MustCompile(`(?i)\bFROM\s+(?:ONLY\s+)?` + namePattern),
	}
}

// describe says what a statement does: its verbs with their tables, and whether its rows come in arrays. Statements of one
// kind have one text.
func (m *matcher) describe(sql string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	text, ok := m.known[sql]
	if !ok {
		text = m.summary(sql)
		m.known[sql] = text
	}
	return text
}

func (m *matcher) summary(sql string) string {
	if changes := m.changes(sql); len(changes) > 0 {
		if m.bulk.MatchString(sql) {
			return strings.Join(changes, ", ") + " in bulk"
		}
		return strings.Join(changes, ", ")
	}
	if copied := m.copied.FindStringSubmatch(sql); copied != nil {
		return "copy " + plain(copied[1])
	}
	words := strings.Fields(strings.ToLower(sql))
	switch {
	case len(words) == 0:
		return "nothing"
	case words[0] == "select" || words[0] == "with":
		return "select" + m.source(sql)
	case words[0] == "show" && len(words) > 1:
		return "show " + words[1]
	case words[0] == "rollback" && len(words) > 1 && words[1] == "to":
		return "rollback to savepoint"
	}
	return words[0]
}

// copiesIn says whether a statement takes rows from the client before it ends.
func (m *matcher) copiesIn(sql string) bool { return m.copied.MatchString(sql) }

// source is the table that a question is put to, or the function that it calls.
func (m *matcher) source(sql string) string {
	outer := sql
	for before := ""; before != outer; {
		before, outer = outer, m.nested.ReplaceAllString(outer, "")
	}
	if read := m.read.FindStringSubmatch(outer); read != nil {
		return " " + plain(read[1])
	}
	if call := m.called.FindStringSubmatch(sql); call != nil {
		return " " + plain(call[1])
	}
	return ""
}

func (m *matcher) changes(sql string) []string {
	var found []string
	for _, match := range m.changed.FindAllStringSubmatch(sql, -1) {
		verb, _, _ := strings.Cut(strings.ToLower(match[1]), " ")
		switch name := plain(match[2]); name {
		case "set", "of", "skip", "nowait": // DO UPDATE SET, FOR UPDATE OF
		default:
			found = append(found, verb+" "+name)
		}
	}
	return found
}

func plain(name string) string { return strings.ToLower(strings.ReplaceAll(name, `"`, "")) }
