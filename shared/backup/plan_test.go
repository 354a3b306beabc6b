package backup

import (
	"testing"

	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
)

// TestBoundsAreCarriedOver only between tables that one rule orders.
func TestBoundsAreCarriedOver(t *testing.T) {
	t.Parallel()
	table := func(key []string, collation string, columns ...body.Column) body.Table {
		return body.Table{
			Key: key, Collations: []string{collation}, Columns: columns, Chunks: []body.Chunk{{Object: manifest.Object{Size: 1}}},
		}
	}
	column := func(name, kind string) body.Column { return body.Column{Name: name, Type: kind} }
	ab := []string{"a", "b"}
	before := table(ab, "1", column("a", "bigint"), column("b", "text"), column("c", "text"))
	for name, c := range map[string]struct {
		now  body.Table
		want bool
	}{
		"Same":                  {before, true},
		"AnotherOrderOfColumns": {table(ab, "1", column("c", "text"), column("b", "text"), column("a", "bigint")), true},
		"AnotherOrderOfTheKey":  {table([]string{"b", "a"}, "1", column("a", "bigint"), column("b", "text")), false},
		"AnotherType":           {table(ab, "1", column("a", "text"), column("b", "text")), false},
		"TypesChangedPlaces":    {table(ab, "1", column("a", "text"), column("b", "bigint")), false},
		"AnotherCollation":      {table(ab, "2", column("a", "bigint"), column("b", "text")), false},
		"GeneratedColumn":       {table(ab, "1", column("a", "bigint")), false},
		"ShorterKey":            {table([]string{"a"}, "1", column("a", "bigint"), column("b", "text")), false},
	} {
		if got := comparable(c.now, before); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
	if before.Chunks = nil; comparable(before, before) {
		t.Error("a table without chunks has no bounds")
	}
	generated := table(ab, "1", column("a", "bigint"))
	if comparable(generated, generated) {
		t.Error("of a generated column no type is known, so that its bounds may order nothing")
	}
}
