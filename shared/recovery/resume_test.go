package recovery_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/apply"
	"tidemark/shared/archive/writer"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/position"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/recoverytest"
	"tidemark/shared/recovery/refusal"
)

// TestRunAcceptsAGap: what an operator accepts is in the try, in the ledger and in the warnings, and replay starts behind it.
func TestRunAcceptsAGap(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	w.Log.Trim(at(0), 6)
	w.Log.Trim(at(2), w.Log.End(at(2)))
	d := w.Database()
	report := mustRun(t, w, d, allowGap)
	gap := func(p int32, from, until position.Offset) body.Gap {
		return body.Gap{
			Flow: shopFlow, Topic: orders, Partition: p, From: from, Until: until, How: "accepted", Actor: "test", Reason: "ticket 7",
			At: w.Now(),
		}
	}
	want := []body.Gap{gap(0, 4, 6), gap(2, 4, 6)}
	for what, got := range map[string][]body.Gap{
		"plan": report.Plan.Gaps, "try": report.Try.Accepted, "ledger": d.Gaps(), "claim": d.Try().Accepted,
	} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	wantWarning(t, report.Warnings, "orders/0 begins at 6", "accepted: ticket 7")
	if tally := report.Plan.Tallies[0]; tally.From != 6 || tally.Records() != 2 {
		t.Errorf("got %+v, want it to begin behind the gap", tally)
	}
	for _, a := range d.Applied() {
		if lies := a.Partition == at(0) && a.Offset < 6 || a.Partition == at(2); lies {
			t.Errorf("%s %s was applied", a.Partition, a.Offset)
		}
	}
}

// TestRunWhileTheLogLetsGo: retention takes what comes next at any time of a replay. Then the recovery stops by name, and the
// same command with a reason goes on. Nothing that the reader had is lost, and the gap is as small as it can be.
func TestRunWhileTheLogLetsGo(t *testing.T) {
	t.Parallel()
	world := recoverytest.New(t, 1)
	refused := 0
	for n := 1; ; n++ {
		ended := false
		synctest.Test(t, func(t *testing.T) {
			w := shop(t, world.Fork(1))
			d := w.Database()
			nexts := 0
			_, err := runBy(t, w.Process(d, func(c writertest.Call) writertest.Form {
				if c.Method == "Next" {
					if nexts++; nexts == n {
						for _, p := range w.Log.Partitions(orders) {
							w.Log.Trim(p, w.Log.End(p))
						}
					}
				}
				return ""
			}))
			if ended = nexts < n; ended {
				return
			}
			if err == nil {
				recoverytest.Recovered(t, w, d)
				return
			}
			refused++
			wantRefusal(t, err, refusal.LogTruncated, fault.Gap)
			if !errors.Is(err, recovery.ErrOutOfRange) || d.State() != apply.StateRestoring {
				t.Fatalf("next %d: got %v and a database that is %q", n, err, d.State())
			}
			_, again := run(t, w, d)
			wantRefusal(t, again, refusal.LogTruncated, fault.Gap)
			stood := d.Positions(shopFlow)
			report := mustRun(t, w, d, allowGap)
			for _, g := range d.Gaps() {
				if p := (position.Partition{Topic: g.Topic, Number: g.Partition}); g.From != stood[p] || g.Until != w.Log.End(p) {
					t.Errorf("next %d: got the gap [%d,%d) of %s, which stood at %s", n, g.From, g.Until, p, stood[p])
				}
			}
			if len(report.Plan.Gaps) == 0 {
				t.Errorf("next %d: the plan has no gap", n)
			}
			mustRun(t, w, d) // it has ended, and says so without a reason too
		})
		if ended {
			break
		}
	}
	if refused == 0 {
		t.Error("retention stopped nothing")
	}
}

// TestRunKeepsWhatTheReaderHad: records of one partition that wait for another's when the log lets go are applied.
func TestRunKeepsWhatTheReaderHad(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	d := w.Database()
	w.Log.Most = 2
	w.Log.Held = func(p position.Partition) bool { return p != at(0) }
	read := 0
	p := w.Process(d, func(c writertest.Call) writertest.Form {
		if c.Method == "Next" {
			if read++; read == 8 { // the first partition has been read by now
				w.Log.Trim(at(1), w.Log.End(at(1)))
			}
		}
		return ""
	})
	w.Log.Waits = false
	for range 40 {
		w.Log.Append(at(0), w.Now(), recoverytest.Put("0-0", "more"))
	}
	_, err := runBy(t, p)
	wantRefusal(t, err, refusal.LogTruncated, fault.Gap)
	if got := d.Positions(shopFlow)[at(0)]; got <= 4 {
		t.Errorf("%s stands at %s: what was read was thrown away", at(0), got)
	}
	w.Log.Held = nil
	mustRun(t, w, d, allowGap)
}

// TestRunWhileTheLogChanges: what becomes of a topic in flight has the name that it has beforehand.
func TestRunWhileTheLogChanges(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(w *recoverytest.World)
		want   refusal.Name
	}{
		"MadeAnew":  {func(w *recoverytest.World) { w.Log.Create(orders, 4) }, refusal.TopicRecreated},
		"Gone":      {func(w *recoverytest.World) { w.Log.Drop(orders) }, refusal.PartitionVanished},
		"Shorter":   {func(w *recoverytest.World) { w.Log.Truncate(at(0), 3) }, refusal.LogShorterThanManifest},
		"NoEndLeft": {func(w *recoverytest.World) { w.Log.Truncate(at(0), 5) }, refusal.LogShorterThanManifest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newShop(t)
			d := w.Database()
			changed := false
			_, err := runBy(t, w.Process(d, func(call writertest.Call) writertest.Form {
				if call.Method == "Next" && !changed {
					changed = true
					c.change(w)
				}
				return ""
			}))
			if name == "NoEndLeft" { // the reader waits for what the log had; the same command sees why
				if err == nil || d.State() == apply.StateLive {
					t.Fatalf("got %v and a database that is %q", err, d.State())
				}
				_, err = run(t, w, d)
			}
			wantRefusal(t, err, c.want, fault.Gap)
			_, err = run(t, w, d)
			wantRefusal(t, err, c.want, fault.Gap)
		})
	}
}

// stopped is a shop whose recovery was killed at a call, and its database.
func stopped(t *testing.T, plan writertest.Plan) (*recoverytest.World, *recoverytest.Database) {
	t.Helper()
	w := newShop(t)
	d := w.Database()
	if _, err := runBy(t, w.Process(d, plan)); err == nil {
		t.Fatal("the first call went through")
	}
	return w, d
}

// TestRunGoesOnWhereItStood: only what is left to replay must still be in the log.
func TestRunGoesOnWhereItStood(t *testing.T) {
	t.Parallel()
	t.Run("ThoughWhatIsInWasLetGo", func(t *testing.T) {
		t.Parallel()
		applies := 0
		w, d := stopped(t, func(c writertest.Call) writertest.Form {
			if c.Method == "Apply" {
				if applies++; applies == 4 {
					return writertest.KillAfter
				}
			}
			return ""
		})
		moved := 0
		for p, offset := range d.Positions(shopFlow) {
			if offset > 4 {
				moved++
			}
			w.Log.Trim(p, offset)
		}
		if moved == 0 {
			t.Fatal("the first call applied nothing")
		}
		report := mustRun(t, w, d)
		if len(report.Plan.Gaps) > 0 {
			t.Errorf("got the gaps %v, want none", report.Plan.Gaps)
		}
	})
	t.Run("ThoughTheTopicIsGoneAndAllOfItIsIn", func(t *testing.T) {
		t.Parallel()
		w := recoverytest.New(t, 1)
		w.Flows[shopFlow] = []string{orders}
		w.Log.Create(orders, 1)
		w.Log.Append(at(0), w.Now(), recoverytest.Put("a", "1"))
		w.Backup(t, w.Stable())
		w.Log.Append(at(0), w.Now(), recoverytest.Put("b", "1"))
		want, d := w.State(w.Stable()), w.Database()
		if _, err := runBy(t, w.Process(d, stopAt("Settle"))); err == nil {
			t.Fatal("the first call went through")
		}
		w.Log.Drop(orders)
		if _, err := run(t, w, d); err != nil || d.State() != apply.StateLive {
			t.Fatalf("got %v and a database that is %q", err, d.State())
		}
		if diff := cmp.Diff(want, d.Rows()); diff != "" {
			t.Errorf("rows (-want +got):\n%s", diff)
		}
	})
	t.Run("ThoughPartitionsWereAddedSince", func(t *testing.T) {
		t.Parallel()
		w, d := stopped(t, stopAt("Apply"))
		w.Log.Add(orders, 1)
		for range 3 {
			w.Log.Append(at(4), w.Now(), recoverytest.Put("4-0", "x"))
		}
		w.Log.Trim(at(4), 2) // that it lost something is for the live function to say
		if report := mustRun(t, w, d); len(report.Plan.Tallies) != 4 {
			t.Errorf("got %d partitions in the plan, want those of the try", len(report.Plan.Tallies))
		}
		if got, has := d.Positions(shopFlow)[at(4)]; has {
			t.Errorf("%s stands at %s, want it left to the live function", at(4), got)
		}
	})
	t.Run("WithAGapThatGrewBeforeTheBaseWasIn", func(t *testing.T) {
		t.Parallel()
		w := newShop(t)
		d := w.Database()
		w.Log.Trim(at(1), 5)
		if _, err := runBy(t, w.Process(d, stopAt("Restore")), allowGap); err == nil {
			t.Fatal("the first call went through")
		}
		mustKeep := d.Try().Accepted
		w.Log.Trim(at(1), 6)
		_, err := run(t, w, d)
		wantRefusal(t, err, refusal.LogTruncated, fault.Gap)
		report := mustRun(t, w, d, allowGap)
		if got := report.Plan.Gaps; len(got) != 2 || cmp.Diff(mustKeep, got[:1]) != "" || got[1].From != 5 || got[1].Until != 6 {
			t.Errorf("got the gaps %v, want the accepted one and [5,6)", got)
		}
	})
	t.Run("ThoughItsManifestShowsAnotherHistory", func(t *testing.T) {
		t.Parallel()
		w := newShop(t)
		first, beyond := w.Database(), writer.Committed{}
		_, err := runBy(t, w.Process(first, func(c writertest.Call) writertest.Form {
			if c.Method == "Claim" { // the old target lives, and goes on beyond what the new one will have from it
				w.Log.Append(at(0), w.Now(), recoverytest.Put("0-0", "beyond"))
				w.Log.Append(at(0), w.Now(), recoverytest.Put("0-0", "beyond"))
				beyond = w.Backup(t, w.Stable())
			}
			return ""
		}))
		if err != nil {
			t.Fatal(fault.Line(err))
		}
		d := w.Database()
		asked := func(o *recovery.Options) { o.Manifest = beyond.ID.Run }
		if _, err := run(t, w, d, asked); !fault.Is(err, fault.Misconfigured) || d.State() != "" {
			t.Fatalf("got %v and a database that is %q, want the manifest refused", err, d.State())
		}
		if _, err := runBy(t, w.Process(d, afterClaim), asked, allowOlder); err == nil {
			t.Fatal("the first call went through")
		}
		wantBase(t, mustRun(t, w, d, asked), beyond.ID)
	})
	t.Run("ThoughItsManifestIsGoneWhenItHasEnded", func(t *testing.T) {
		t.Parallel()
		w := newShop(t)
		d := w.Database()
		mustRun(t, w, d)
		wipe(t, w, "", nil)
		report, err := run(t, w, d)
		if err != nil || !report.Plan.Settled {
			t.Fatalf("got %v, settled: %t", err, report.Plan.Settled)
		}
		wantWarning(t, report.Warnings, "ended before")
	})
}

// TestRunEndsWithItsContext: whenever its context ends, a recovery does too, and the same command goes on.
func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	world := recoverytest.New(t, 1)
	calls, _, _ := callsOfARecovery(t, world)
	for n := range calls {
		synctest.Test(t, func(t *testing.T) { // one that waits for ever is found out
			w := shop(t, world.Fork(1))
			d := w.Database()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			p := w.Process(d, beside(n+1, cancel))
			_, err := recovery.Run(ctx, p.Options(t))
			if err == nil && n+1 < len(calls) || len(p.Calls()) > n+60 {
				t.Fatalf("call %d %+v: got %v after %d calls", n+1, calls[n], err, len(p.Calls()))
			}
			if err == nil {
				recoverytest.Recovered(t, w, d)
			}
			if p.Open() != 0 {
				t.Fatalf("call %d %+v: a reader was left open", n+1, calls[n])
			}
			mustRun(t, w, d)
		})
	}
	t.Run("AlsoWhileItWaits", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := shop(t, world.Fork(1))
			w.Log.Held, w.Log.Waits = func(position.Partition) bool { return true }, true
			d := w.Database()
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() {
				_, err := recovery.Run(ctx, w.Process(d, nil).Options(t))
				ended <- err
			}()
			synctest.Wait()
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			w.Log.Held = nil
			mustRun(t, w, d)
		})
	})
}

// TestRunLeavesWhatCameLater: records behind the end that was captured are the live function's.
func TestRunLeavesWhatCameLater(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	d := w.Database()
	ends := w.Stable()[shopFlow]
	p := w.Process(d, func(c writertest.Call) writertest.Form {
		if c.Method == "Next" {
			for number := range int32(4) {
				w.Log.Append(at(number), w.Now(), recoverytest.Put(fmt.Sprintf("%d-late", number), "x"))
			}
		}
		return ""
	})
	if _, err := runBy(t, p); err != nil {
		t.Fatal(fault.Line(err))
	}
	recoverytest.Recovered(t, w, d)
	for _, a := range d.Applied() {
		if a.Offset >= ends[a.Partition] {
			t.Errorf("%s %s was applied, behind the end %s", a.Partition, a.Offset, ends[a.Partition])
		}
	}
}

// TestPrepareSaysWhatIsToBeDone: a plan writes nothing, counts what is to be replayed and tells of open transactions.
func TestPrepareSaysWhatIsToBeDone(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	w.Log.Begin(at(2))
	w.Log.Append(at(2), w.Now(), recoverytest.Put("2-0", "open"))
	d := w.Database()
	p := w.Process(d, nil)
	plan, err := recovery.Prepare(t.Context(), p.Options(t))
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	if got := plan.Records(); got != 4+5+2 {
		t.Errorf("got %d offsets to replay, want 11", got)
	}
	wantWarning(t, plan.Warnings, "transactions are open in orders/2: [6,7)")
	for _, c := range p.Calls() {
		if !recoverytest.Reads(c) {
			t.Errorf("a plan writes: %+v", c)
		}
	}
	if d.Try() != nil {
		t.Error("a plan claims the database")
	}
}
