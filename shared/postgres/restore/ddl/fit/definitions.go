package fit

import (
	"slices"

	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres/restore/ddl"
)

// constraints names what the server would not hold against rows, and the base has not held against them either.
func (c *check) constraints(base body.Body) {
	type rule struct {
		table body.Name
		text  string
	}
	known := map[rule]bool{}
	for _, d := range base.Definitions {
		known[rule{d.Table, ddl.Constraint(d.SQL)}] = true
	}
	for _, d := range c.there.Definitions {
		if _, ofBase := c.tables[d.Table]; !ofBase || !unchecked(d) || known[rule{d.Table, ddl.Constraint(d.SQL)}] {
			continue
		}
		c.problem("%s %s of table %s is not the base's, whose rows may break it: drop it, and add it again after the recovery", d.Kind, d.Name, d.Table)
	}
}

// unchecked says whether a constraint sleeps while rows come in.
func unchecked(d body.Definition) bool {
	switch d.Kind {
	case "foreign key":
		return true
	case "primary key", "unique", "exclusion":
		return ddl.Has(d.SQL, "DEFERRABLE")
	}
	return false
}

// missing names what the base has beside rows and the database has not, or has otherwise.
func (c *check) missing(base body.Body) {
	for _, d := range base.Definitions {
		if c.own(d) || !slices.Contains(told(), d.Kind) {
			continue
		}
		name := d.Name
		if d.Schema != "" {
			name = d.Schema + "." + d.Name
		}
		if d.Table.Name != "" && d.Table.Name != d.Name {
			name += " of " + d.Table.String()
		}
		switch has := c.have[keyOf(d)]; {
		case len(has) == 0:
			c.warn("%s %s is in the base and not there", d.Kind, name)
		case !slices.ContainsFunc(has, func(h body.Definition) bool { return h.SQL == d.SQL }):
			c.warn("%s %s is another one than in the base", d.Kind, name)
		}
	}
}

// told are the kinds of definitions whose absence is told. Types and tables are problems where rows need them; rights, owners
// and comments are whoever's who made the database; where rows are laid out in partitions is their own affair.
func told() []string {
	return []string{
		"schema", "extension", "function", "procedure", "aggregate", "default", "domain check", "primary key", "unique", "exclusion", "check",
		"index", "foreign key", "view", "materialized view", "trigger", "rule", "policy", "row security", "statistics",
	}
}
