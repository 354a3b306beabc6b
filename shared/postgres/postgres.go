// Package postgres owns what every PostgreSQL adapter of Tidemark needs to say the same way: a statement with its
// parameters as text, quoted names, array literals, the table that gives each SQLSTATE its fault class, and how a connection
// gets the login of the moment.
//
// It refuses an address that leaves this machine without a word on encryption. It keeps no state, and its functions are safe
// for concurrent use.
package postgres

import (
	"strings"
)

// Statement is one SQL statement with its parameters in PostgreSQL's text form, or all in its binary form. A nil
// parameter is NULL.
type Statement struct {
	SQL    string
	Params [][]byte
	Binary bool
	// Stable says that the best plan does not hang on how large a table is, so that it may be kept: one that was made for
	// an empty table reads the whole of it when it has grown.
	Stable bool
}

// QuoteName quotes one identifier.
func QuoteName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// QuoteTable quotes a table's name in two parts.
func QuoteTable(schema, table string) string { return QuoteName(schema) + "." + QuoteName(table) }

// QuoteText quotes a text as a literal.
func QuoteText(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// TextArray is the literal of a text[] without NULLs.
func TextArray(values []string) []byte {
	out := []byte{'{'}
	for i, v := range values {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, '"')
		for _, c := range []byte(v) {
			if c == '"' || c == '\\' {
				out = append(out, '\\')
			}
			out = append(out, c)
		}
		out = append(out, '"')
	}
	return append(out, '}')
}
