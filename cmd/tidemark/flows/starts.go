// Package flows owns how the verbs that act on a flow read what they are told and say what they did.
//
// It refuses what does not fit the flow's topics. No state.
package flows

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tidemark/shared/position"
	"tidemark/shared/postgres/ledger"
)

// DescribeMove says what became of a checkpoint.
func DescribeMove(m ledger.Moved) string {
	switch {
	case !m.Existed:
		return fmt.Sprintf("%s begins at %s", m.Partition, m.At)
	case m.From == m.At:
		return fmt.Sprintf("%s stands at %s already", m.Partition, m.At)
	}
	return fmt.Sprintf("%s moved from %s to %s, a new generation", m.Partition, m.From, m.At)
}

// ParseStarts reads the values of --from. Points in time need the brokers, which a flow of log: dense does without.
func ParseStarts(from, topics []string, known []position.Partition) ([]ledger.Start, error) {
	var starts []ledger.Start
	for _, text := range from {
		if text == "earliest" {
			if len(from) > 1 {
				return nil, errors.New("--from earliest stands alone: it starts every partition")
			}
			for _, p := range known {
				starts = append(starts, ledger.Start{Partition: p})
			}
			continue
		}
		start, err := parseStart(text)
		switch {
		case err != nil:
			return nil, fmt.Errorf("--from %q: %w", text, err)
		case !slices.Contains(topics, start.Partition.Topic):
			return nil, fmt.Errorf("--from %q: the flow has no topic %q", text, start.Partition.Topic)
		case slices.ContainsFunc(starts, func(s ledger.Start) bool { return s.Partition == start.Partition }):
			return nil, fmt.Errorf("--from %q: %s has a start already", text, start.Partition)
		}
		starts = append(starts, start)
	}
	return starts, nil
}

func parseStart(text string) (start ledger.Start, err error) {
	if !strings.Contains(text, "=") {
		return start, errors.New("want earliest or TOPIC/PARTITION=OFFSET; a point in time needs broker access")
	}
	start.Partition, start.At, err = position.ParseNext(text)
	return start, err
}
