package listing

import (
	"fmt"
	"strings"

	"tidemark/shared/position"
)

// number is lineage and sequence number, as people say which manifest they mean.
func (m Manifest) number() string { return fmt.Sprintf("%s/%d", m.Lineage, m.Seq) }

// cut is the state of the log in short: how many partitions, and the sum of their next offsets.
func (m Manifest) cut() (partitions int, sum position.Offset) {
	for _, p := range m.Body.Cut {
		sum += p.NextOffset
	}
	return len(m.Body.Cut), sum
}

func (m Manifest) places() string {
	names := make([]string, 0, len(m.Copies))
	for _, c := range m.Copies {
		names = append(names, c.Place.Name)
	}
	return strings.Join(names, "+")
}
