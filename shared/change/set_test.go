package change_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tidemark/shared/change"
)

// handed is what a set gave out and what was written there.
type handed struct {
	cells []change.Value
	want  []string // as Value.String prints them
}

// TestSet: what was handed out stays what it is, however the set grows.
func TestSet(t *testing.T) {
	t.Parallel()
	t.Run("KeepsAllThatItHandedOut", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			var s change.Set
			if rapid.Bool().Draw(t, "expects") {
				s.Expect(rapid.IntRange(0, 100).Draw(t, "records"))
			}
			var all []handed
			for row := range rapid.IntRange(1, 25).Draw(t, "rows") {
				all = append(all, writeRow(t, &s, row))
			}
			mustBeIntact(t, all)
			if len(s.Changes) != len(all) {
				t.Fatalf("%d changes, want %d", len(s.Changes), len(all))
			}
			for i := range s.Changes {
				mustBeIntact(t, []handed{{s.Changes[i].Row, all[i].want}})
			}
		})
	})
	t.Run("KeepsALargeDelivery", func(t *testing.T) {
		t.Parallel()
		for _, records := range []int{0, 1, 5000, 1 << 20} {
			var s change.Set
			s.Expect(records)
			var all []handed
			for row := range 5000 {
				h := handed{cells: s.Cells(5)}
				for i := range h.cells {
					text := fmt.Appendf(s.Grow(16), "%d/%d", row, i)
					h.cells[i] = change.Text(s.Keep(text))
					h.want = append(h.want, fmt.Sprintf("%d/%d", row, i))
				}
				all = append(all, h)
			}
			mustBeIntact(t, all)
		}
	})
}

// TestAllocations counts, so nothing else may run beside it.
func TestAllocations(t *testing.T) {
	var s change.Set
	s.Expect(1000)
	one := func() {
		row := s.Cells(4)
		row[0] = change.Text(s.Keep(append(s.Grow(100), "12345678"...))) // the room that is left over is used again
		s.Add(change.Change{Op: change.Insert, Row: row})
	}
	one()
	if got := testing.AllocsPerRun(500, one); got != 0 {
		t.Errorf("%v allocations for a record in a set that is warm", got)
	}
}

// writeRow takes cells and fills them with texts that fit, that outgrow their room, that are given up, or none at all.
func writeRow(t *rapid.T, s *change.Set, row int) handed {
	h := handed{cells: s.Cells(rapid.SampledFrom([]int{0, 1, 3, 10, 40}).Draw(t, "cells"))}
	for i := range h.cells {
		if !h.cells[i].IsMissing() {
			t.Fatalf("a new cell holds %s", h.cells[i])
		}
		size := rapid.SampledFrom([]int{0, 1, 7, 30, 300, 5000}).Draw(t, "size")
		text := strings.Repeat(string(rune('a'+(row+i)%26)), size)
		room := s.Grow(rapid.SampledFrom([]int{0, size / 2, size, 2 * size}).Draw(t, "room"))
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			text = "(missing)"
		case 1:
			h.cells[i], text = change.Null(), "NULL"
		case 2: // begun and given up: the room is used again
			_ = append(room, "given up"...)
			h.cells[i] = change.Text(s.Keep(append(s.Grow(size), text...)))
		case 3: // built elsewhere
			h.cells[i] = change.Text(s.Keep([]byte(text)))
		default:
			h.cells[i] = change.Text(s.Keep(append(room, text...)))
		}
		h.want = append(h.want, text)
	}
	s.Add(change.Change{Row: h.cells})
	return h
}

type failing interface {
	Helper()
	Fatalf(format string, args ...any)
}

func mustBeIntact(t failing, all []handed) {
	t.Helper()
	for n, h := range all {
		if len(h.cells) != len(h.want) {
			t.Fatalf("row %d has %d cells, want %d", n, len(h.cells), len(h.want))
		}
		for i := range h.cells {
			if got := h.cells[i].String(); got != h.want[i] {
				t.Fatalf("row %d, cell %d: got %.40q of %d bytes, want %.40q of %d", n, i, got, len(got), h.want[i], len(h.want[i]))
			}
		}
	}
}

func TestCells(t *testing.T) {
	t.Parallel()
	t.Run("AreAsManyAsAskedAndMissing", func(t *testing.T) {
		t.Parallel()
		var s change.Set
		for _, n := range []int{0, 1, 31, 32, 33, 1, 1000, 100_000, 2} {
			cells := s.Cells(n)
			if len(cells) != n || cap(cells) != n {
				t.Errorf("got %d of %d, want %d", len(cells), cap(cells), n)
			}
			for i := range cells {
				if !cells[i].IsMissing() {
					t.Fatalf("cell %d of %d is %s", i, n, cells[i])
				}
				cells[i] = change.Null()
			}
		}
	})
	t.Run("DoNotRunIntoTheirNeighbours", func(t *testing.T) {
		t.Parallel()
		var s change.Set
		first, second := s.Cells(2), s.Cells(2)
		if grown := append(first, change.Null()); len(grown) != 3 || !second[0].IsMissing() {
			t.Errorf("appending to one row wrote %s into the next", second[0])
		}
	})
}

func TestKeep(t *testing.T) {
	t.Parallel()
	t.Run("CutsTheCapacity", func(t *testing.T) {
		t.Parallel()
		var s change.Set
		first := s.Keep(append(s.Grow(100), "first"...))
		second := s.Keep(append(s.Grow(100), "second"...))
		if grown := append(first, "!!!!!!"...); string(second) != "second" || string(grown) != "first!!!!!!" {
			t.Errorf("appending to one text made the next %q", second)
		}
	})
	t.Run("GivesBackWhatIsNotUsed", func(t *testing.T) {
		t.Parallel()
		var s change.Set
		free := cap(s.Grow(200))
		for range 10 {
			s.Keep(append(s.Grow(200), "a"...))
		}
		if got := cap(s.Grow(1)); got != free-10 {
			t.Errorf("ten bytes of %d are used and %d are left", free, got)
		}
	})
	t.Run("TakesATextThatOutgrewItsRoom", func(t *testing.T) {
		t.Parallel()
		var s change.Set
		before := s.Keep(append(s.Grow(1), "before"...))
		large := bytes.Repeat([]byte("x"), 1<<20)
		kept := s.Keep(append(s.Grow(1), large...))
		after := s.Keep(append(s.Grow(1), "after"...))
		if string(before) != "before" || !bytes.Equal(kept, large) || string(after) != "after" {
			t.Errorf("got %q, %d bytes, %q", before, len(kept), after)
		}
	})
	t.Run("SpendsNoRoomOnATextBuiltElsewhere", func(t *testing.T) {
		t.Parallel()
		var s change.Set
		free := cap(s.Grow(100))
		kept := s.Keep([]byte("elsewhere"))
		if got := cap(s.Grow(100)); got != free || string(kept) != "elsewhere" {
			t.Errorf("kept %q, and of %d bytes %d are left", kept, free, got)
		}
	})
	t.Run("TakesAnEmptyText", func(t *testing.T) {
		t.Parallel()
		var s change.Set
		for _, text := range [][]byte{nil, {}, s.Grow(0), s.Grow(5)} {
			if got := change.Text(s.Keep(text)); got.IsNull() || got.IsMissing() || got.Bytes() == nil || len(got.Bytes()) != 0 {
				t.Errorf("got %s, want an empty text", got)
			}
		}
	})
	t.Run("HasTheRoomThatWasAskedFor", func(t *testing.T) {
		t.Parallel()
		var s change.Set
		for _, n := range []int{0, 1, 255, 256, 257, 1 << 18, 1<<20 + 1, 3} {
			if room := s.Grow(n); len(room) != 0 || cap(room) < n {
				t.Errorf("got %d of %d, want room for %d", len(room), cap(room), n)
			}
			s.Keep(s.Grow(n)[:n])
		}
	})
}

func TestExpect(t *testing.T) {
	t.Parallel()
	t.Run("MakesRoomForSoManyChanges", func(t *testing.T) {
		t.Parallel()
		for _, records := range []int{0, 1, 1000} {
			var s change.Set
			s.Expect(records)
			if len(s.Changes) != 0 || cap(s.Changes) < records {
				t.Errorf("got room for %d, want %d", cap(s.Changes), records)
			}
		}
	})
	t.Run("LosesNothingThatIsThere", func(t *testing.T) {
		t.Parallel()
		var s change.Set
		row := s.Cells(1)
		row[0] = change.Text(s.Keep(append(s.Grow(1), "a"...)))
		s.Add(change.Change{Op: change.Insert, Row: row})
		s.Expect(10_000)
		s.Keep(append(s.Grow(1), "b"...))
		if len(s.Changes) != 1 || s.Changes[0].Row[0].String() != "a" {
			t.Errorf("got %v", s.Changes)
		}
	})
	t.Run("MakesFewRecordsPayForFew", func(t *testing.T) {
		t.Parallel()
		var few change.Set
		few.Expect(1)
		if got := cap(few.Grow(1)); got > 1<<10 {
			t.Errorf("a record of one byte has a slab of %d", got)
		}
	})
}
