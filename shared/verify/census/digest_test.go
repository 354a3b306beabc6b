package census_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/shared/manifest/body"
	"tidemark/shared/verify/census"
)

func digests() *rapid.Generator[census.Digest] {
	return rapid.Custom(func(t *rapid.T) (d census.Digest) {
		d.Rows = rapid.Int64Range(0, 1<<40).Draw(t, "rows")
		copy(d.Sum[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "sum"))
		return d
	})
}

func TestDigest(t *testing.T) {
	t.Parallel()
	t.Run("AddsUpInAnyOrder", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			a, b, c := digests().Draw(t, "a"), digests().Draw(t, "b"), digests().Draw(t, "c")
			if a.Plus(b).Plus(c) != c.Plus(a.Plus(b)) || a.Plus(census.Digest{}) != a {
				t.Errorf("%v, %v, %v do not add up", a, b, c)
			}
		})
	})
	t.Run("IsReadAsItWasWritten", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			want := digests().Draw(t, "digest")
			if got, err := census.ParseDigest(want.String()); got != want || err != nil {
				t.Errorf("got %v, %v, want %v", got, err, want)
			}
		})
		for _, text := range []string{"", "1", ":", "1:00", "-1:" + fmt.Sprintf("%032x", 1), "01:" + fmt.Sprintf("%032x", 1), "1:" + fmt.Sprintf("%034x", 1)} {
			if _, err := census.ParseDigest(text); err == nil {
				t.Errorf("%q is a digest", text)
			}
		}
	})
}

func TestCompare(t *testing.T) {
	t.Parallel()
	name := func(n string) body.Name { return body.Name{Schema: "shop", Name: n} }
	rows := func(n int64, sum byte) census.Digest { return census.Digest{Rows: n, Sum: [16]byte{sum}} }
	want := census.Tables{name("a"): rows(1, 1), name("b"): rows(2, 1), name("c"): rows(3, 1), name("lost"): rows(4, 1)}
	got := census.Tables{name("a"): rows(1, 1), name("b"): rows(3, 2), name("c"): rows(3, 2), name("new"): {}}
	var texts []string
	for _, d := range census.Compare(want, got) {
		texts = append(texts, d.String())
	}
	if diff := cmp.Diff([]string{
		`table "shop.b" has 3 rows, want 2`, `table "shop.c" has 3 rows as it should, and not the same ones`,
		`table "shop.lost" is not there, want 4 rows`, `table "shop.new" has 0 rows and should not be there`,
	}, texts); diff != "" {
		t.Error(diff)
	}
	if len(census.Compare(want, want)) > 0 || want.Root() == got.Root() || want.Root() != maps.Clone(want).Root() {
		t.Error("a database is not the same as itself, or as another")
	}
	cut := body.Cut{{Flow: "f", Topic: "t", NextOffset: 1}, {Flow: "f", Topic: "t", Partition: 1, NextOffset: 2}}
	moved := body.Cut{{Flow: "f", Topic: "t", NextOffset: 1, Generation: 7}, {Flow: "f", Topic: "t", Partition: 1, NextOffset: 3}, {Flow: "g", Topic: "t"}}
	if shifts := census.ComparePositions(cut, moved); len(shifts) != 2 || *shifts[0].Got != 3 || shifts[1].Want != nil {
		t.Errorf("got %+v", shifts)
	}
}
