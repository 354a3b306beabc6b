package recovery_test

import (
	"testing"
	"time"

	"tidemark/shared/archive/history"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/recoverytest"
)

// An end at which an excluded range begins lies behind that range: what is held is what flow resume --replay applies.
func TestUntilWhereAnExcludedRangeBegins(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	exclude(t, w, shopFlow, map[position.Partition]position.Range{at(0): {From: 5, Until: 6}})
	report := mustRun(t, w, w.Database(), until(position.Cut{at(0): 5}))
	if held := report.Try.Held; len(held) != 1 || held[0].From != 6 {
		t.Errorf("held is %+v: --replay applies [5,6), which was cut out for good", held)
	}
}

// A partition that is not there is not passed over in silence: nothing would be held, and all of the log applied.
func TestUntilRefusesAPartitionThatIsNotThere(t *testing.T) {
	t.Parallel()
	for name, asked := range map[string]changer{"until": until(position.Cut{at(9): 5}), "from": from(position.Cut{at(9): 5})} {
		w := newShop(t)
		d := w.Database()
		if _, err := run(t, w, d, asked); !fault.Is(err, fault.Misconfigured) {
			t.Errorf("%s orders/9: got %v, and a target that is %q", name, err, d.State())
		}
	}
}

// A gap that an operator makes by --from is an act that changes what the log means (part D): a later recovery does not bring
// back what was left out. The new life is lost before its first backup.
func TestFromAboveTheCutIsRemembered(t *testing.T) {
	t.Parallel()
	t.Run("FromTheSameBase", func(t *testing.T) {
		t.Parallel()
		w := newShop(t)
		mustRun(t, w, w.Database(), from(position.Cut{at(0): 5}), allowGap)
		d := w.Database()
		mustRun(t, w, d)
		if containsApplied(d.Applied(), at(0), 4) {
			t.Error("orders/0 4 was applied, which the life before had left out")
		}
	})
	t.Run("FromANewerBaseOfTheParent", func(t *testing.T) {
		t.Parallel()
		w := newShop(t)
		first := w.Backup(t, recoverytest.Cut{shopFlow: {at(0): 4, at(1): 4, at(2): 4, at(3): 0}})
		h := w.Backup(t, w.Stable()) // has what is left out
		mustRun(t, w, w.Database(), from(position.Cut{at(0): 5}), allowGap, allowOlder,
			func(o *recovery.Options) { o.Manifest = first.ID.Run })
		d := w.Database()
		report := mustRun(t, w, d)
		if report.Try.Base.Run == h.ID.Run {
			t.Errorf("the base is %s, which shows of life 1 what life 2 never was", report.Try.Base)
		}
	})
}

// A start that the log has not come to yet would skip what is written next.
func TestFromBeyondTheLogsEnd(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	d := w.Database()
	if _, err := run(t, w, d, from(position.Cut{at(0): 1000}), allowGap); err == nil {
		t.Errorf("orders/0 stands at %s, and the log ends at %s", d.Positions(shopFlow)[at(0)], w.Log.Stable(at(0)))
	}
}

// A manifest that the latest life did not come from is there: nothing of it is lost, so freshness is proven by it too.
func TestUntilAgainIsNotOlderThanSeen(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	newer := w.Backup(t, w.Stable())
	seen := mark{history.Mark{Lineage: newer.ID.Lineage, Seq: newer.ID.Seq, Statement: newer.Digest}}
	remembers := func(o *recovery.Options) { o.HighWater, o.RequireFresh = seen, true }
	mustRun(t, w, w.Database(), until(position.Cut{at(0): 5}), remembers)
	if _, err := run(t, w, w.Database(), until(position.Cut{at(0): 6}), remembers); err != nil {
		t.Errorf("the point was a bad one, and another is tried: %s", fault.Line(err))
	}
}

// A base that has a part of what was left out brings it back: that is said.
func TestBaseInTheMidstOfAnExcludedRange(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	exclude(t, w, shopFlow, map[position.Partition]position.Range{at(0): {From: 2, Until: 6}})
	report := mustRun(t, w, w.Database())
	if len(report.Warnings) < 2 {
		t.Errorf("warnings %q: none says that the base has orders/0 [2,4), which was left out", report.Warnings)
	}
}

// What the log lets go of below the base's cut is no gap: the base has it. Retention goes on while a base is restored.
func TestRewoundBelowAMovingStart(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	d := w.Database()
	if _, err := runBy(t, w.Process(d, afterClaim), func(o *recovery.Options) { o.From.Earliest = true }); err == nil {
		t.Fatal("the first call went through")
	}
	w.Log.Trim(at(0), 2) // the cut is 4
	if _, err := run(t, w, d); err != nil {
		t.Errorf("nothing is lost: %s", fault.Line(err))
	}
}

// Reasons are kept in the target, also of a recovery whose first call died: the audit row is the last call's report.
func TestReasonsOutliveTheFirstCall(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	w.Log.Configure(orders, 100*time.Hour)
	d := w.Database()
	if _, err := runBy(t, w.Process(d, afterClaim), until(position.Cut{at(0): 5}), allowGap); err == nil {
		t.Fatal("the first call went through")
	}
	wantWarning(t, mustRun(t, w, d).Warnings, "is compacted", "ticket 7")
}
