package main

import (
	"fmt"
	"slices"
	"strings"

	"tidemark/shared/position"
	"tidemark/shared/postgres/ledger"
)

func describeMove(m ledger.Moved) string {
	switch {
	case !m.Existed:
		return fmt.Sprintf("%s begins at %s", m.Partition, m.At)
	case m.From == m.At:
		return fmt.Sprintf("%s stands at %s already", m.Partition, m.At)
	}
	return fmt.Sprintf("%s moved from %s to %s, a new generation", m.Partition, m.From, m.At)
}

// parseStarts reads the values of --from. Points in time need the brokers, which a flow of log: dense does without.
func parseStarts(from, topics []string, known []position.Partition) ([]ledger.Start, error) {
	var starts []ledger.Start
	for _, text := range from {
		if text == "earliest" {
			for _, p := range known {
				starts = append(starts, ledger.Start{Partition: p})
			}
			continue
		}
		name, digits, found := strings.Cut(text, "=")
		if !found {
			return nil, fmt.Errorf("--from %q: want earliest or TOPIC/PARTITION=OFFSET; a point in time needs broker access", text)
		}
		partition, err := position.ParsePartition(name)
		if err != nil {
			return nil, fmt.Errorf("--from %q: %w", text, err)
		}
		at, err := position.ParseOffset(digits)
		if err != nil {
			return nil, fmt.Errorf("--from %q: %w", text, err)
		}
		if !slices.Contains(topics, partition.Topic) {
			return nil, fmt.Errorf("--from %q: the flow has no topic %q", text, partition.Topic)
		}
		if slices.ContainsFunc(starts, func(s ledger.Start) bool { return s.Partition == partition }) {
			return nil, fmt.Errorf("--from %q: %s has a start already", text, partition)
		}
		starts = append(starts, ledger.Start{Partition: partition, At: at})
	}
	return starts, nil
}
