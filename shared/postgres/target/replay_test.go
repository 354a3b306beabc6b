package target_test

import (
	"testing"

	"tidemark/shared/apply"
	"tidemark/shared/apply/applytest"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/postgres/target"
)

// TestReplay is about a recovery's writer: it writes a target that is restoring in its own life, and nothing else does.
func TestReplay(t *testing.T) {
	t.Parallel()
	restoring := func(s *subject) applytest.Life {
		life := s.Life()
		life.State = apply.StateRestoring
		s.SetLife(life)
		return life
	}
	t.Run("WritesATargetThatIsRestoring", func(t *testing.T) {
		t.Parallel()
		s := open(t, "", target.Options{Replaying: true})
		life := restoring(s)
		s.bench(apply.Options{Replaying: life.Incarnation}).
			MustDeliver(applytest.Want{Applied: 2, Next: at0(2)}, items(0, 2, "a"))
		if got := s.Life(); got.State != apply.StateRestoring {
			t.Errorf("the target is %s, want it still restoring", got.State)
		}
	})
	t.Run("IsRefusedToLiveApply", func(t *testing.T) {
		t.Parallel()
		s := open(t, "", target.Options{})
		restoring(s)
		s.bench(apply.Options{}).MustDeliver(applytest.Want{Class: fault.Fenced, Next: at0(0)}, items(0, 1, "a"))
	})
	t.Run("RefusesALiveTarget", func(t *testing.T) {
		t.Parallel()
		s := open(t, "", target.Options{Replaying: true})
		s.bench(apply.Options{Replaying: s.Life().Incarnation}).
			MustDeliver(applytest.Want{Class: fault.Fenced, Next: at0(0)}, items(0, 1, "a"))
	})
	t.Run("RefusesAnotherRecoverysLife", func(t *testing.T) {
		t.Parallel()
		s := open(t, "", target.Options{Replaying: true})
		restoring(s)
		other := position.Incarnation("00000000-0000-4000-8000-000000000009")
		s.bench(apply.Options{Replaying: other}).MustDeliver(applytest.Want{Class: fault.Fenced, Next: at0(0)}, items(0, 1, "a"))
	})
}
