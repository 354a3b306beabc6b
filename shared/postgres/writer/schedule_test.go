package writer_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"tidemark/shared/change"
	"tidemark/shared/fault"
)

// A schedule says whose partition's next record is delivered, step by step. A record that must wait is delivered again
// later; the partitions' own order always holds.

// step is a record in the partition of its key, in the source's order.
type step struct {
	partition string
	change    change.Change
}

// history collects the steps of a table (id, v, big) as the source makes them.
type history struct {
	table

	partial bool // whether records of moves lack big, which the moved row has
	steps   []step
	moves   int
}

func (h *history) add(partition string, c change.Change) {
	h.steps = append(h.steps, step{partition, c})
}

func (h *history) create(id, v, big string) { h.add(id, h.insert(id, v, big)) }

func (h *history) move(from, to, v, big string) {
	h.moves++
	var cell any = big
	if h.partial {
		cell = gone{}
	}
	deleted, inserted := h.halves(fmt.Sprint(h.moves), from, to, v, cell)
	h.add(from, deleted)
	h.add(to, inserted)
}

// schedules lists every order in which the partitions' records can be delivered.
func (h *history) schedules() [][]string {
	left := map[string]int{}
	for _, s := range h.steps {
		left[s.partition]++
	}
	var all [][]string
	var extend func(schedule []string)
	extend = func(schedule []string) {
		if len(schedule) == len(h.steps) {
			all = append(all, slices.Clone(schedule))
			return
		}
		for _, p := range slices.Sorted(maps.Keys(left)) {
			if left[p] > 0 {
				left[p]--
				extend(append(schedule, p))
				left[p]++
			}
		}
	}
	extend(nil)
	return all
}

// run delivers the records by a schedule, and what had to wait again until everything has passed.
func (h *history) run(tb testing.TB, f *flow, schedule []string) {
	tb.Helper()
	queues := map[string][]change.Change{}
	for _, s := range h.steps {
		queues[s.partition] = append(queues[s.partition], s.change)
	}
	for left, round := len(h.steps), 0; left > 0; round++ {
		if round > len(h.steps) {
			tb.Fatalf("schedule %v: records wait for each other", schedule)
		}
		for _, p := range schedule {
			if len(queues[p]) == 0 {
				continue
			}
			switch err := f.try(tb, queues[p][0]); {
			case err == nil:
				queues[p], left = queues[p][1:], left-1
			case !fault.Is(err, fault.Retryable):
				tb.Fatalf("schedule %v: %v", schedule, err)
			}
		}
	}
}

func TestMovesInEveryOrder(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		promise string
		seed    string
		source  func(h *history)
		want    []string
	}{
		{"Chain", "(1, 'a', 'big')", func(h *history) {
			h.move("1", "2", "b", "big")
			h.move("2", "3", "c", "big")
		}, []string{"3\tc\tbig"}},
		{"ThereAndBack", "(1, 'a', 'big')", func(h *history) {
			h.move("1", "2", "b", "big")
			h.move("2", "1", "c", "big")
		}, []string{"1\tc\tbig"}},
		{"TwoMovesOfOneKey", "(1, 'a', 'big')", func(h *history) {
			h.move("1", "2", "b", "big")
			h.create("1", "new", "other")
			h.move("1", "3", "c", "other")
		}, []string{"2\tb\tbig", "3\tc\tother"}},
		{"SwapThroughAThird", "(1, 'a', 'big1'), (2, 'b', 'big2')", func(h *history) {
			h.move("1", "3", "a", "big1")
			h.move("2", "1", "b", "big2")
			h.move("3", "2", "a", "big1")
		}, []string{"1\tb\tbig2", "2\ta\tbig1"}},
		{"ChangedAfterTheMove", "(1, 'a', 'big')", func(h *history) {
			h.move("1", "2", "b", "big")
			h.add("2", h.update("2", "c", gone{}))
			h.add("2", h.update("2", gone{}, "bigger"))
			h.create("1", "again", "small")
		}, []string{"1\tagain\tsmall", "2\tc\tbigger"}},
	} {
		for _, partial := range []bool{false, true} {
			cells := map[bool]string{false: "WithAllCells", true: "WithMissingCells"}[partial]
			t.Run(test.promise+"/"+cells, func(t *testing.T) {
				t.Parallel()
				f := newFlow(t, "CREATE TABLE t (id int PRIMARY KEY, v text, big text NOT NULL)")
				h := &history{table: f.table(t, "t"), partial: partial}
				test.source(h)
				for _, schedule := range h.schedules() {
					f.Exec(t, "TRUNCATE t; INSERT INTO t VALUES "+test.seed)
					h.run(t, f, schedule)
					f.wantRows(t, "TABLE t ORDER BY id", test.want...)
					f.wantRows(t, "TABLE tidemark.moved_row")
					if t.Failed() {
						t.Fatalf("by the schedule %s", strings.Join(schedule, " "))
					}
				}
			})
		}
	}
}
