package setting

import "fmt"

// Items is what a list may hold.
type Items[V any] struct {
	takes    string
	min, max int
	below    []Setting
	read     func(given node, s Setting, r *report) (V, bool)
	// unique names what an item may share with no other, as in "from shop.orders".
	unique func(V) []string
}

// Texts is from min to max distinct values of a rule.
func Texts[V ~string](minimum, maximum int, takes Rule[V]) Items[V] {
	return Items[V]{
		takes: "distinct values, each " + takes.takes, min: minimum, max: maximum,
		read: func(given node, s Setting, r *report) (V, bool) {
			s.Takes = takes.takes
			value, err := takes.read(given)
			if err != nil {
				r.refuse(s, given, err)
			}
			return value, err == nil
		},
		unique: func(value V) []string { return []string{clip(string(value))} },
	}
}

// Maps is from none to max maps of settings. unique names what an item may share with no other.
func Maps[V any](maximum int, fields []Field[V], unique func(V) []string) Items[V] {
	return Items[V]{
		takes: "maps with the keys below", max: maximum, below: Describe(fields),
		read: func(given node, s Setting, r *report) (V, bool) {
			var value V
			if given.shape != mapped {
				s.Takes = "a map of keys"
				r.refuse(s, given, given.wrong())
				return value, false
			}
			before := len(*r.found)
			fill(&value, fields, given, r.within(s.Name))
			return value, len(*r.found) == before
		},
		unique: unique,
	}
}

// List is a setting of several values, kept in the order they were written.
func List[T, V any](s Setting, holds Items[V], at func(*T) *[]V) Field[T] {
	s.Takes = fmt.Sprintf("a list of %d to %d %s", holds.min, holds.max, holds.takes)
	return Field[T]{Setting: s, below: beneath(s.Name+"[].", holds.below), set: func(into *T, given node, r *report) {
		if given.shape == absent {
			return
		}
		if err := holds.check(given); err != nil {
			r.refuse(s, given, err)
			return
		}
		*at(into) = holds.readAll(given, s, r)
	}}
}

func (holds Items[V]) check(given node) error {
	switch n := len(given.items); {
	case given.shape != listed:
		return given.wrong()
	case n < holds.min || n > holds.max:
		return fmt.Errorf("has %d items", n)
	}
	return nil
}

func (holds Items[V]) readAll(given node, s Setting, r *report) []V {
	values := make([]V, 0, len(given.items))
	taken := make(map[string]int, len(given.items))
	for i, item := range given.items {
		at := s
		at.Name = fmt.Sprintf("%s[%d]", s.Name, i)
		value, ok := holds.read(item, at, r)
		if !ok {
			continue
		}
		for _, name := range holds.unique(value) {
			if first, twice := taken[name]; twice {
				r.add(item.at, "%s repeats %s of %s[%d]; remove one", r.path+at.Name, name, s.Name, first)
				continue
			}
			taken[name] = i
		}
		values = append(values, value)
	}
	return values
}

// Pairs is a map from words that are not settings, each once, to values: at most max of them.
func Pairs[T, V any](s Setting, maximum int, key Rule[string], value Rule[V], at func(*T) *map[string]V) Field[T] {
	s.Takes = fmt.Sprintf("a map of 0 to %d pairs, from %s, to %s", maximum, key.takes, value.takes)
	return Field[T]{Setting: s, set: func(into *T, given node, r *report) {
		switch {
		case given.shape == absent:
			return
		case given.shape != mapped:
			r.refuse(s, given, given.wrong())
			return
		case len(given.entries) > maximum:
			r.refuse(s, given, fmt.Errorf("has %d pairs", len(given.entries)))
			return
		}
		values := make(map[string]V, len(given.entries))
		lines := make(map[string]int, len(given.entries))
		for _, e := range given.entries {
			word, err := key.read(e.key)
			if err != nil {
				r.refuse(Setting{Name: s.Name, Takes: key.takes}, e.key, err)
				continue
			}
			of := Setting{Name: s.Name + "." + clip(word), Takes: value.takes}
			if line, twice := lines[word]; twice {
				r.add(e.key.at, "%s is set twice, before in line %d; remove one", r.path+of.Name, line)
				continue
			}
			lines[word] = e.key.at.line
			if values[word], err = value.read(e.value); err != nil {
				r.refuse(of, e.value, err)
			}
		}
		*at(into) = values
	}}
}
