package target_test

import (
	"context"
	"testing"

	"tidemark/shared/apply"
	"tidemark/shared/apply/applytest"
	"tidemark/shared/fault"
)

// beforeAsked is a target where something happens between a commit without a reply and the question to the ledger.
type beforeAsked struct {
	applytest.Subject

	begun int
	do    func()
}

func (b *beforeAsked) Begin(ctx context.Context, opening apply.Opening) (apply.Transaction, error) {
	if b.begun++; b.begun == 2 {
		b.do()
	}
	return b.Subject.Begin(ctx, opening)
}

// commitAlone is a judge that does v to the first COMMIT that has a flight for itself: nothing was to be written.
func commitAlone(v verdict) func(flight) verdict {
	done := false
	return func(f flight) verdict {
		if !done && len(f) == 1 && f[0] == "COMMIT" {
			done = true
			return v
		}
		return pass
	}
}

// TestMovedMeanwhile is about an operator who moves a checkpoint between a commit whose reply was lost and the question
// to the ledger: where the checkpoint stands says nothing of the commit any more, and nothing is called applied.
func TestMovedMeanwhile(t *testing.T) {
	t.Parallel()
	first, run := items(0, 1, "a"), items(0, 6, "a")
	unknown := applytest.Want{Class: fault.UnknownOutcome, Next: at0(0)}
	for _, c := range []struct {
		name  string
		judge func(flight) verdict // one for each test: it strikes once
		move  func(*subject)
		again applytest.Want
	}{
		{"Back", onCommit(swallowReply), func(s *subject) { s.start(0, "again") }, applytest.Want{Applied: 6, Next: at0(6)}},
		{
			"PartOfTheWayBack", onCommit(swallowReply), func(s *subject) { s.start(3, "again") },
			applytest.Want{Applied: 3, Skipped: 3, Next: at0(6)},
		},
		{
			"BackAndForward", onCommit(swallowReply), func(s *subject) { s.start(0, "again"); s.start(6, "no, on") },
			applytest.Want{Skipped: 6, Next: at0(6)},
		},
		{
			"ForwardOverWhatWasNotApplied", onCommit(cutBefore), func(s *subject) { s.start(9, "leave them out") },
			applytest.Want{Skipped: 6, Next: at0(6)},
		},
	} {
		t.Run("LeavesTheOutcomeUnknown/"+c.name, func(t *testing.T) {
			t.Parallel()
			early, s, p := proxied(t, "", nil)
			early.MustDeliver(applytest.Want{Applied: 1, Next: at0(1)}, first)
			p.setJudge(c.judge)
			b := applytest.NewBench(t, &beforeAsked{Subject: s, do: func() { c.move(s) }}, apply.Options{})
			mustBe(t, b.MustFail(unknown, run), fault.UnknownOutcome, "commit orders/0 [0,6)", "the checkpoint was moved")
			b.MustDeliver(c.again, run)
			p.mustNotCancel(t, 2)
		})
	}
	t.Run("LeavesTheOutcomeOfASkipUnknown", func(t *testing.T) {
		t.Parallel()
		early, s, p := proxied(t, "", nil)
		early.MustDeliver(applytest.Want{Applied: 6, Next: at0(6)}, run)
		p.setJudge(commitAlone(swallowReply))
		b := applytest.NewBench(t, &beforeAsked{Subject: s, do: func() { s.start(0, "again") }}, apply.Options{})
		b.MustDeliver(unknown, run)
		b.MustDeliver(applytest.Want{Applied: 6, Next: at0(6)}, run)
		b.MustStand(at0(6), applytest.RowsOf(run))
	})
}

// TestMovedOrigin is about a partition that had no checkpoint: the lost commit took its row along, and an operator's act made
// another.
func TestMovedOrigin(t *testing.T) {
	t.Parallel()
	_, s, p := proxied(t, "", onCommit(cutBefore))
	b := applytest.NewBench(t, &beforeAsked{Subject: s, do: func() { s.start(9, "") }}, apply.Options{})
	run := items(0, 5, "a")
	err := b.MustFail(applytest.Want{Class: fault.UnknownOutcome, Next: at0(0)}, run)
	mustBe(t, err, fault.UnknownOutcome, "the checkpoint was moved")
	b.MustDeliver(applytest.Want{Skipped: 5, Next: at0(5)}, run)
	p.mustNotCancel(t, 2)
}
