package target_test

import (
	"testing"
	"time"

	"tidemark/shared/apply"
	"tidemark/shared/apply/applytest"
	"tidemark/shared/fault"
	"tidemark/shared/postgres/target"
	"tidemark/shared/record"
)

// proxied is a bench whose target reaches its server through a proxy.
func proxied(t *testing.T, ddl string, judge func(flight) verdict) (*applytest.Bench, *subject, *proxy) {
	t.Helper()
	direct := open(t, ddl, target.Options{})
	p := startProxy(t, direct.db.URL)
	p.setJudge(judge)
	s := on(t, direct.db, target.Options{Database: p.url})
	return s.bench(apply.Options{}), s, p
}

// mustNotCancel also lets one more call through: a cancel request would have come in before it.
func (p *proxy) mustNotCancel(t *testing.T, wantDials int) {
	t.Helper()
	dials, cancels := p.counts()
	if dials != wantDials || cancels != 0 {
		t.Errorf("the proxy saw %d connections and %d cancel requests, want %d and none", dials, cancels, wantDials)
	}
}

// TestCommit is about COMMIT's reply (A3, A5, A14): the ledger decides, on another connection, under the lock.
func TestCommit(t *testing.T) {
	t.Parallel()
	run := items(0, 5, "a")
	applied := applytest.Want{Applied: 5, Next: at0(5)}
	skipped := applytest.Want{Skipped: 5, Next: at0(5)}
	nothing := func(class fault.Class) applytest.Want { return applytest.Want{Class: class, Next: at0(0)} }
	stands := func(b *applytest.Bench) { b.MustStand(at0(5), applytest.RowsOf(run)) }

	t.Run("ALostReplyIsDecidedByTheLedger", func(t *testing.T) {
		t.Parallel()
		b, _, p := proxied(t, "", onCommit(swallowReply))
		b.MustDeliver(applied, run)
		stands(b)
		b.MustDeliver(skipped, run)
		p.mustNotCancel(t, 2)
	})
	t.Run("ACutBeforeCommitIsNotApplied", func(t *testing.T) {
		t.Parallel()
		b, _, p := proxied(t, "", onCommit(cutBefore))
		mustBe(t, b.MustFail(nothing(fault.Retryable), run), fault.Retryable, "commit orders/0 [0,5)", "not applied")
		b.MustStand(at0(0), map[string]string{})
		b.MustDeliver(applied, run)
		stands(b)
		p.mustNotCancel(t, 2)
	})
	t.Run("ACutRightBehindCommitIsDecidedByTheLedger", func(t *testing.T) {
		t.Parallel()
		b, _, p := proxied(t, "", onCommit(cutInSync))
		b.MustDeliver(applied, run)
		stands(b)
		p.mustNotCancel(t, 2)
	})
	t.Run("AnUnreachableLedgerLeavesTheOutcomeUnknown", func(t *testing.T) {
		t.Parallel()
		b, _, p := proxied(t, "", onCommit(swallowReply))
		p.onSwallow(func() { p.setRefuse(true) })
		mustBe(t, b.MustFail(nothing(fault.UnknownOutcome), run), fault.UnknownOutcome, "could not be asked")
		stands(b)
		p.setRefuse(false)
		b.MustDeliver(skipped, run)
		stands(b)
	})
	t.Run("ALockedCheckpointLeavesTheOutcomeUnknown", func(t *testing.T) {
		t.Parallel()
		b, s, p := proxied(t, "", onCommit(swallowReply))
		other := s.session()
		p.onSwallow(func() { other.Exec(t, "BEGIN; SELECT 1 FROM tidemark.checkpoint FOR UPDATE") })
		outcome, err := b.Apply(within(t, 2*time.Second), record.Batch{run})
		b.Check(nothing(fault.UnknownOutcome), outcome, err)
		other.Exec(t, "ROLLBACK")
		b.MustDeliver(skipped, run)
		stands(b)
	})
	t.Run("AnotherLifeMeanwhileIsFenced", func(t *testing.T) {
		t.Parallel()
		b, s, p := proxied(t, "", onCommit(swallowReply))
		p.onSwallow(func() {
			life := s.Life()
			life.Incarnation = "00000000-0000-4000-8000-00000000000f"
			s.SetLife(life)
		})
		b.MustDeliver(nothing(fault.Fenced), run)
		b.MustDeliver(skipped, run)
	})
	t.Run("AnotherAnswerThanCommitIsNeverSuccess", func(t *testing.T) {
		t.Parallel()
		b, _, _ := proxied(t, "", onCommit(rollbackReply))
		mustBe(t, b.MustFail(nothing(fault.Bug), run), fault.Bug, "ROLLBACK")
		b.MustDeliver(skipped, run)
	})
	t.Run("AWarningBesideCommitAsksTheLedger", func(t *testing.T) {
		t.Parallel()
		b, _, p := proxied(t, "", onCommit(warnInReply))
		b.MustDeliver(applied, run)
		stands(b)
		p.mustNotCancel(t, 2)
	})
	t.Run("AWarningThatComesBackLeavesTheOutcomeUnknown", func(t *testing.T) {
		t.Parallel()
		b, _, p := proxied(t, "", func(flight) verdict { return warnInReply })
		b.MustDeliver(nothing(fault.UnknownOutcome), run)
		p.setJudge(nil)
		b.MustDeliver(skipped, run)
		stands(b)
	})
	t.Run("AWarningOfATriggerIsNoFailure", func(t *testing.T) {
		t.Parallel()
		b := open(t, "CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'look'; RETURN NEW; END $$;"+
			"CREATE TRIGGER warn BEFORE INSERT ON item FOR EACH ROW EXECUTE FUNCTION warn()", target.Options{}).bench(apply.Options{})
		b.MustDeliver(applied, run)
		stands(b)
	})
	t.Run("TheEndOfACallCutsAndNeverCancels", func(t *testing.T) {
		t.Parallel()
		b, _, p := proxied(t, "", onCommit(holdReply))
		outcome, err := b.Apply(within(t, time.Second), record.Batch{run})
		b.Check(nothing(fault.UnknownOutcome), outcome, err)
		b.MustDeliver(skipped, run)
		stands(b)
		p.mustNotCancel(t, 2)
	})
	t.Run("ASessionEndedBeforeCommitIsNotApplied", func(t *testing.T) {
		t.Parallel()
		s := open(t, "", target.Options{})
		b := s.between(func() { s.endSessions("idle in transaction") })
		b.MustDeliver(nothing(fault.Retryable), run)
		b.MustStand(at0(0), map[string]string{})
		b.MustDeliver(applied, run)
	})
	t.Run("ADeferredConstraintFailsCommitAndNothingStays", func(t *testing.T) {
		t.Parallel()
		b := open(t, "ALTER TABLE item ADD CONSTRAINT body_once UNIQUE (body) DEFERRABLE INITIALLY DEFERRED", target.Options{}).
			bench(apply.Options{})
		twice := items(0, 3, "same")
		twice.Records[0].Value = applytest.Item("first", "other")
		err := b.MustFail(applytest.Want{Class: fault.Poison, Applied: 2, Next: at0(2)}, twice)
		mustBe(t, err, fault.Poison, "orders/0 [2,3)", "23505")
		twice.Records = twice.Records[:2]
		b.MustStand(at0(2), applytest.RowsOf(twice))
	})
}
