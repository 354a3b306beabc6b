package listing

import (
	"cmp"
	"fmt"
	"slices"

	"tidemark/shared/manifest/body"
	"tidemark/shared/position"
)

// move is a partition that stands elsewhere. A nil offset: it is not in that manifest.
type move struct {
	body.Partition
	from, to *position.Offset
}

// moves are the partitions that stand elsewhere, in the order of a cut.
func (d Difference) moves() (moves []move) {
	old := map[string]body.Partition{}
	for _, p := range d.From.Body.Cut {
		old[placeOf(p)] = p
	}
	for _, p := range d.To.Body.Cut {
		m := move{Partition: p, to: &p.NextOffset}
		if before, was := old[placeOf(p)]; was {
			m.from = &before.NextOffset
			delete(old, placeOf(p))
		}
		if m.from == nil || *m.from != *m.to {
			moves = append(moves, m)
		}
	}
	for _, p := range d.From.Body.Cut {
		if _, gone := old[placeOf(p)]; gone {
			moves = append(moves, move{Partition: p, from: &p.NextOffset})
		}
	}
	slices.SortStableFunc(moves, func(a, b move) int {
		return cmp.Or(cmp.Compare(a.Flow, b.Flow), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition.Partition, b.Partition.Partition))
	})
	return moves
}

func placeOf(p body.Partition) string { return fmt.Sprintf("%s %s/%d", p.Flow, p.Topic, p.Partition) }
