package fit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres/restore/ddl/fit"
)

func name(n string) body.Name { return body.Name{Schema: "s", Name: n} }

// tables are tables of one chunk, or of two when their names have two letters; a name in capitals has no rows.
func tables(names ...string) []body.Table {
	var all []body.Table
	for _, n := range names {
		t := body.Table{Name: name(n)}
		for range len(n) {
			if n >= "a" {
				t.Chunks, t.Rows = append(t.Chunks, body.Chunk{Rows: 1}), t.Rows+1
			}
		}
		all = append(all, t)
	}
	return all
}

func TestGenerations(t *testing.T) {
	t.Parallel()
	for title, c := range map[string]struct {
		tables     []body.Table
		references []string // from and to
		want       []string // by generation
		problems   []string
	}{
		"ParentsFirst":         {tables("a", "b", "c", "d"), []string{"a", "b", "b", "c", "d", "c"}, []string{"c", "bd", "a"}, nil},
		"WhatIsFarthestCounts": {tables("a", "b", "c"), []string{"a", "c", "a", "b", "b", "c"}, []string{"c", "b", "a"}, nil},
		"EmptyTablesAtAnyTime": {tables("a", "B"), []string{"a", "B", "B", "a"}, []string{"aB"}, nil},
		"ItselfInOnePart":      {tables("a"), []string{"a", "a"}, []string{"a"}, nil},
		"ItselfInParts":        {tables("aa"), []string{"aa", "aa"}, []string{"aa"}, []string{"table s.aa points to itself and comes in 2 parts"}},
		"ACircleAndWhoWaits":   {tables("a", "b", "c", "d"), []string{"a", "b", "b", "a", "c", "a", "b", "d"}, nil, []string{"tables point to each other: s.a, s.b"}},
		"StrangersAreNobodys":  {tables("a"), []string{"a", "x", "x", "a"}, []string{"a"}, nil},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			var references []fit.Reference
			for i := 0; i < len(c.references); i += 2 {
				references = append(references, fit.Reference{From: name(c.references[i]), To: name(c.references[i+1])})
			}
			generation, problems := fit.Generations(c.tables, references)
			if diff := cmp.Diff(c.problems, problems, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			var got []string
			for _, table := range c.tables {
				for len(got) <= generation[table.Name] {
					got = append(got, "")
				}
				got[generation[table.Name]] += table.Name.Name
			}
			if diff := cmp.Diff(c.want, got); diff != "" && c.want != nil {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
