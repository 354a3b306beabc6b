package setting

import (
	"fmt"
	"strings"

	"tidemark/shared/fault"
)

// report collects everything that is wrong with one source, so that a person mends it in one round.
type report struct {
	source string // the file's name; empty for the environment
	path   string // the section that is being read, with its dot
	found  *problems
}

func newReport(source string) *report { return &report{source: source, found: &problems{}} }

// within is the report of a section: its settings bear the section's name.
func (r *report) within(section string) *report {
	return &report{source: r.source, path: r.path + section + ".", found: r.found}
}

// add notes a problem at a place.
func (r *report) add(at place, format string, args ...any) {
	prefix := ""
	if r.source != "" {
		prefix = r.source + ": "
		if at != (place{}) {
			prefix = r.source + ":" + at.String() + ": "
		}
	}
	*r.found = append(*r.found, fmt.Errorf(prefix+"%w", fmt.Errorf(format, args...)))
}

// refuse notes that a setting's value will not do, why, and what would.
func (r *report) refuse(s Setting, given node, why error) {
	value := "the value"
	if given.isSingle() && !s.Secret && !s.Withheld {
		value = given.shown()
	}
	r.add(given.at, "%s: %s %w; want %s", r.path+s.Name, value, why, s.Takes)
}

// missing notes that a required setting is not there.
func (r *report) missing(at place, s Setting) {
	r.add(at, "%s is not set; want %s", r.path+s.Name, s.Takes)
}

// unknown notes a name that nobody reads and says which known one is nearest. It never repeats the value.
func (r *report) unknown(at place, name string, known []string) {
	r.add(at, "%s is unknown; did you mean %s?", clip(r.path+name), r.path+nearest(name, known))
}

// err is all that was found as one error of class Misconfigured, nil when nothing was.
func (r *report) err(hint string) error {
	if len(*r.found) == 0 {
		return nil
	}
	return fault.New(fault.Misconfigured, "%w", *r.found).WithHint("%s", hint)
}

// problems is several errors in one line, because an operator meets them in one line of a log.
type problems []error

// maxProblems is how many problems are spelled out: whoever has more has the wrong file.
const maxProblems = 20

func (p problems) Error() string {
	lines := make([]string, 0, maxProblems+1)
	for i, problem := range p {
		if i == maxProblems {
			lines = append(lines, fmt.Sprintf("and %d more", len(p)-maxProblems))
			break
		}
		lines = append(lines, problem.Error())
	}
	return strings.Join(lines, "; ")
}

// Unwrap gives every problem, also those that Error leaves out.
func (p problems) Unwrap() []error { return p }

// nearest is the candidate with the fewest changed letters, the first of equals.
func nearest(name string, candidates []string) string {
	name = name[:min(len(name), maxShown)]
	best, fewest := "", -1
	for _, candidate := range candidates {
		if d := distance(name, candidate); fewest < 0 || d < fewest {
			best, fewest = candidate, d
		}
	}
	return best
}

// distance is Levenshtein's: how many bytes must be put in, taken out or replaced.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
