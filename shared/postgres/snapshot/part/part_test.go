package part_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/backup"
	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres/snapshot/part"
)

func TestTable(t *testing.T) {
	t.Parallel()
	table := part.Table{Name: body.Name{Schema: "S", Name: `t"`}, Key: []part.Column{
		{Name: "a b", Type: "text", Collation: `pg_catalog."C"`}, {Name: "n", Type: "integer"},
	}}
	t.Run("AsksForRanges", func(t *testing.T) {
		t.Parallel()
		const from = ` FROM ONLY "S"."t"""`
		const key = `("a b" COLLATE pg_catalog."C", "n")`
		tests := []struct {
			of   backup.Range
			want string
		}{
			{backup.Range{}, from},
			{backup.Range{From: []string{`it's \`, "1"}}, from + " WHERE " + key + ` >= ('it''s \'::text, '1'::integer)`},
			{
				backup.Range{From: []string{"", "1"}, Until: []string{"z", "2"}},
				from + " WHERE " + key + " >= (''::text, '1'::integer) AND " + key + " < ('z'::text, '2'::integer)",
			},
			{backup.Range{FirstPage: 3, UntilPage: 9}, from + " WHERE ctid >= '(3,0)'::tid AND ctid < '(9,0)'::tid"},
			{backup.Range{FirstPage: 3}, from + " WHERE ctid >= '(3,0)'::tid"},
		}
		for _, test := range tests {
			got, err := table.From(test.of)
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("%+v: %v, want, got: %s", test.of, err, diff)
			}
		}
	})
	t.Run("RefusesWhatCutsNoTable", func(t *testing.T) {
		t.Parallel()
		for _, of := range []backup.Range{
			{From: []string{"a"}}, {Until: []string{}}, {From: []string{"a\x00", "1"}}, {FirstPage: -1}, {UntilPage: 1 << 33},
		} {
			if got, err := table.From(of); !fault.Is(err, fault.Bug) {
				t.Errorf("%+v: got %q, error %v, want a bug", of, got, err)
			}
		}
	})
}
