// Package extract owns how named tables of a base are made in a schema of their own, with their rows, beside whatever the
// database holds.
//
// It is made in one transaction: all of it is there, or nothing. What belongs to a table alone comes with it: columns,
// defaults, keys, checks, indexes, sequences of its columns, partitions. What ties it to something else is left out by name:
// foreign keys, triggers, rules, policies, sequences of nobody's. It refuses a schema that is there, types that are not, and a
// table whose columns stand in another's definition. Nothing is shared between calls.
package extract

import (
	"fmt"
	"slices"

	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres/restore/ddl"
)

// Plan says what is made, in its order.
type Plan struct {
	Tables   []body.Table // with rows
	Types    []string     // of their columns, as they are written
	Warnings []string

	into      string
	before    []statement
	after     []statement
	sequences []body.Sequence
}

// statement is a definition as it reads in the schema.
type statement struct {
	kind, name, sql string
	optional        bool // the tables have their rows without it
}

func (s statement) String() string { return s.kind + " " + s.name }

// NewPlan plans tables of a base in a schema.
//
// Errors: fault.Misconfigured, which names the table.
func NewPlan(base body.Body, tables []body.Name, into string) (*Plan, error) {
	c := &choice{base: base, moved: ddl.Moved{
		Into: into, Tables: map[body.Name]bool{}, Indexes: map[body.Name]bool{}, Sequences: map[body.Name]bool{},
	}}
	for _, name := range tables {
		c.moved.Tables[name] = true
	}
	for c.partitions() {
	}
	for _, q := range base.Sequences {
		if c.moved.Tables[q.Owner] {
			c.moved.Sequences[q.Name] = true
		}
	}
	p := &Plan{into: into}
	if err := c.clash(); err != nil {
		return p, err
	}
	for _, d := range base.Definitions {
		if err := c.take(p, d); err != nil {
			return p, err
		}
	}
	for _, t := range base.Tables {
		if c.moved.Tables[t.Name] {
			p.Tables = append(p.Tables, t)
		}
	}
	for _, q := range base.Sequences {
		if c.moved.Sequences[q.Name] {
			p.sequences = append(p.sequences, q)
		}
	}
	slices.Sort(p.Warnings)
	return p, nil
}

// choice is what is taken out of a base.
type choice struct {
	base  body.Body
	moved ddl.Moved
}

// partitions takes the partitions of what is taken, and says whether there were more.
func (c *choice) partitions() (more bool) {
	for _, d := range c.base.Definitions {
		if d.Kind != "partition" || c.moved.Tables[d.Table] || !c.moved.Tables[parentOf(d)] {
			continue
		}
		c.moved.Tables[d.Table] = true
		more = true
	}
	return more
}

// parentOf is the table that a statement changes.
func parentOf(d body.Definition) body.Name {
	if names := ddl.Names(d.SQL); len(names) > 0 {
		return names[0]
	}
	return body.Name{}
}

// clash refuses two of one name: in the one schema they would be the same.
func (c *choice) clash() error {
	seen := map[string]body.Name{}
	for _, names := range []map[body.Name]bool{c.moved.Tables, c.moved.Sequences} {
		for name := range names {
			if other, twice := seen[name.Name]; twice {
				return fault.New(fault.Misconfigured, "%s and %s cannot both be in schema %s", min(name.String(), other.String()),
					max(name.String(), other.String()), c.moved.Into).WithHint("restore them into two schemas, one after the other")
			}
			seen[name.Name] = name
		}
	}
	return nil
}

// take puts a definition where it belongs in the plan.
func (c *choice) take(p *Plan, d body.Definition) error {
	name := body.Name{Schema: d.Schema, Name: d.Name}
	switch {
	case d.Kind == "table" && c.moved.Tables[name]:
		return c.takeTable(p, d)
	case d.Kind == "sequence" && c.moved.Sequences[name]:
		c.put(&p.before, d, name.Name, false)
	case c.moved.Tables[d.Table] && d.Table != (body.Name{}):
		return c.takePart(p, d)
	}
	return nil
}

func (c *choice) put(to *[]statement, d body.Definition, name string, optional bool) {
	*to = append(*to, statement{d.Kind, name, ddl.Move(d.SQL, c.moved), optional})
}

func (c *choice) takeTable(p *Plan, d body.Definition) error {
	t := ddl.ReadTable(d.SQL)
	for _, parent := range t.Parents {
		if !c.moved.Tables[parent] {
			return orphan(d, parent)
		}
	}
	for _, column := range t.Columns {
		p.Types = append(p.Types, column.Type)
	}
	c.put(&p.before, d, d.Name, false)
	return nil
}

func orphan(d body.Definition, parent body.Name) error {
	return fault.New(fault.Misconfigured, "table %s.%s inherits from %s", d.Schema, d.Name, parent).
		WithHint("name that one too: --table %s", parent)
}

// takePart puts a part of a table where it belongs.
func (c *choice) takePart(p *Plan, d body.Definition) error {
	called := fmt.Sprintf("%s of %s", d.Name, d.Table)
	switch d.Kind {
	case "default":
		for _, name := range ddl.Relations(d.SQL) {
			if !c.moved.Sequences[name] {
				p.Warnings = append(p.Warnings, fmt.Sprintf("default %s is left out: it takes numbers from %s, which no table of these owns", called, name))
				return nil
			}
		}
		c.put(&p.before, d, called, true)
	case "owned by", "not null":
		c.put(&p.before, d, called, false)
	case "column", "table type":
		c.put(&p.before, d, called, true)
	case "inheritance":
		if parent := ddl.Names(d.SQL); len(parent) > 1 && !c.moved.Tables[parent[1]] {
			return orphan(d, parent[1])
		}
		c.put(&p.before, d, called, false)
	case "partition":
		if parent := parentOf(d); !c.moved.Tables[parent] {
			p.Warnings = append(p.Warnings, fmt.Sprintf("table %s was a partition of %s and stands alone", d.Table, parent))
			return nil
		}
		c.put(&p.before, d, called, false)
	case "primary key", "unique", "exclusion", "index":
		c.moved.Indexes[body.Name{Schema: d.Schema, Name: d.Name}] = true
		c.put(&p.after, d, called, false)
	case "check":
		c.put(&p.after, d, called, true)
	case "index partition", "index options", "index column":
		if d.Kind == "index partition" && !c.moved.Indexes[parentOf(d)] {
			return nil // of a table that stands alone
		}
		c.put(&p.after, d, called, true)
	case "foreign key", "trigger", "rule", "policy", "row security", "statistics":
		p.Warnings = append(p.Warnings, fmt.Sprintf("%s %s is left out", d.Kind, called))
	}
	return nil
}
