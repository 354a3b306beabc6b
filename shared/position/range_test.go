package position_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/shared/position"
)

// TestRange: a range is half open, whatever is asked of it.
func TestRange(t *testing.T) {
	t.Parallel()
	t.Run("HoldsItsFirstAndNotItsLast", func(t *testing.T) {
		t.Parallel()
		r := position.Range{From: 120, Until: 180}
		for offset, want := range map[position.Offset]bool{
			119: false, 120: true, 179: true, 180: false, 181: false, math.MaxInt64: false, -1: false,
		} {
			if got := r.Contains(offset); got != want {
				t.Errorf("%s contains %d: got %t, want %t", r, offset, got, want)
			}
		}
		if r.Len() != 60 || r.String() != "[120,180)" {
			t.Errorf("got %s of %d offsets", r, r.Len())
		}
	})
	for _, test := range []struct {
		r                  position.Range
		zero, empty, valid bool
		length             int64
	}{
		{position.Range{}, true, true, true, 0},
		{position.Range{From: 0, Until: 1}, false, false, true, 1},
		{position.Range{From: 5, Until: 5}, false, true, true, 0},
		{position.Range{From: 6, Until: 5}, false, true, false, 0},
		{position.Range{From: -1, Until: 5}, false, false, false, 6},
		{position.Range{From: -3, Until: -2}, false, false, false, 1},
		{position.Range{From: 0, Until: math.MaxInt64}, false, false, true, math.MaxInt64},
		{position.Range{From: math.MaxInt64, Until: 0}, false, true, false, 0},
	} {
		t.Run("Is"+test.r.String(), func(t *testing.T) {
			t.Parallel()
			if test.r.IsZero() != test.zero || test.r.IsEmpty() != test.empty || test.r.Len() != test.length {
				t.Errorf("zero %t, empty %t, %d long, want %t, %t, %d", test.r.IsZero(), test.r.IsEmpty(), test.r.Len(),
					test.zero, test.empty, test.length)
			}
			if err := test.r.Validate(); (err == nil) != test.valid {
				t.Errorf("got %v, want valid %t", err, test.valid)
			}
		})
	}
	t.Run("CountsWhatItContains", func(t *testing.T) {
		t.Parallel()
		small := rapid.Int64Range(0, 30)
		rapid.Check(t, func(t *rapid.T) {
			r := position.Range{From: position.Offset(small.Draw(t, "from")), Until: position.Offset(small.Draw(t, "until"))}
			contained := int64(0)
			for o := range position.Offset(40) {
				if r.Contains(o) {
					contained++
				}
			}
			if contained != r.Len() || (contained == 0) != r.IsEmpty() || (r.Validate() == nil) != (r.From <= r.Until) {
				t.Errorf("%s: contains %d, is %d long, empty %t, valid: %v", r, contained, r.Len(), r.IsEmpty(), r.Validate())
			}
		})
	})
	t.Run("FollowsTheOneThatEndsWhereItBegins", func(t *testing.T) {
		t.Parallel()
		r := position.Range{From: 10, Until: 20}
		for other, want := range map[position.Range]bool{
			{From: 0, Until: 10}: true, {From: 10, Until: 10}: true, {From: 0, Until: 9}: false, {From: 0, Until: 11}: false,
			{From: 20, Until: 30}: false, r: false,
		} {
			if got := r.Follows(other); got != want {
				t.Errorf("%s follows %s: got %t, want %t", r, other, got, want)
			}
		}
	})
	t.Run("LeavesNoOffsetOutWhereItFollows", func(t *testing.T) {
		t.Parallel()
		small := rapid.Int64Range(0, 20)
		rapid.Check(t, func(t *rapid.T) {
			ends := []int64{small.Draw(t, "a"), small.Draw(t, "b"), small.Draw(t, "c")}
			slices.Sort(ends)
			first := position.Range{From: position.Offset(ends[0]), Until: position.Offset(ends[1])}
			second := position.Range{From: first.Until, Until: position.Offset(ends[2])}
			whole := position.Range{From: first.From, Until: second.Until}
			if !second.Follows(first) || first.Len()+second.Len() != whole.Len() {
				t.Errorf("%s and %s are not %s", first, second, whole)
			}
			for o := range position.Offset(25) {
				if whole.Contains(o) != (first.Contains(o) != second.Contains(o)) {
					t.Errorf("%s and %s: %d is in both or in none", first, second, o)
				}
			}
		})
	})
}

func cuts() *rapid.Generator[position.Cut] {
	return rapid.Custom(func(t *rapid.T) position.Cut {
		return rapid.MapOfN(partitions(), offsets(), 0, 8).Draw(t, "cut")
	})
}

func TestCut(t *testing.T) {
	t.Parallel()
	t.Run("IsListedAndPrintedInLockOrder", func(t *testing.T) {
		t.Parallel()
		c := position.Cut{
			{Topic: "b", Number: 0}: 1, {Topic: "a", Number: 10}: 7, {Topic: "a", Number: 2}: 0, {Topic: "A", Number: 3}: 12,
		}
		want := []position.Partition{
			{Topic: "A", Number: 3}, {Topic: "a", Number: 2}, {Topic: "a", Number: 10}, {Topic: "b", Number: 0},
		}
		if diff := cmp.Diff(want, c.Partitions()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if got := c.String(); got != "A/3=12 a/2=0 a/10=7 b/0=1" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("PrintsAllOfItself", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			c, got := cuts().Draw(t, "cut"), position.Cut{}
			for _, part := range strings.Fields(c.String()) {
				name, number, _ := strings.Cut(part, "=")
				p, err := position.ParsePartition(name)
				if err != nil {
					t.Fatal(err)
				}
				if got[p], err = position.ParseOffset(number); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(c, got); diff != "" || c.Validate() != nil {
				t.Errorf("valid: %v (-want +got):\n%s", c.Validate(), diff)
			}
		})
	})
	t.Run("IsZeroWhenItNamesNoPartition", func(t *testing.T) {
		t.Parallel()
		var none position.Cut
		for _, c := range []position.Cut{none, {}} {
			if !c.IsZero() || c.String() != "" || c.Validate() != nil || len(c.Partitions()) != 0 {
				t.Errorf("got %q with %d partitions", c, len(c.Partitions()))
			}
		}
		if (position.Cut{{Topic: "a"}: 0}).IsZero() {
			t.Error("a partition at its first record is a cut")
		}
	})
	t.Run("RefusesImpossiblePartsByName", func(t *testing.T) {
		t.Parallel()
		good := position.Partition{Topic: "a"}
		for want, c := range map[string]position.Cut{
			"b/3: offset -1": {good: 1, {Topic: "b", Number: 3}: -1},
			"b/-3":           {good: 1, {Topic: "b", Number: -3}: 1},
			`"b c"`:          {good: 1, {Topic: "b c"}: 1},
		} {
			if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want an error with %s", c, err, want)
			}
		}
	})
	t.Run("IsJudgedInLockOrder", func(t *testing.T) {
		t.Parallel()
		c := position.Cut{{Topic: "a"}: -1, {Topic: "b"}: -2, {Topic: "c"}: -3, {Topic: "d"}: -4}
		for range 20 {
			if err := c.Validate(); err == nil || !strings.HasPrefix(err.Error(), "a/0: ") {
				t.Fatalf("got %v, want the first partition's error each time", err)
			}
		}
	})
}
