package setting

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Rule is how values of one kind are read, checked and described. The errors of parse complete the sentence "the
// value …" and never hold it: whether it may be shown is the setting's to say.
type Rule[V any] struct {
	takes  string
	later  string
	shapes []shape // of a flow file's values; a variable has none
	parse  func(text string) (V, error)
}

func (r Rule[V]) read(given node) (V, error) {
	if given.shape == untyped || slices.Contains(r.shapes, given.shape) {
		return r.parse(given.text)
	}
	var none V
	if given.isSingle() && slices.Contains(r.shapes, quotable) {
		return none, fmt.Errorf("is %s to YAML unless it stands in quotes", given.shape)
	}
	return none, given.wrong()
}

// Or is the rule with a word for one more value, in front of what it takes otherwise.
func (r Rule[V]) Or(word string, value V) Rule[V] {
	parse := r.parse
	r.takes = word + " or " + r.takes
	r.parse = func(given string) (V, error) {
		if given == word {
			return value, nil
		}
		return parse(given)
	}
	return r
}

// Text is any text that parse takes.
func Text[V any](takes string, parse func(string) (V, error)) Rule[V] {
	return Rule[V]{takes: takes, shapes: []shape{quotable}, parse: parse}
}

// Checked is a rule of text for a type that checks itself. Its message is replaced: it would repeat the value.
func Checked[V any](takes, complaint string, parse func(string) (V, error)) Rule[V] {
	return Text(takes, func(given string) (V, error) {
		value, err := parse(given)
		if err != nil {
			return value, errors.New(complaint)
		}
		return value, nil
	})
}

// Option is one value of a closed list. Where Unoffered says why, the value is known and refused.
type Option[V any] struct {
	Name      string
	Value     V
	Unoffered string
}

// Choice is a closed list. Exactly the names count: no capitals, no synonyms.
func Choice[V any](options ...Option[V]) Rule[V] {
	var offered, later []string
	shapes := []shape{quotable}
	for _, o := range options {
		if o.Unoffered == "" {
			offered = append(offered, o.Name)
		} else {
			later = append(later, o.Name)
		}
		switch o.Name {
		case "null":
			shapes = append(shapes, null)
		case "true":
			shapes = append(shapes, truth)
		}
	}
	parse := func(given string) (V, error) {
		for _, o := range options {
			switch {
			case o.Name != given:
			case o.Unoffered != "":
				return o.Value, fmt.Errorf("is not offered by this release: %s", o.Unoffered)
			default:
				return o.Value, nil
			}
		}
		var none V
		return none, errors.New("is not an allowed value")
	}
	return Rule[V]{takes: either(offered), later: strings.Join(later, ", "), shapes: shapes, parse: parse}
}

// either is "a", "a or b", "a, b or c".
func either(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Switch is true or false.
func Switch() Rule[bool] {
	return Choice(Option[bool]{Name: "true", Value: true}, Option[bool]{Name: "false", Value: false})
}

// Number is a whole number of a range.
func Number(from, to int) Rule[int] {
	return Rule[int]{
		takes:  fmt.Sprintf("a whole number from %d to %d", from, to),
		shapes: []shape{whole},
		parse: func(given string) (int, error) {
			value, err := strconv.ParseInt(given, 10, 64)
			if err != nil {
				return 0, errors.New("is not a whole number in decimal digits")
			}
			return int(value), inRange(value, int64(from), int64(to))
		},
	}
}

// Duration is a length of time of a range, with its unit.
func Duration(from, to time.Duration) Rule[time.Duration] {
	return Rule[time.Duration]{
		takes:  fmt.Sprintf("a duration from %s to %s, as in 2s or 500ms", brief(from), brief(to)),
		shapes: []shape{quotable, whole, fraction},
		parse: func(given string) (time.Duration, error) {
			value, err := time.ParseDuration(given)
			if err != nil {
				return 0, errors.New("is not a duration with a unit")
			}
			return value, inRange(value, from, to)
		},
	}
}

// brief is a duration without parts that are zero.
func brief(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return strconv.FormatInt(int64(d/time.Hour), 10) + "h"
	case d%time.Second == 0:
		return strconv.FormatInt(int64(d/time.Second), 10) + "s"
	}
	return d.String()
}

// Size is a number of bytes of a range.
func Size(from, to int64) Rule[int64] {
	return Rule[int64]{
		takes:  fmt.Sprintf("%s to %s, in bytes or with the unit KiB, MiB or GiB", binary(from), binary(to)),
		shapes: []shape{quotable, whole},
		parse: func(given string) (int64, error) {
			digits, unit := given, int64(1)
			for _, u := range units() {
				if before, found := strings.CutSuffix(given, u.name); found {
					digits, unit = before, u.bytes
				}
			}
			count, err := strconv.ParseUint(digits, 10, 63)
			switch {
			case err != nil:
				return 0, errors.New("is not a whole number of bytes, KiB, MiB or GiB")
			case int64(count) > to/unit:
				return 0, errTooHigh
			}
			return int64(count) * unit, inRange(int64(count)*unit, from, to)
		},
	}
}

type unit struct {
	name  string
	bytes int64
}

// units lists the units of a size, the largest first.
func units() []unit { return []unit{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} }

// binary is a number of bytes in the largest unit that divides it.
func binary(bytes int64) string {
	for _, u := range units() {
		if bytes%u.bytes == 0 {
			return strconv.FormatInt(bytes/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(bytes, 10)
}

func inRange[N int64 | time.Duration](value, from, to N) error {
	switch {
	case value < from:
		return errTooLow
	case value > to:
		return errTooHigh
	}
	return nil
}

var (
	errTooLow  = errors.New("is below the range")
	errTooHigh = errors.New("is above the range")
)
