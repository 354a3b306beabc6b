package fit

import (
	"fmt"
	"slices"
	"strings"

	"tidemark/shared/manifest/body"
)

// Reference is a foreign key, from a table to the one that it points to.
type Reference struct{ From, To body.Name }

// Generations says when a table's rows may come where foreign keys act: after those of every table that it points to. Tables
// without rows come at any time. Problems name tables that would have to come before themselves.
func Generations(tables []body.Table, references []Reference) (generation map[body.Name]int, problems []string) {
	generation = map[body.Name]int{}
	open := map[body.Name]bool{}
	for _, t := range tables {
		generation[t.Name] = 0
		open[t.Name] = t.Rows > 0
		if parts := filledChunks(t); parts > 1 && slices.Contains(references, Reference{t.Name, t.Name}) {
			problems = append(problems, fmt.Sprintf("table %s points to itself and comes in %d parts", t.Name, parts))
		}
	}
	references = slices.DeleteFunc(slices.Clone(references), func(r Reference) bool { return r.From == r.To || !open[r.From] || !open[r.To] })
	for at := 0; len(references) > 0; at++ {
		waiting := map[body.Name]bool{}
		for _, r := range references {
			waiting[r.From] = true
		}
		left := slices.DeleteFunc(slices.Clone(references), func(r Reference) bool { return !waiting[r.To] })
		for name := range waiting {
			generation[name] = at + 1
		}
		if len(left) == len(references) {
			return generation, append(problems, "tables point to each other: "+circle(left))
		}
		references = left
	}
	return generation, problems
}

func filledChunks(t body.Table) (n int) {
	for _, c := range t.Chunks {
		if c.Rows > 0 {
			n++
		}
	}
	return n
}

// circle names the tables that wait for each other, without those that only wait for them.
func circle(references []Reference) string {
	for {
		pointedTo := map[body.Name]bool{}
		for _, r := range references {
			pointedTo[r.To] = true
		}
		left := slices.DeleteFunc(slices.Clone(references), func(r Reference) bool { return !pointedTo[r.From] })
		if len(left) == len(references) {
			break
		}
		references = left
	}
	var names []string
	for _, r := range references {
		names = append(names, r.From.String())
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}
