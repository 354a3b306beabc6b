package target_test

import (
	"testing"

	"tidemark/shared/apply/applytest"
	"tidemark/shared/position"
	"tidemark/shared/postgres/target"
	"tidemark/shared/record"
)

// TestFlowStartWithIdentities is about an operator's start in a flow whose events have names: what shall apply again
// must not be taken for what was applied before.
func TestFlowStartWithIdentities(t *testing.T) {
	t.Parallel()
	run := func(number int32, records ...record.Record) record.Run {
		return record.Run{Partition: applytest.P(number), Records: records}
	}
	all := run(0, event(0, "a"), event(1, "b"), event(2, "c"), event(3, "d"))
	t.Run("BackAppliesTheRecordsAgain", func(t *testing.T) {
		t.Parallel()
		s := open(t, factDDL, target.Options{})
		b := s.bench(identified())
		b.MustDeliver(applytest.Want{Applied: 4, Next: at0(4)}, all)
		s.db.Exec(t, "TRUNCATE fact")
		s.start(0, "the rows were lost")
		b.MustDeliver(applytest.Want{Applied: 4, Next: at0(4)}, all)
		s.mustHold("a\nb\nc\nd\n")
	})
	t.Run("BackForgetsOnlyWhatIsAppliedAgain", func(t *testing.T) {
		t.Parallel()
		s := open(t, factDDL, target.Options{})
		b := s.bench(identified())
		b.MustDeliver(applytest.Want{Applied: 4, Next: at0(4)}, all)
		b.MustDeliver(applytest.Want{Applied: 1, Next: position.Cut{applytest.P(1): 1}}, run(1, event(0, "e")))
		s.db.Exec(t, "TRUNCATE fact")
		s.start(2, "the rows were lost")
		b.MustDeliver(applytest.Want{Applied: 2, Skipped: 2, Next: at0(4)}, all)
		s.mustHold("c\nd\n")
		// The producer sends events again that lie below the start, or came by another partition: they are known still.
		b.MustDeliver(applytest.Want{Applied: 3, Next: at0(7)}, run(0, event(4, "a"), event(5, "b"), event(6, "e")))
		s.mustHold("c\nd\n")
	})
	t.Run("ForwardForgetsNothing", func(t *testing.T) {
		t.Parallel()
		s := open(t, factDDL, target.Options{})
		b := s.bench(identified())
		b.MustDeliver(applytest.Want{Applied: 4, Next: at0(4)}, all)
		s.start(5, "one bad record")
		b.MustDeliver(applytest.Want{Applied: 1, Next: at0(6)}, run(0, event(5, "a")))
		s.mustHold("a\nb\nc\nd\n")
	})
}

// mustHold compares the facts.
func (s *subject) mustHold(want string) {
	s.t.Helper()
	if got := s.db.Copy(s.t, "SELECT what FROM fact ORDER BY what"); got != want {
		s.t.Errorf("facts: got %q, want %q", got, want)
	}
}
