package listing

import (
	"slices"

	"tidemark/shared/manifest/body"
)

// definitions are those of DDL that only one manifest has, or that say something else in the other, each once.
func (d Difference) definitions() (added, removed, changed []string) {
	old := statements(d.From.Body.Definitions)
	now := statements(d.To.Body.Definitions)
	for name, sql := range now {
		switch before, was := old[name]; {
		case !was:
			added = append(added, name)
		case !slices.Equal(before, sql):
			changed = append(changed, name)
		}
	}
	for name := range old {
		if _, is := now[name]; !is {
			removed = append(removed, name)
		}
	}
	slices.Sort(added)
	slices.Sort(removed)
	slices.Sort(changed)
	return added, removed, changed
}

// statements are the statements of each object. Some take more than one, such as what is granted on it.
func statements(definitions []body.Definition) map[string][]string {
	all := map[string][]string{}
	for _, d := range definitions {
		name := d.Kind + " "
		if d.Schema != "" {
			name += d.Schema + "."
		}
		name += d.Name
		if (d.Table != body.Name{}) {
			name += " of " + d.Table.String()
		}
		all[name] = append(all[name], d.SQL)
	}
	return all
}
