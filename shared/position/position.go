// Package position owns the values that say where in a log a state stands: offsets, partitions, half-open ranges and
// cuts, and the names of the lives of a target.
//
// A position is always the offset that will be read next, so a range is [from, until) and a cut maps each partition to
// its next offset. The package does no I/O, knows no clock and refuses negative offsets and unnamed partitions.
// All values are immutable; they may be shared between goroutines.
package position

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Offset is the place of a record in its partition, counted in records from 0 as the broker assigns it.
type Offset int64

// ParseOffset reads a decimal offset. It refuses signs, blanks and anything below 0 or above the largest int64.
func ParseOffset(text string) (Offset, error) {
	number, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, fmt.Errorf("parse offset %q: want a whole number from 0 to %d", text, int64(math.MaxInt64))
	}
	return Offset(number), nil
}

// String prints the offset in decimal.
func (o Offset) String() string { return strconv.FormatInt(int64(o), 10) }

// IsZero says whether the offset is the first of a partition.
func (o Offset) IsZero() bool { return o == 0 }

// Validate refuses offsets that no broker assigns.
func (o Offset) Validate() error {
	if o < 0 {
		return fmt.Errorf("offset %d is below 0", int64(o))
	}
	return nil
}

// Before says whether o is read earlier than other.
func (o Offset) Before(other Offset) bool { return o < other }

// Next is the position after the record at o.
func (o Offset) Next() Offset { return o + 1 }

// Partition names one ordered log: a topic and the number of one of its partitions.
type Partition struct {
	Topic  string
	Number int32
}

// ParsePartition reads the form that String prints, "orders/3". A topic cannot hold a slash, so the form is unambiguous.
func ParsePartition(text string) (Partition, error) {
	topic, digits, found := strings.Cut(text, "/")
	number, err := strconv.ParseUint(digits, 10, 31)
	if !found || err != nil {
		return Partition{}, fmt.Errorf("parse partition %q: want TOPIC/NUMBER, as in orders/3", text)
	}
	p := Partition{Topic: topic, Number: int32(number)}
	return p, p.Validate()
}

// String prints the partition as "orders/3".
func (p Partition) String() string { return p.Topic + "/" + strconv.FormatInt(int64(p.Number), 10) }

// IsZero says whether the partition names nothing.
func (p Partition) IsZero() bool { return p == Partition{} }

// Validate refuses what Kafka cannot hold: a topic name that is empty, longer than 249 bytes, "." or "..", or that has
// characters beside [a-zA-Z0-9._-]; a number below 0.
func (p Partition) Validate() error {
	if err := validateTopic(p.Topic); err != nil {
		return err
	}
	if p.Number < 0 {
		return fmt.Errorf("partition %s: the number is below 0", p)
	}
	return nil
}

// ParseNext reads where a partition stands, written topic/number=offset.
func ParseNext(text string) (p Partition, next Offset, err error) {
	name, digits, found := strings.Cut(text, "=")
	if !found {
		return p, 0, fmt.Errorf("%.100q is no TOPIC/PARTITION=OFFSET", text)
	}
	if p, err = ParsePartition(name); err != nil {
		return p, 0, err
	}
	next, err = ParseOffset(digits)
	return p, next, err
}

// Compare orders partitions by topic, then by number: the order in which checkpoint rows are locked.
func (p Partition) Compare(other Partition) int {
	return cmp.Or(cmp.Compare(p.Topic, other.Topic), cmp.Compare(p.Number, other.Number))
}

const maxTopicBytes = 249

func validateTopic(topic string) error {
	switch {
	case topic == "":
		return fmt.Errorf("a topic name is empty")
	case len(topic) > maxTopicBytes:
		return fmt.Errorf("topic name of %d bytes: Kafka takes at most %d", len(topic), maxTopicBytes)
	case topic == "." || topic == "..":
		return fmt.Errorf("topic name %q is reserved", topic)
	}
	for _, c := range []byte(topic) {
		if !isTopicByte(c) {
			return fmt.Errorf("topic name %q has a character beside letters, digits, '.', '_' and '-'", topic)
		}
	}
	return nil
}

func isTopicByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-'
}
