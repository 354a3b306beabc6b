package setting

import (
	"slices"
	"strings"
)

// Environment is the environment of a process, as the caller hands it over.
type Environment struct {
	Lookup  func(string) (string, bool) // os.LookupEnv
	Environ []string                    // os.Environ()
	Prefix  string                      // of all variables that are the product's own
	Known   []string                    // variables with the prefix that other processes read
}

// ReadVariables reads a struct from variables of the environment. An empty variable counts as absent, because
// templates pass on parameters that nobody filled in. A variable with the prefix that is neither in the table nor
// known is refused.
//
// Errors: fault.Misconfigured for everything that is wrong, in one error with the hint.
func ReadVariables[T any](fields []Field[T], from Environment, hint string) (T, error) {
	var into T
	var given node
	own := names(fields)
	for _, name := range own {
		if value, _ := from.Lookup(name); value != "" {
			given.entries = append(given.entries, entry{
				key:   node{shape: untyped, text: name},
				value: node{shape: untyped, text: value},
			})
		}
	}
	r := newReport("")
	fill(&into, fields, given, r)
	known := slices.Concat(own, from.Known)
	for _, variable := range from.Environ {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, from.Prefix) && !slices.Contains(known, name) {
			r.unknown(place{}, name, known)
		}
	}
	if err := r.err(hint); err != nil {
		var none T
		return none, err
	}
	return into, nil
}
