// Package fit owns whether the rows of a base fit tables that somebody else made.
//
// It compares what a base says with what a database holds, and names everything that does not go together at once:
// problems, without which rows could not come in or would not be the same, and warnings, of what the base has beside its
// rows and the database has not. It reads nothing and changes nothing. Its functions are pure.
//
// It refuses what nobody would check: rows come in with the role of a replica, under which the server holds neither foreign
// keys nor deferred keys against them, so the base must have had the same ones.
package fit

import (
	"fmt"
	"maps"
	"slices"

	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres/restore/ddl"
)

// Relation is a relation that is there.
type Relation struct {
	Kind    string // as pg_class has it
	Columns map[string]Column
}

// Column is a column that is there.
type Column struct {
	Type      string
	Needed    bool // it takes no NULL, and nothing fills it
	Generated bool
}

// There is what the database holds.
type There struct {
	Definitions []body.Definition
	Relations   map[body.Name]Relation
}

// Findings are what does not go together, sorted.
type Findings struct{ Problems, Warnings []string }

// Types holds the types that texts of types are made of against those that are there.
func Types(base body.Body, there There, texts []string) (problems []string) {
	c := newCheck(base, there, nil)
	c.types(texts)
	return slices.Sorted(maps.Keys(c.found[true]))
}

// Check holds a base against what is there. Schemas are Tidemark's own, of which nothing counts.
func Check(base body.Body, there There, schemas ...string) Findings {
	c := newCheck(base, there, schemas)
	var needed []string
	for _, t := range base.Tables {
		if !slices.Contains(schemas, t.Schema) {
			c.table(t)
			for _, column := range t.Columns {
				needed = append(needed, column.Type)
			}
		}
	}
	c.types(needed)
	c.constraints(base)
	c.missing(base)
	for name, r := range there.Relations {
		_, known := c.tables[name]
		if !known && isTable(r.Kind) && !slices.Contains(schemas, name.Schema) {
			c.warn("table %s is not in the base and stays empty", name)
		}
	}
	return Findings{slices.Sorted(maps.Keys(c.found[true])), slices.Sorted(maps.Keys(c.found[false]))}
}

// check is one comparison.
type check struct {
	schemas    []string
	there      There
	base, have map[key][]body.Definition
	tables     map[body.Name]ddl.Table // of the base, by their definitions
	found      map[bool]map[string]bool
}

func newCheck(base body.Body, there There, schemas []string) *check {
	c := &check{
		schemas: schemas, there: there, base: byKey(base.Definitions), have: byKey(there.Definitions), tables: map[body.Name]ddl.Table{},
		found: map[bool]map[string]bool{false: {}, true: {}},
	}
	for _, d := range base.Definitions {
		if d.Kind == "table" && !c.own(d) {
			c.tables[nameOf(d)] = ddl.ReadTable(d.SQL)
		}
	}
	return c
}

func (c *check) problem(form string, args ...any) { c.found[true][fmt.Sprintf(form, args...)] = true }

func (c *check) warn(form string, args ...any) { c.found[false][fmt.Sprintf(form, args...)] = true }

// key names a definition among those of a database.
type key struct {
	kind  string
	name  body.Name
	table body.Name
}

func byKey(definitions []body.Definition) map[key][]body.Definition {
	all := map[key][]body.Definition{}
	for _, d := range definitions {
		all[keyOf(d)] = append(all[keyOf(d)], d)
	}
	return all
}

func keyOf(d body.Definition) key { return key{d.Kind, nameOf(d), d.Table} }

func nameOf(d body.Definition) body.Name { return body.Name{Schema: d.Schema, Name: d.Name} }

func (c *check) own(d body.Definition) bool {
	return slices.Contains(c.schemas, d.Schema) || slices.Contains(c.schemas, d.Table.Schema) ||
		d.Kind == "schema" && slices.Contains(c.schemas, d.Name)
}

func isTable(kind string) bool { return kind == "r" || kind == "p" }

// table holds a table of the base against the one that is there. One that was whole may be partitioned: the server puts each
// row where it belongs.
func (c *check) table(t body.Table) {
	r, exists := c.there.Relations[t.Name]
	switch {
	case !exists:
		c.problem("table %s is not there", t.Name)
		return
	case !isTable(r.Kind):
		c.problem("%s is there and is no table", t.Name)
		return
	}
	if len(t.Columns) == 0 && slices.ContainsFunc(slices.Collect(maps.Values(r.Columns)), func(has Column) bool { return !has.Generated }) {
		c.problem("table %s has columns, and in the base none that has values", t.Name)
		return
	}
	captured := map[string]bool{}
	for _, column := range t.Columns {
		captured[column.Name] = true
		has, exists := r.Columns[column.Name]
		switch {
		case !exists:
			c.problem("table %s has no column %s of type %s", t.Name, column.Name, column.Type)
		case has.Generated:
			c.problem("column %s of table %s is generated, the base has values for it", column.Name, t.Name)
		case has.Type != column.Type:
			c.problem("column %s of table %s is of type %s, in the base of type %s", column.Name, t.Name, has.Type, column.Type)
		}
	}
	generated := c.generated(t.Name)
	for name := range generated {
		if has, exists := r.Columns[name]; !exists || !has.Generated {
			c.problem("column %s of table %s is generated in the base and not there", name, t.Name)
		}
	}
	for name, has := range r.Columns {
		if !captured[name] && !generated[name] && has.Needed {
			c.problem("column %s of table %s is not in the base and must have a value: give it a default or let it be NULL", name, t.Name)
		}
	}
}

// generated are the columns that the base's table computes, with those of its parents.
func (c *check) generated(table body.Name) map[string]bool {
	all := map[string]bool{}
	t := c.tables[table]
	for _, parent := range t.Parents {
		maps.Copy(all, c.generated(parent))
	}
	for _, column := range t.Columns {
		if column.Generated != "" {
			all[column.Name] = true
		} else {
			delete(all, column.Name)
		}
	}
	return all
}

// types holds the types that columns are made of against those that are there.
func (c *check) types(texts []string) {
	seen := map[body.Name]bool{}
	for len(texts) > 0 {
		text := texts[0]
		texts = texts[1:]
		for _, name := range ddl.Names(text) {
			if !seen[name] {
				seen[name] = true
				texts = append(texts, c.kind(name)...)
			}
		}
	}
}

// kind holds one type against the one that is there, and says what it is made of.
func (c *check) kind(name body.Name) (of []string) {
	if t, isRow := c.tables[name]; isRow {
		return c.row(name, t)
	}
	for _, kind := range []string{"enum", "domain", "composite type", "range type"} {
		for _, d := range c.base[key{kind: kind, name: name}] {
			of = append(of, form(d))
			switch has := c.have[keyOf(d)]; {
			case len(has) == 0:
				c.problem("%s %s is not there", kind, name)
			case form(has[0]) != form(d):
				c.problem("%s %s is another one: there %q, in the base %q", kind, name, form(has[0]), form(d))
			}
		}
	}
	return of
}

// form is what decides how values of a type are written: not what a domain adds to its base.
func form(d body.Definition) string {
	if d.Kind == "domain" {
		return ddl.Before(d.SQL, "COLLATE", "DEFAULT", "NOT")
	}
	return d.SQL
}

// row holds a table whose rows are values of a column: they have all columns, in their order.
func (c *check) row(name body.Name, t ddl.Table) (of []string) {
	var has ddl.Table
	for _, d := range c.have[key{kind: "table", name: name}] {
		has = ddl.ReadTable(d.SQL)
	}
	same := slices.EqualFunc(t.Columns, has.Columns, func(a, b ddl.Column) bool { return a.Name == b.Name && a.Type == b.Type })
	if !same || !slices.Equal(t.Parents, has.Parents) {
		c.problem("the rows of table %s are values in the base, and its columns or their order are others there", name)
	}
	for _, column := range t.Columns {
		of = append(of, column.Type)
	}
	return of
}
