package target_test

import (
	"testing"

	"tidemark/shared/apply"
	"tidemark/shared/apply/applytest"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/postgres/target"
	"tidemark/shared/record"
)

// TestLife is about a recovery that comes between two deliveries of a warm process (A16).
func TestLife(t *testing.T) {
	t.Parallel()
	t.Run("AnotherIsAdoptedByTheNextCallAndNotByThis", func(t *testing.T) {
		t.Parallel()
		s := open(t, "", target.Options{})
		b := s.bench(apply.Options{MaxRows: 1})
		b.MustDeliver(applytest.Want{Applied: 1, Next: at0(1)}, items(0, 1, "a"))
		life := s.Life()
		life.Incarnation = "00000000-0000-4000-8000-000000000009"
		s.SetLife(life)
		batch := []record.Run{
			items(1, 2, "b"), applytest.Items(applytest.P(1), span(0, 2), "b"), applytest.Items(applytest.P(2), span(0, 1), "b"),
		}
		nothing := position.Cut{applytest.P(0): 1, applytest.P(1): 0, applytest.P(2): 0}
		b.MustDeliver(applytest.Want{Class: fault.Fenced, Next: nothing}, batch...)
		b.MustStand(at0(1), applytest.RowsOf(items(0, 1, "a")))
		all := position.Cut{applytest.P(0): 2, applytest.P(1): 2, applytest.P(2): 1}
		b.MustDeliver(applytest.Want{Applied: 4, Next: all}, batch...)
		b.MustStand(all, applytest.RowsOf(append(batch, items(0, 1, "a"))...))
	})
}
