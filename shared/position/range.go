package position

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Range is the half-open run of offsets [From, Until) of one partition.
type Range struct {
	From  Offset
	Until Offset
}

// String prints the range as "[120,180)".
func (r Range) String() string { return fmt.Sprintf("[%d,%d)", int64(r.From), int64(r.Until)) }

// IsZero says whether the range is the zero value.
func (r Range) IsZero() bool { return r == Range{} }

// IsEmpty says whether the range holds no offset.
func (r Range) IsEmpty() bool { return r.Until <= r.From }

// Len is the number of offsets in the range.
func (r Range) Len() int64 { return max(0, int64(r.Until-r.From)) }

// Validate refuses ranges that end before they begin, or begin below 0.
func (r Range) Validate() error {
	if err := r.From.Validate(); err != nil {
		return err
	}
	if r.Until < r.From {
		return fmt.Errorf("range %s ends before it begins", r)
	}
	return nil
}

// Contains says whether offset lies in the range.
func (r Range) Contains(offset Offset) bool { return r.From <= offset && offset < r.Until }

// Follows says whether r begins exactly where other ends.
func (r Range) Follows(other Range) bool { return r.From == other.Until }

// Cut is the map partition → next offset that one state of a target corresponds to.
type Cut map[Partition]Offset

// Partitions lists the cut's partitions in lock order.
func (c Cut) Partitions() []Partition {
	return slices.SortedFunc(maps.Keys(c), Partition.Compare)
}

// String prints the cut in lock order, as "orders/0=12 orders/1=7".
func (c Cut) String() string {
	parts := make([]string, 0, len(c))
	for _, p := range c.Partitions() {
		parts = append(parts, p.String()+"="+c[p].String())
	}
	return strings.Join(parts, " ")
}

// IsZero says whether the cut names no partition.
func (c Cut) IsZero() bool { return len(c) == 0 }

// Validate refuses cuts with impossible partitions or offsets.
func (c Cut) Validate() error {
	for _, p := range c.Partitions() {
		if err := p.Validate(); err != nil {
			return err
		}
		if err := c[p].Validate(); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	return nil
}
