// Package part owns how a part of a table is asked for in SQL: the rows that are in it and the order in which they come.
//
// The server compares, row by row and by the key's own collations; here, nothing is compared. It refuses bounds of another
// key and pages that no table has. Texts become literals that read the same under standard_conforming_strings, which the
// session has to have switched on. No I/O; values may be shared.
package part

import (
	"fmt"
	"strings"

	"tidemark/shared/backup"
	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres"
)

// Table is a table that is read in parts.
type Table struct {
	Name body.Name
	Key  []Column // empty where only pages cut it
}

// Column is a column of the index that orders the table.
type Column struct {
	Name      string
	Type      string // of bounds, as SQL has it
	Collation string // of the index, which need not be the column's, as SQL has it; empty where there is none
}

// SQL is the table's name.
func (t Table) SQL() string { return postgres.QuoteTable(t.Name.Schema, t.Name.Name) }

// KeyColumns is the list of the key's columns.
func (t Table) KeyColumns() string {
	names := make([]string, len(t.Key))
	for i, c := range t.Key {
		names[i] = c.Name
	}
	return Columns(names)
}

// Order is the list for ORDER BY.
func (t Table) Order() string { return strings.Join(t.compared(), ", ") }

func (t Table) compared() []string {
	keys := make([]string, len(t.Key))
	for i, c := range t.Key {
		keys[i] = postgres.QuoteName(c.Name)
		if c.Collation != "" {
			keys[i] += " COLLATE " + c.Collation
		}
	}
	return keys
}

// maxPage is beyond the last page that a table can have.
const maxPage = 1<<32 - 1

// From is FROM and WHERE for the rows of a range, without those of the table's children. Errors: fault.Bug.
func (t Table) From(r backup.Range) (string, error) {
	var conditions []string
	for _, side := range []struct {
		than  string
		bound []string
		page  int64
	}{{" >= ", r.From, r.FirstPage}, {" < ", r.Until, r.UntilPage}} {
		if side.page < 0 || side.page > maxPage {
			return "", fault.New(fault.Bug, "page %d of table %s", side.page, t.Name)
		}
		if side.page > 0 {
			conditions = append(conditions, fmt.Sprintf("ctid%s'(%d,0)'::tid", side.than, side.page))
		}
		if side.bound != nil {
			values, err := t.values(side.bound)
			if err != nil {
				return "", err
			}
			conditions = append(conditions, "("+t.Order()+")"+side.than+"("+values+")")
		}
	}
	from := " FROM ONLY " + t.SQL()
	if conditions != nil {
		from += " WHERE " + strings.Join(conditions, " AND ")
	}
	return from, nil
}

func (t Table) values(bound []string) (string, error) {
	if len(bound) != len(t.Key) || len(bound) == 0 {
		return "", fault.New(fault.Bug, "a bound of %d values for the key of %d columns of table %s", len(bound), len(t.Key), t.Name)
	}
	values := make([]string, len(bound))
	for i, value := range bound {
		if strings.Contains(value, "\x00") {
			return "", fault.New(fault.Bug, "a bound of table %s has a zero byte", t.Name)
		}
		values[i] = postgres.QuoteText(value) + "::" + t.Key[i].Type
	}
	return strings.Join(values, ", "), nil
}

// Columns is a list of names.
func Columns(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = postgres.QuoteName(name)
	}
	return strings.Join(quoted, ", ")
}
