package location

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// readQuery reads parameters, each known, once and with a value. Names that are known hold no secret and may be shown.
func readQuery(raw string, known []string) (map[string]string, error) {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil, errors.New("has parameters that do not parse: want NAME=VALUE with & between them")
	}
	values := make(map[string]string, len(query))
	for name, given := range query {
		switch {
		case !slices.Contains(known, name):
			return nil, fmt.Errorf("has a parameter that is none of %s", strings.Join(known, ", "))
		case len(given) > 1:
			return nil, fmt.Errorf("has the parameter %s twice", name)
		case given[0] == "" || strings.ContainsFunc(given[0], isUnprintable):
			return nil, fmt.Errorf("has nothing, a blank or a control character in the parameter %s", name)
		}
		values[name] = given[0]
	}
	return values, nil
}

func isUnprintable(r rune) bool { return r <= ' ' || r == 0x7f }

func readSwitch(name string, query map[string]string, otherwise bool) (bool, error) {
	switch query[name] {
	case "":
		return otherwise, nil
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("has a parameter %s that is neither true nor false", name)
}
