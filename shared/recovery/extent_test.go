package recovery_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/apply"
	"tidemark/shared/archive/archivetest"
	"tidemark/shared/archive/archivetest/faulty"
	"tidemark/shared/archive/decision"
	"tidemark/shared/archive/history"
	"tidemark/shared/archive/layout"
	"tidemark/shared/archive/layout/decided"
	"tidemark/shared/archive/notice"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/inspection"
	"tidemark/shared/recovery/recoverytest"
	"tidemark/shared/recovery/refusal"
	"tidemark/shared/signing"
)

func until(offsets position.Cut) changer {
	return func(o *recovery.Options) { o.Until.Offsets = offsets }
}

func from(offsets position.Cut) changer {
	return func(o *recovery.Options) { o.From.Offsets = offsets }
}

// exclude cuts ranges out of the log, as an operator does.
func exclude(t *testing.T, w *recoverytest.World, flow string, ranges map[position.Partition]position.Range) []notice.Decision {
	t.Helper()
	o := decision.Options{Archive: w.Archive(t), Actor: "ann", Now: w.Now, Signers: []signing.Signer{w.Key}}
	var wanted []notice.Decision
	for p, r := range ranges {
		id, _, _ := w.Log.Describe(p, 0)
		wanted = append(wanted, notice.Decision{
			Act: decision.Exclude, Flow: flow, Topic: p.Topic, TopicID: id, Partition: p.Number, From: r.From, Until: r.Until,
			At: r.From, Reason: "a bad deploy",
		})
	}
	written, err := decision.Write(context.WithoutCancel(t.Context()), o, 1, wanted)
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	return written
}

// TestRunUntilAnOffset: that partition stops there, others go on to the log's end; the target is held, and what lies behind is
// known, whatever comes to the log later.
func TestRunUntilAnOffset(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	d := w.Database()
	stable := w.Stable()[shopFlow]
	report := mustRun(t, w, d, until(position.Cut{at(0): 5}))
	if got := d.Positions(shopFlow); got[at(0)] != 5 || got[at(2)] != stable[at(2)] {
		t.Errorf("got %s, want orders/0 at 5 and orders/2 at its end %s", got, stable[at(2)])
	}
	id, _, _ := w.Log.Describe(at(0), 5)
	want := []inspection.Held{{Flow: shopFlow, Topic: orders, TopicID: id, Partition: 0, From: 5, Until: stable[at(0)]}}
	if diff := cmp.Diff(want, report.Try.Held); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
	if d.State() != apply.StateHeld {
		t.Errorf("the target is %q", d.State())
	}
	w.Log.Append(at(0), w.Now(), recoverytest.Put("0-0", "later"))
	again := mustRun(t, w, d, until(position.Cut{at(0): 5}))
	if !again.Plan.Settled {
		t.Error("the same command recovered again")
	}
}

// TestRunUntilATime: every partition stops before its first record of that time.
func TestRunUntilATime(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	var last time.Time
	for _, r := range w.Log.Committed(at(0), position.Range{Until: 5}) {
		last = r.Time
	}
	d := w.Database()
	report := mustRun(t, w, d, func(o *recovery.Options) { o.Until.At = last.Add(time.Nanosecond) })
	want := position.Cut{at(0): 5, at(1): 4, at(2): 4, at(3): 0}
	if diff := cmp.Diff(want, d.Positions(shopFlow)); diff != "" {
		t.Errorf("positions (-want +got):\n%s", diff)
	}
	if len(report.Try.Held) != 4 {
		t.Errorf("held %+v, want all four partitions", report.Try.Held)
	}
}

// TestRunUntilTakesAnOlderManifest: nothing can be taken back from a base, so the newest one below the point is taken, and what
// was passed over is said. Without one the recovery is refused.
func TestRunUntilTakesAnOlderManifest(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	newer := w.Backup(t, w.Stable())
	d := w.Database()
	report := mustRun(t, w, d, until(position.Cut{at(0): 5}))
	if report.Try.Base.Seq != newer.ID.Seq-1 {
		t.Errorf("got manifest %s, want the one before %s", report.Try.Base, newer.ID)
	}
	wantWarning(t, report.Warnings, newer.ID.Run.String()+" was passed over", "beyond until orders/0=5")
	w = newShop(t)
	_, err := run(t, w, w.Database(), until(position.Cut{at(0): 3}))
	if !fault.Is(err, fault.Misconfigured) || !strings.Contains(fault.HintOf(err), "older manifest") {
		t.Errorf("got %s, want a refusal that asks for an older manifest", fault.Line(err))
	}
	_, err = run(t, w, w.Database(), until(position.Cut{{Topic: "other"}: 3}))
	if !fault.Is(err, fault.Misconfigured) {
		t.Errorf("got %v for a topic that no flow reads", err)
	}
}

// TestRunUntilJudgesFreshnessByTheNewest: a manifest that lies before the point on purpose is no sign that one is lost.
func TestRunUntilJudgesFreshnessByTheNewest(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	newer := w.Backup(t, w.Stable())
	remembered := mark{history.Mark{Lineage: newer.ID.Lineage, Seq: newer.ID.Seq, Statement: newer.Digest}}
	mustRun(t, w, w.Database(), until(position.Cut{at(0): 5}), func(o *recovery.Options) { o.HighWater, o.RequireFresh = remembered, true })
}

// TestRunUntilRefusesACompactedTopic: what it had at that point may be superseded by what lies behind, and then no offset shows
// that it is gone.
func TestRunUntilRefusesACompactedTopic(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	w.Log.Configure(orders, 100*time.Hour)
	_, err := run(t, w, w.Database(), until(position.Cut{at(0): 5}))
	wantRefusal(t, err, refusal.LogTruncated, fault.Gap)
	mustRun(t, w, w.Database(), until(position.Cut{at(0): 5}), allowGap)
	w = newShop(t)
	w.Log.Configure(orders, 100*time.Hour)
	mustRun(t, w, w.Database())
}

// TestRunRefusesACompactedTopicOfPartialRecords: the last record of a key is not its row, and what came before it may be gone.
func TestRunRefusesACompactedTopicOfPartialRecords(t *testing.T) {
	t.Parallel()
	partial := func(o *recovery.Options) { o.WholeRows = func(string) bool { return false } }
	w := newShop(t)
	mustRun(t, w, w.Database(), partial)
	w = newShop(t)
	w.Log.Configure(orders, 100*time.Hour)
	_, err := run(t, w, w.Database(), partial)
	if !fault.Is(err, fault.Misconfigured) || !strings.Contains(fault.HintOf(err), "min.compaction.lag.ms") {
		t.Errorf("got %v, want it refused with what to set", err)
	}
	mustRun(t, w, w.Database())
}

// TestRunGoesOnAsItWasAsked: a try is gone on with without words or with the same, and with no others.
func TestRunGoesOnAsItWasAsked(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	d := w.Database()
	asked := until(position.Cut{at(0): 5})
	if _, err := runBy(t, w.Process(d, afterClaim), asked); err == nil {
		t.Fatal("the first call went through")
	}
	for name, other := range map[string]changer{
		"another offset": until(position.Cut{at(0): 6}), "a time": func(o *recovery.Options) { o.Until.At = w.Now() },
		"another start": func(o *recovery.Options) { o.From.Earliest = true },
	} {
		_, err := run(t, w, d, other)
		if wantRefusal(t, err, refusal.TargetNotEmpty, fault.Misconfigured); !strings.Contains(err.Error(), "until orders/0=5") {
			t.Errorf("%s: %v does not say what was asked", name, err)
		}
	}
	_, err := run(t, w, d, func(o *recovery.Options) { o.Rehearsal = true })
	wantRefusal(t, err, refusal.TargetNotEmpty, fault.Misconfigured)
	mustRun(t, w, d)
	if got := d.Positions(shopFlow)[at(0)]; got != 5 {
		t.Errorf("orders/0 stands at %s, want where the first call was asked to stop", got)
	}
}

// TestRunLeavesOutWhatWasExcluded: what an operator cut out of the log is neither applied nor missed, also when the log has let
// go of it, and stands among the gaps. A base beyond it has nothing to pass over.
func TestRunLeavesOutWhatWasExcluded(t *testing.T) {
	t.Parallel()
	cut := map[position.Partition]position.Range{at(0): {From: 5, Until: 6}, at(2): {From: 4, Until: 6}}
	recoverFrom := func(t *testing.T, w *recoverytest.World, cut map[position.Partition]position.Range) *recoverytest.Database {
		t.Helper()
		d := w.Database()
		mustRun(t, w, d)
		for _, a := range d.Applied() {
			if cut[a.Partition].Contains(a.Offset) {
				t.Errorf("%s %s was applied", a.Partition, a.Offset)
			}
		}
		return d
	}
	wantGaps := func(t *testing.T, d *recoverytest.Database, want ...position.Range) {
		t.Helper()
		got := []position.Range{}
		for _, g := range d.Gaps() {
			if g.How != "excluded" || g.Reason != "a bad deploy" || g.Actor != "ann" {
				t.Errorf("the gap %+v", g)
			}
			got = append(got, position.Range{From: g.From, Until: g.Until})
		}
		if diff := cmp.Diff(append([]position.Range{}, want...), got); diff != "" {
			t.Errorf("gaps (-want +got):\n%s", diff)
		}
	}
	t.Run("OfThisTopic", func(t *testing.T) {
		t.Parallel()
		w := newShop(t)
		exclude(t, w, shopFlow, cut)
		d := recoverFrom(t, w, cut)
		wantGaps(t, d, cut[at(2)], cut[at(0)])
	})
	t.Run("WhichTheLogNoLongerHas", func(t *testing.T) {
		t.Parallel()
		w := newShop(t)
		exclude(t, w, shopFlow, cut)
		w.Log.Trim(at(2), 6)
		wantGaps(t, recoverFrom(t, w, cut), cut[at(2)], cut[at(0)])
	})
	t.Run("BelowTheCut", func(t *testing.T) {
		t.Parallel()
		w := newShop(t)
		exclude(t, w, shopFlow, map[position.Partition]position.Range{at(0): {From: 1, Until: 4}})
		wantGaps(t, recoverFrom(t, w, nil))
	})
	t.Run("OfAnotherTopicOfThatNameNothing", func(t *testing.T) {
		t.Parallel()
		w := newShop(t)
		w.Log.Create("other", 1)
		exclude(t, w, shopFlow, map[position.Partition]position.Range{{Topic: "other"}: {From: 1, Until: 4}})
		w.Log.Create("other", 1)
		d := w.Database()
		report := mustRun(t, w, d)
		wantWarning(t, report.Warnings, "another topic that had the name other")
		wantGaps(t, d)
	})
}

// TestRunRefusesADecisionThatItCannotBelieve: to leave one out would bring back what an operator cut off.
func TestRunRefusesADecisionThatItCannotBelieve(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	exclude(t, w, shopFlow, map[position.Partition]position.Range{at(0): {From: 5, Until: 6}})
	for _, bucket := range []*archivetest.Memory{w.Primary, w.Secondary} {
		replace(t, bucket, decided.Key(1, 1), []byte("{}"))
	}
	_, err := run(t, w, w.Database())
	if wantRefusal(t, err, refusal.Untrusted, fault.Corrupt); !strings.Contains(err.Error(), decided.Key(1, 1)) {
		t.Errorf("%v does not name the decision", err)
	}
}

// TestRunFromTheBeginning replays what the base has too, and ends with the same rows. What the log let go of above the cut is
// refused as ever.
func TestRunFromTheBeginning(t *testing.T) {
	t.Parallel()
	earliest := func(o *recovery.Options) { o.From.Earliest = true }
	w := newShop(t)
	w.Log.Trim(at(1), 2)
	d := w.Database()
	report := mustRun(t, w, d, earliest)
	first := map[position.Partition]position.Offset{}
	for _, a := range d.Applied() {
		if _, seen := first[a.Partition]; !seen {
			first[a.Partition] = a.Offset
		}
	}
	if want := (map[position.Partition]position.Offset{at(0): 0, at(1): 2, at(2): 0}); !cmp.Equal(want, first) {
		t.Errorf("replay began at %v, want %v", first, want)
	}
	if len(report.Try.Starts) != 3 {
		t.Errorf("got the starts %v, want the three partitions that the base has something of", report.Try.Starts)
	}
	w = newShop(t)
	w.Log.Trim(at(1), 5)
	_, err := run(t, w, w.Database(), earliest)
	wantRefusal(t, err, refusal.LogTruncated, fault.Gap)
}

// TestRunFromAnOffset begins there: below the cut records come again, above it they are a gap that somebody has to accept.
func TestRunFromAnOffset(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	d := w.Database()
	mustRun(t, w, d, from(position.Cut{at(0): 2}))
	if a := d.Applied(); len(a) == 0 || !containsApplied(a, at(0), 2) || containsApplied(a, at(0), 1) || containsApplied(a, at(1), 3) {
		t.Errorf("got %v, want orders/0 from 2 on, others from the cut on", a)
	}
	above := from(position.Cut{at(0): 5})
	_, err := run(t, w, w.Database(), above)
	wantRefusal(t, err, refusal.LogTruncated, fault.Gap)
	d = w.Database()
	mustRun(t, w, d, above, allowGap)
	if gaps := d.Gaps(); len(gaps) != 1 || gaps[0].From != 4 || gaps[0].Until != 5 || gaps[0].How != "accepted" {
		t.Errorf("got the gaps %v, want [4,5) accepted", gaps)
	}
}

func containsApplied(all []recoverytest.Applied, p position.Partition, offset position.Offset) bool {
	for _, a := range all {
		if a.Partition == p && a.Offset == offset {
			return true
		}
	}
	return false
}

// TestRunReplaysWhatTheManifestKnowsNothingOf: a topic, or a whole flow, that nothing had come of when the backup was made is
// replayed from its first record, as long as the log has that.
func TestRunReplaysWhatTheManifestKnowsNothingOf(t *testing.T) {
	t.Parallel()
	first, second := position.Partition{Topic: "late"}, position.Partition{Topic: "later"}
	late := func(t *testing.T) *recoverytest.World {
		t.Helper()
		w := newShop(t)
		w.Log.Create("late", 1)
		w.Log.Create("later", 1)
		w.Flows[shopFlow] = append(w.Flows[shopFlow], "late", "missing")
		w.Flows["another"] = []string{"later"}
		w.Log.Append(first, w.Now(), recoverytest.Put("late", "1"))
		w.Log.Append(second, w.Now(), recoverytest.Put("later", "1"))
		return w
	}
	w := late(t)
	d := w.Database()
	mustRun(t, w, d)
	if got := d.Rows(); got["late"] != "1" || got["later"] != "1" {
		t.Errorf("got %v, want the rows of both topics", got)
	}
	w = late(t)
	w.Log.Trim(second, 1)
	_, err := run(t, w, w.Database())
	wantRefusal(t, err, refusal.LogTruncated, fault.Gap)
}

// TestRehearsalTakesNoLife: nothing in the buckets changes, and the target never goes live.
func TestRehearsalTakesNoLife(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	before := keysOf(t, w)
	d := w.Database()
	mustRun(t, w, d, func(o *recovery.Options) { o.Rehearsal = true })
	if d.State() != apply.StateHeld {
		t.Errorf("the target is %q", d.State())
	}
	if diff := cmp.Diff(before, keysOf(t, w)); diff != "" {
		t.Errorf("the buckets (-before +after):\n%s", diff)
	}
}

func keysOf(t *testing.T, w *recoverytest.World) (keys []string) {
	t.Helper()
	for _, bucket := range []*archivetest.Memory{w.Primary, w.Secondary} {
		for info, err := range bucket.List(t.Context(), "") {
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, info.Key)
		}
	}
	return keys
}

// TestRunReadsOneBucketAlone: what only the other one has is not taken, and the life is in both all the same.
func TestRunReadsOneBucketAlone(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	newer := w.Backup(t, w.Stable())
	replace(t, w.Secondary, layout.Manifest(newer.ID), nil)
	d := w.Database()
	report := mustRun(t, w, d, func(o *recovery.Options) { o.FromBucket = "secondary" })
	if report.Try.Base == newer.ID {
		t.Errorf("got manifest %s, which the secondary does not have", newer.ID)
	}
	for _, bucket := range []*archivetest.Memory{w.Primary, w.Secondary} {
		if _, err := bucket.Stat(t.Context(), layout.Lineage(d.Try().Lineage)); err != nil {
			t.Errorf("a bucket has no record of the life: %v", err)
		}
	}
	_, err := run(t, w, w.Database(), func(o *recovery.Options) { o.FromBucket = "third" })
	if !fault.Is(err, fault.Misconfigured) {
		t.Errorf("got %v for a bucket that is not there", err)
	}
}

// TestRunTakesTheLifeInTheSecondary when an operator says that the primary is gone. When it comes back without a record of its
// own, the secondary's counts.
func TestRunTakesTheLifeInTheSecondary(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // its waits cost nothing
		w := newShop(t)
		d := w.Database()
		down := func(o *recovery.Options) { o.Archive.Places[0].Bucket = away{w.Primary} }
		if _, err := run(t, w, d, down); !fault.Is(err, fault.Retryable) {
			t.Fatalf("got %v, want it to wait for the primary", err)
		}
		if _, err := run(t, w, d, down, func(o *recovery.Options) { o.MintInSecondary = true }); err != nil {
			t.Fatal(fault.Line(err))
		}
		if d.State() != apply.StateLive {
			t.Errorf("the target is %q", d.State())
		}
		if lives := recoverytest.Lives(t, w); len(lives) != 2 || lives[0] != d.Try().Lineage {
			t.Errorf("the archive has the lives %v", lives)
		}
	})
}

// TestRunBringsItsLifeToBothBuckets: a call that dies between the two leaves one without the record, and the next call mends it.
func TestRunBringsItsLifeToBothBuckets(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	d := w.Database()
	died := false
	_, err := run(t, w, d, func(o *recovery.Options) {
		o.Archive.Places[1].Bucket = faulty.New(w.Secondary, func(c faulty.Call) *faulty.Fault {
			if c.Method == "Create" && strings.HasPrefix(c.Key, layout.Lineages) {
				died = true
			}
			if died {
				return &faulty.Fault{Fail: fault.New(fault.Retryable, "the store is away")}
			}
			return nil
		})
		o.Database = dyingInRestore{o.Database}
	})
	if err == nil || !died {
		t.Fatalf("got %v, the secondary was asked: %t", err, died)
	}
	mustRun(t, w, d)
	if _, err := w.Secondary.Stat(t.Context(), layout.Lineage(d.Try().Lineage)); err != nil {
		t.Errorf("the secondary has no record of the life: %v", err)
	}
}

// dyingInRestore is a database whose process dies when the restore begins.
type dyingInRestore struct{ recovery.Database }

func (dyingInRestore) Restore(context.Context, recovery.Base) (recovery.Restored, error) {
	return recovery.Restored{}, fault.New(fault.Bug, "killed")
}
