package change_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tidemark/shared/change"
)

func TestName(t *testing.T) {
	t.Parallel()
	t.Run("PrintsWhatItReads", func(t *testing.T) {
		t.Parallel()
		letter := rapid.Rune().Filter(func(r rune) bool { return r != 0 && r != '.' })
		part := rapid.StringOfN(letter, 1, -1, change.MaxNameBytes)
		rapid.Check(t, func(t *rapid.T) {
			want := change.Name{Schema: part.Draw(t, "schema"), Table: part.Draw(t, "table")}
			if got, err := change.ParseName(want.String()); err != nil || got != want {
				t.Errorf("%q: got %+v, %v", want, got, err)
			}
		})
	})
	for name, test := range map[string]struct {
		text string
		want change.Name
	}{
		"TwoParts":          {"public.orders", change.Name{Schema: "public", Table: "orders"}},
		"DotsInATable":      {"public.a.b.", change.Name{Schema: "public", Table: "a.b."}},
		"ATableOfDots":      {"public...", change.Name{Schema: "public", Table: ".."}},
		"QuotesAsTheyAre":   {`"a"."b"`, change.Name{Schema: `"a"`, Table: `"b"`}},
		"CapitalsAndBlanks": {"My Shop.All Orders", change.Name{Schema: "My Shop", Table: "All Orders"}},
		"63Bytes": {
			strings.Repeat("s", 63) + "." + strings.Repeat("t", 63),
			change.Name{Schema: strings.Repeat("s", 63), Table: strings.Repeat("t", 63)},
		},
	} {
		t.Run("Takes"+name, func(t *testing.T) {
			t.Parallel()
			got, err := change.ParseName(test.text)
			if err != nil || got != test.want || got.String() != test.text || got.IsZero() {
				t.Errorf("got %+v, %v, want %+v", got, err, test.want)
			}
		})
	}
	for name, text := range map[string]string{
		"Nothing": "", "NoDot": "orders", "NoSchema": ".orders", "NoTable": "public.", "ADot": ".",
		"AZeroByteInTheSchema": "a\x00.b", "AZeroByteInTheTable": "a.b\x00",
		"ASchemaOf64Bytes": strings.Repeat("s", 64) + ".t", "ATableOf64Bytes": "s." + strings.Repeat("t", 64),
		"63LettersOfMoreBytes": "s." + strings.Repeat("\u00e4", 32),
	} {
		t.Run("Refuses"+name, func(t *testing.T) {
			t.Parallel()
			if got, err := change.ParseName(text); err == nil {
				t.Errorf("got %+v, want an error", got)
			}
		})
	}
	t.Run("IsZeroWhenNothingIsNamed", func(t *testing.T) {
		t.Parallel()
		if !(change.Name{}).IsZero() || (change.Name{Schema: "a"}).IsZero() || (change.Name{Table: "a"}).IsZero() {
			t.Error("want the zero value alone to be zero")
		}
	})
}

func FuzzParseName(f *testing.F) {
	for _, text := range []string{"", ".", "a.b", "a.b.c", "a\x00.b", "\xff.b", strings.Repeat("a", 64) + ".b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := change.ParseName(text)
		if err == nil && (got.String() != text || got.Validate() != nil) {
			t.Errorf("%q: got %+v, valid: %v", text, got, got.Validate())
		}
	})
}

func TestRelation(t *testing.T) {
	t.Parallel()
	relation := change.NewRelation(change.Name{Schema: "public", Table: "t"},
		[]change.Column{{Name: "a"}, {Name: "B"}, {Name: ""}, {Name: "c"}}, []int{3, 0})
	t.Run("FindsItsColumnsByName", func(t *testing.T) {
		t.Parallel()
		for i := range relation.Columns {
			if got, ok := relation.Column([]byte(relation.Columns[i].Name)); !ok || got != i {
				t.Errorf("%q: got %d, %t, want %d", relation.Columns[i].Name, got, ok, i)
			}
		}
		for _, name := range []string{"b", "A", "a ", "d"} {
			if got, ok := relation.Column([]byte(name)); ok {
				t.Errorf("%q: got %d", name, got)
			}
		}
	})
	t.Run("KnowsItsKey", func(t *testing.T) {
		t.Parallel()
		for i, want := range map[int]bool{0: true, 1: false, 2: false, 3: true, 4: false, -1: false} {
			if got := relation.IsKey(i); got != want {
				t.Errorf("column %d: got %t, want %t", i, got, want)
			}
		}
	})
	t.Run("MayHaveNoKey", func(t *testing.T) {
		t.Parallel()
		keyless := change.NewRelation(change.Name{Schema: "public", Table: "log"}, relation.Columns, nil)
		if len(keyless.Key) != 0 || keyless.IsKey(0) || keyless.InOrder || keyless.Further || keyless.Parents != nil {
			t.Errorf("got %+v", keyless)
		}
	})
}
