package recoverytest

import (
	"maps"
	"strings"

	"tidemark/shared/apply"
	"tidemark/shared/fault"
)

// Rows are a database's rows: values by key.
type Rows map[string]string

// Values of records: what a record does to the rows.

// Put makes or changes a row.
func Put(key, value string) string { return "put " + key + " " + value }

// Remove deletes a row.
func Remove(key string) string { return "remove " + key }

// Move gives a row another key.
func Move(key, to string) string { return "move " + key + " " + to }

// Needing is a change that the database refuses while a row is not there, as a foreign key does.
func Needing(key, change string) string { return "needs " + key + " " + change }

// Unreadable is a value that nobody can read.
const Unreadable = "?"

// apply is the rows after a record.
func (r Rows) apply(value string) error {
	words := strings.Fields(value)
	switch {
	case len(words) == 3 && words[0] == "put":
		r[words[1]] = words[2]
	case len(words) == 2 && words[0] == "remove":
		delete(r, words[1])
	case len(words) == 3 && words[0] == "move":
		if value, has := r[words[1]]; has {
			delete(r, words[1])
			r[words[2]] = value
		}
	case len(words) > 3 && words[0] == "needs":
		if _, has := r[words[1]]; !has {
			return fault.New(fault.Retryable, "row %s: %w", words[1], apply.ErrWaits)
		}
		return r.apply(strings.Join(words[2:], " "))
	default:
		return fault.New(fault.Poison, "the value %q is no change", value)
	}
	return nil
}

func (r Rows) clone() Rows {
	if r == nil {
		return Rows{}
	}
	return maps.Clone(r)
}
