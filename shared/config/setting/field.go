// Package setting owns how a table of settings is read, checked and described.
//
// A Field binds one Setting, with its Rule, to its place in a struct. A table of Fields reads the struct from
// variables of the environment (ReadVariables) or from a YAML map (ReadYAML), and describes itself for people
// (Describe), so that a range stands in one place. The package knows no setting of Tidemark's and refuses what its
// table does not name.
//
// Invariants: without an error every value satisfies its rule; an error is of class fault.Misconfigured and holds
// every problem of the source, each with the setting's name, what was given, what is allowed and its place in the
// file; the value of a secret setting and that of an unknown one are in no error. YAML is bounded in bytes, keys and
// nesting before a parser sees it. There is no state: everything may be called from several goroutines.
package setting

import (
	"errors"
	"fmt"
	"slices"
)

// Setting is what a variable or a key of the flow file is to whoever sets it. The reference page is written from the
// same entries that read and check the values.
type Setting struct {
	Name     string
	Meaning  string
	Takes    string // the allowed range, list or form
	Later    string // values that have a meaning which this release does not offer yet, and refuses
	Default  string // as it would be written; empty when there is none
	Example  string // for settings without a default
	Required bool
	Secret   bool
	// Withheld keeps a wrong value out of errors, because a secret may have been written where none belongs.
	Withheld bool
}

// Field binds a setting to its place in a T.
type Field[T any] struct {
	Setting
	below []Setting // the settings of a section or of a list's items
	set   func(into *T, given node, r *report)
}

// fill reads a map of settings into a T. Each setting is there at most once, each name is known, each default holds
// where nothing is written.
func fill[T any](into *T, fields []Field[T], given node, r *report) {
	values := make(map[string]node, len(given.entries))
	for _, e := range given.entries {
		name := e.key.text
		if !slices.ContainsFunc(fields, func(f Field[T]) bool { return f.Name == name }) {
			r.unknown(e.key.at, name, names(fields))
			continue
		}
		if earlier, twice := values[name]; twice {
			r.add(e.key.at, "%s is set twice, before in line %d; remove one", r.path+name, earlier.at.line)
			continue
		}
		values[name] = e.value
	}
	for _, f := range fields {
		value := values[f.Name]
		if value.shape == absent && f.Required {
			r.missing(given.at, f.Setting)
			continue
		}
		f.set(into, value, r)
	}
}

func names[T any](fields []Field[T]) []string {
	list := make([]string, len(fields))
	for i, f := range fields {
		list[i] = f.Name
	}
	return list
}

// Describe lists the settings of a table for people, those of sections and lists behind the section's name.
func Describe[T any](fields []Field[T]) []Setting {
	var list []Setting
	for _, f := range fields {
		list = append(append(list, f.Setting), f.below...)
	}
	return list
}

// beneath is settings with the name of their section.
func beneath(section string, below []Setting) []Setting {
	list := make([]Setting, 0, len(below))
	for _, s := range below {
		s.Name = section + s.Name
		list = append(list, s)
	}
	return list
}

// Scalar is a setting of one value, kept at a place of T.
func Scalar[T, V any](s Setting, takes Rule[V], at func(*T) *V) Field[T] {
	return Put(s, takes, func(into *T, value V) { *at(into) = value })
}

// Put is a setting of one value that put takes into T. Fields are read in the table's order, so put sees those before.
func Put[T, V any](s Setting, takes Rule[V], put func(*T, V)) Field[T] {
	s.Takes, s.Later = takes.takes, takes.later
	return Field[T]{Setting: s, set: func(into *T, given node, r *report) {
		if given.shape == absent {
			if s.Default == "" {
				return
			}
			given = node{shape: untyped, text: s.Default}
		}
		value, err := takes.read(given)
		if err != nil {
			r.refuse(s, given, err)
			return
		}
		put(into, value)
	}}
}

// Section is a map of settings of its own. Its defaults hold also where the section is absent.
func Section[T, S any](s Setting, fields []Field[S], at func(*T) *S) Field[T] {
	s.Takes = "a map with the keys below"
	return Field[T]{Setting: s, below: beneath(s.Name+".", Describe(fields)), set: func(into *T, given node, r *report) {
		if given.shape != absent && given.shape != mapped {
			r.refuse(s, given, given.wrong())
			return
		}
		fill(at(into), fields, given, r.within(s.Name))
	}}
}

// Lift makes settings of a part settings of the whole.
func Lift[T, S any](fields []Field[S], at func(*T) *S) []Field[T] {
	lifted := make([]Field[T], 0, len(fields))
	for _, f := range fields {
		lifted = append(lifted, Field[T]{Setting: f.Setting, below: f.below, set: func(into *T, given node, r *report) {
			f.set(at(into), given, r)
		}})
	}
	return lifted
}

// Where is the field with a further condition on what was read so far, which is asked where the setting is written. The
// error completes the sentence "NAME …" and holds no value of a secret. What was refused is its zero value by then.
func (f Field[T]) Where(holds func(T) error) Field[T] {
	set := f.set
	f.set = func(into *T, given node, r *report) {
		set(into, given, r)
		if given.shape == absent {
			return
		}
		if err := holds(*into); err != nil {
			r.add(given.at, "%s %w", r.path+f.Name, err)
		}
	}
	return f
}

// Always is the field with a condition on what was read so far, which is asked whether or not the setting is written. It is
// for what several settings must agree on, at the last of them.
func (f Field[T]) Always(holds func(T) error) Field[T] {
	set := f.set
	f.set = func(into *T, given node, r *report) {
		set(into, given, r)
		if err := holds(*into); err != nil {
			r.add(given.at, "%s %w", r.path+f.Name, err)
		}
	}
	return f
}

// wrong says that a node has another shape than its setting.
func (n node) wrong() error {
	if n.shape == nothing {
		return errors.New("is missing behind the colon: write one or remove the key")
	}
	return fmt.Errorf("is %s", n.shape)
}
