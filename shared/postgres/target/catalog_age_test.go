package target_test

import (
	"testing"
	"time"

	"tidemark/shared/apply"
	"tidemark/shared/apply/applytest"
	"tidemark/shared/position"
	"tidemark/shared/postgres/target"
	"tidemark/shared/record"
)

// TestCatalogAge is about a table that gets a new description in the middle of a delivery: it is still one table, and
// its records keep their order.
func TestCatalogAge(t *testing.T) {
	t.Parallel()
	remove := applytest.Remove("item", "id", "k")
	for _, c := range []struct {
		name   string
		values []record.Data
		want   map[string]string
	}{
		{"ADeleteThenAnInsertLeavesTheRow", []record.Data{remove, applytest.Item("k", "new")}, map[string]string{"k": "new"}},
		{"AnInsertThenADeleteLeavesNone", []record.Data{applytest.Item("k", "new"), remove}, map[string]string{}},
		{
			"TheLastOfManyStands",
			[]record.Data{applytest.Item("k", "a"), remove, applytest.Item("k", "b"), remove, applytest.Item("k", "c")},
			map[string]string{"k": "c"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := open(t, "", target.Options{CatalogAge: time.Nanosecond}).bench(apply.Options{})
			run := record.Run{Partition: applytest.P(0), Records: []record.Record{applytest.At(0, applytest.Item("k", "old"))}}
			b.MustDeliver(applytest.Want{Applied: 1, Next: at0(1)}, run)
			run.Records = nil
			for i, value := range c.values {
				run.Records = append(run.Records, applytest.At(position.Offset(i+1), value))
			}
			next := position.Offset(len(c.values) + 1)
			b.MustDeliver(applytest.Want{Applied: len(c.values), Next: at0(next)}, run)
			b.MustStand(at0(next), c.want)
		})
	}
}
