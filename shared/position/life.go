package position

import (
	"fmt"
	"regexp"
	"strconv"
)

// TargetID is the identity of a target: chosen once, kept by every recovery, in configuration and in the ledger.
type TargetID string

var targetIDPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// ParseTargetID reads a target's id: 1 to 63 characters of [a-z0-9._-], the first a letter or digit.
func ParseTargetID(text string) (TargetID, error) {
	id := TargetID(text)
	return id, id.Validate()
}

// String is the id itself.
func (t TargetID) String() string { return string(t) }

// IsZero says whether no target is named.
func (t TargetID) IsZero() bool { return t == "" }

// Validate refuses ids that could not stand in an object key or in a log line as they are.
func (t TargetID) Validate() error {
	if !targetIDPattern.MatchString(string(t)) {
		return fmt.Errorf("target id %q: want 1 to 63 characters of a-z, 0-9, '.', '_', '-', the first a letter or digit",
			string(t))
	}
	return nil
}

// Incarnation names one life of a target. A recovery mints the next; which came later is said by Lineage alone.
type Incarnation string

var incarnationPattern = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// ParseIncarnation reads an incarnation: a UUID in lower-case text form.
func ParseIncarnation(text string) (Incarnation, error) {
	i := Incarnation(text)
	return i, i.Validate()
}

// String is the incarnation itself.
func (i Incarnation) String() string { return string(i) }

// IsZero says whether no incarnation is named.
func (i Incarnation) IsZero() bool { return i == "" }

// Validate refuses anything but a UUID in lower-case text form.
func (i Incarnation) Validate() error {
	if !incarnationPattern.MatchString(string(i)) {
		return fmt.Errorf("incarnation %q: want a UUID in lower case", string(i))
	}
	return nil
}

// Lineage orders incarnations: the first life is 1, each recovery takes the next number.
type Lineage int64

// ParseLineage reads a decimal lineage from 1 on.
func ParseLineage(text string) (Lineage, error) {
	number, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, fmt.Errorf("parse lineage %q: want a whole number from 1", text)
	}
	l := Lineage(number)
	return l, l.Validate()
}

// String prints the lineage in decimal.
func (l Lineage) String() string { return strconv.FormatInt(int64(l), 10) }

// IsZero says whether no life began yet.
func (l Lineage) IsZero() bool { return l == 0 }

// Validate refuses numbers that no life bears.
func (l Lineage) Validate() error {
	if l < 1 {
		return fmt.Errorf("lineage %d is below 1", int64(l))
	}
	return nil
}

// Before says whether l is an earlier life than other.
func (l Lineage) Before(other Lineage) bool { return l < other }
