package extraction

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
)

// ErrUnknownTable says that a manifest does not have a table of that name.
var ErrUnknownTable = errors.New("the manifest does not have it")

// find gives the tables that a person names, each once, in the order in which they were named. A partitioned table is one.
func find(b body.Body, meant []string) ([]body.Name, error) {
	var all, names []body.Name
	for _, d := range b.Definitions {
		if d.Kind == "table" {
			all = append(all, body.Name{Schema: d.Schema, Name: d.Name})
		}
	}
	for _, t := range b.Tables {
		if !slices.Contains(all, t.Name) {
			all = append(all, t.Name)
		}
	}
	var unknown []error
	for _, text := range meant {
		at := slices.IndexFunc(all, func(n body.Name) bool { return spelled(n, text) })
		switch {
		case at < 0:
			unknown = append(unknown, fault.New(fault.Misconfigured, "table %.80q: %w", text, ErrUnknownTable).
				WithHint("%s", near(all, text)))
		case slices.ContainsFunc(all[at+1:], func(n body.Name) bool { return spelled(n, text) }):
			unknown = append(unknown, fault.New(fault.Misconfigured, "table %.80q may be any of several: %w", text, ErrUnknownTable).
				WithHint(`put each part in quotes: "schema"."table"`))
		case !slices.Contains(names, all[at]):
			names = append(names, all[at])
		}
	}
	if len(unknown) == 1 {
		return nil, unknown[0]
	}
	return names, errors.Join(unknown...)
}

// spelled says whether a person may write a name like this: as it is shown, or with any of its parts in quotes.
func spelled(n body.Name, text string) bool {
	for _, schema := range []string{n.Schema, quote(n.Schema)} {
		if text == schema+"."+n.Name || text == schema+"."+quote(n.Name) {
			return true
		}
	}
	return false
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// near says which tables are meant, perhaps.
func near(all []body.Name, text string) string {
	type candidate struct {
		name     string
		distance int
	}
	var alike []candidate
	for _, n := range all {
		distance := min(distance(n.String(), text), 1+distance(n.Name, text))
		if distance <= max(2, len(text)/4) {
			alike = append(alike, candidate{n.String(), distance})
		}
	}
	if len(alike) == 0 {
		return "want SCHEMA.TABLE, as tidemark manifests show lists them"
	}
	slices.SortStableFunc(alike, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	const most = 3
	var names []string
	for _, c := range alike[:min(len(alike), most)] {
		names = append(names, c.name)
	}
	return fmt.Sprintf("did you mean %s?", strings.Join(names, " or "))
}

// distance is how many characters must be changed, put in or left out to make one text of the other.
func distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	row := make([]int, len(to)+1)
	for i := range row {
		row[i] = i
	}
	for i, x := range from {
		before := row[0]
		row[0] = i + 1
		for j, y := range to {
			change := before
			if x != y {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(to)]
}
