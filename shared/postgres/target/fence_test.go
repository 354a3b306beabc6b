package target_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"tidemark/shared/apply"
	"tidemark/shared/apply/applytest"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/postgres"
	"tidemark/shared/postgres/target"
)

const anotherLife position.Incarnation = "00000000-0000-4000-8000-00000000000f"

// TestAdvance is about the server's own judgement (A3): a COMMIT is on its way behind the rows, so a move that is not as
// said must raise inside the database.
func TestAdvance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		state string
		alter func(*apply.Work)
	}{
		{"AnEarlierPosition", postgres.StateNotMoved, func(w *apply.Work) { w.Advances[0].From = 1 }},
		{"ALaterPosition", postgres.StateNotMoved, func(w *apply.Work) { w.Advances[0].From, w.Advances[0].Next = 3, 4 }},
		{"AMoveThatStands", postgres.StateNotMoved, func(w *apply.Work) { w.Advances[0].Next = 2 }},
		{"AMoveBack", postgres.StateNotMoved, func(w *apply.Work) { w.Advances[0].Next = 1 }},
		{"APartitionTwice", postgres.StateNotMoved, func(w *apply.Work) { w.Advances = append(w.Advances, w.Advances[0]) }},
		{"APartitionWithoutARow", postgres.StateNotMoved, func(w *apply.Work) {
			w.Advances = append(w.Advances, apply.Advance{Partition: applytest.P(7), Next: 1})
		}},
		{"AnotherFlow", postgres.StateNotMoved, func(w *apply.Work) { w.Flow = "other" }},
		{"AnotherLife", postgres.StateNotOwner, func(w *apply.Work) { w.Incarnation = anotherLife }},
	} {
		t.Run("Refuses"+c.name, func(t *testing.T) {
			t.Parallel()
			s := open(t, "", target.Options{Connections: 2})
			b := s.bench(apply.Options{})
			b.MustDeliver(applytest.Want{Applied: 2, Next: at0(2)}, items(0, 2, "a"))
			tx, err := s.Begin(within(t, patience), apply.Opening{Flow: applytest.Flow, Partitions: []position.Partition{applytest.P(0)}})
			if err != nil {
				t.Fatalf("begin: %v", err)
			}
			work := b.Work(tx.Ledger().Incarnation, items(2, 5, "b"))
			c.alter(&work)
			mustRaise(t, tx.Commit(within(t, patience), work), c.state)
			b.MustStand(at0(2), applytest.RowsOf(items(0, 2, "a")))
			b.MustDeliver(applytest.Want{Applied: 3, Next: at0(5)}, items(2, 5, "b"))
		})
	}
	t.Run("RefusesACheckpointOfAnotherLife", func(t *testing.T) {
		t.Parallel()
		s := open(t, "", target.Options{Connections: 2})
		b := s.bench(apply.Options{})
		b.MustDeliver(applytest.Want{Applied: 2, Next: at0(2)}, items(0, 2, "a"))
		s.db.Exec(t, "UPDATE tidemark.checkpoint SET incarnation = '"+anotherLife.String()+"'")
		b.MustDeliver(applytest.Want{Class: fault.Fenced, Next: at0(2)}, items(2, 5, "b"))
		tx, err := s.Begin(within(t, patience), apply.Opening{Flow: applytest.Flow, Partitions: []position.Partition{applytest.P(0)}})
		if err != nil {
			t.Fatalf("begin: %v", err)
		}
		mustRaise(t, tx.Commit(within(t, patience), b.Work(tx.Ledger().Incarnation, items(2, 5, "b"))), postgres.StateNotMoved)
		b.MustStand(at0(2), applytest.RowsOf(items(0, 2, "a")))
	})
}

func mustRaise(t *testing.T, err error, state string) {
	t.Helper()
	raised, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || raised.Code != state {
		t.Errorf("got %v, want SQLSTATE %s", err, state)
	}
	if !fault.Is(err, postgres.Class(state)) {
		t.Errorf("got class %s, want %s", fault.ClassOf(err), postgres.Class(state))
	}
}

// TestFence is about a target that changes hands between Begin and Commit (A16, L5). Whoever changes the target row locks
// the checkpoints first; if he does not, advance refuses all the same, as long as his change is committed by then.
func TestFence(t *testing.T) {
	t.Parallel()
	change := map[string]string{
		"Held": "state = 'held'", "Restoring": "state = 'restoring'", "Fenced": "state = 'fenced'",
		"AnotherLife": "incarnation = '" + anotherLife.String() + "'",
	}
	for name, set := range change {
		t.Run("AChangeWithoutLocksIsSeenByTheLastStatement/"+name, func(t *testing.T) {
			t.Parallel()
			s := open(t, "", target.Options{})
			b := s.between(func() { s.db.Exec(t, "UPDATE tidemark.target SET "+set) })
			err := b.MustFail(applytest.Want{Class: fault.Fenced, Next: at0(0)}, items(0, 3, "a"))
			mustRaise(t, err, postgres.StateNotOwner)
			b.MustStand(position.Cut{}, map[string]string{})
		})
		t.Run("AChangeUnderLocksWaitsForTheTransaction/"+name, func(t *testing.T) {
			t.Parallel()
			s := open(t, "", target.Options{})
			s.bench(apply.Options{}).MustDeliver(applytest.Want{Applied: 1, Next: at0(1)}, items(0, 1, "a"))
			other, done := s.session(), make(chan struct{})
			b := s.between(func() {
				go func() {
					defer close(done)
					other.Exec(t, "BEGIN; SELECT 1 FROM tidemark.checkpoint FOR UPDATE; UPDATE tidemark.target SET "+set+"; COMMIT")
				}()
				s.awaitWaiter()
			})
			b.MustDeliver(applytest.Want{Applied: 2, Next: at0(3)}, items(1, 3, "b"))
			<-done
			b.MustDeliver(applytest.Want{Class: fault.Fenced, Next: at0(3)}, items(3, 4, "c"))
			b.MustStand(at0(3), applytest.RowsOf(items(0, 1, "a"), items(1, 3, "b")))
		})
	}
	// Whoever was told by advance that the target lives another life must not need one more delivery to forget the old.
	t.Run("TheNextDeliveryAdoptsTheLifeThatAdvanceSaw", func(t *testing.T) {
		t.Parallel()
		s := open(t, "", target.Options{})
		s.bench(apply.Options{}).MustDeliver(applytest.Want{Applied: 1, Next: at0(1)}, items(0, 1, "a"))
		b := s.between(func() { s.db.Exec(t, "UPDATE tidemark.target SET incarnation = '"+anotherLife.String()+"'") })
		b.MustDeliver(applytest.Want{Class: fault.Fenced, Next: at0(1)}, items(1, 3, "b"))
		s.db.Exec(t, "UPDATE tidemark.checkpoint SET incarnation = '"+anotherLife.String()+"'")
		b.MustDeliver(applytest.Want{Applied: 2, Next: at0(3)}, items(1, 3, "b"))
	})
}
