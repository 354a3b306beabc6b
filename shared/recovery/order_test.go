package recovery_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/shared/apply"
	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/recoverytest"
)

// bare is a world with flows of one topic each, of so many partitions, and a backup of nothing.
func bare(t *testing.T, partitions int32, flows ...string) *recoverytest.World {
	t.Helper()
	w := recoverytest.New(t, 3)
	for _, flow := range flows {
		w.Flows[flow] = []string{flow}
		w.Log.Create(flow, partitions)
	}
	w.Backup(t, w.Stable())
	return w
}

// TestReplayGoesByTime: across partitions no record is applied before an older one of another partition, however the reader
// gives them.
func TestReplayGoesByTime(t *testing.T) {
	t.Parallel()
	w := bare(t, 3, orders)
	c := newClock(w)
	for n := range 200 {
		p := at(int32(n * 7 % 5 % 3))
		w.Log.Append(p, c.tick(), recoverytest.Put(fmt.Sprintf("%s/%d", p, n%9), "x"))
	}
	d := w.Database()
	mustRun(t, w, d)
	batches := map[int]time.Time{} // the newest of each
	newest, last := time.Time{}, 0
	for _, a := range d.Applied() {
		if a.Batch != last {
			newest, last = batches[last], a.Batch
		}
		if a.Time.Before(newest) {
			t.Errorf("batch %d has a record of %s, and one of %s came before", a.Batch, a.Time, newest)
		}
		if batches[a.Batch].Before(a.Time) {
			batches[a.Batch] = a.Time
		}
	}
	if len(batches) < 10 {
		t.Errorf("got %d batches, want some to compare", len(batches))
	}
}

// TestReplayWaitsForWhatARecordNeeds: a record whose row is not there yet waits until another partition or another flow brings
// it, whatever their clocks say.
func TestReplayWaitsForWhatARecordNeeds(t *testing.T) {
	t.Parallel()
	const other = "customers"
	past, now := -time.Hour, time.Duration(0)
	for name, set := range map[string]func(w *recoverytest.World, put func(p position.Partition, ago time.Duration, value string)){
		"OfAnotherPartition": func(_ *recoverytest.World, put func(position.Partition, time.Duration, string)) {
			put(at(0), past, recoverytest.Needing("parent", recoverytest.Put("child", "1")))
			put(at(1), now, recoverytest.Put("parent", "1"))
		},
		"OfAPartitionThatIsReadMuchLater": func(w *recoverytest.World, put func(position.Partition, time.Duration, string)) {
			put(at(0), past, recoverytest.Needing("parent", recoverytest.Put("child", "1")))
			for n := range 60 {
				put(at(0), past, recoverytest.Put(fmt.Sprintf("0-%d", n), "1"))
				put(at(1), past, recoverytest.Put(fmt.Sprintf("1-%d", n), "1"))
			}
			put(at(1), now, recoverytest.Put("parent", "1"))
			w.Log.Control(at(1))
		},
		"OfEachOtherInTurn": func(_ *recoverytest.World, put func(position.Partition, time.Duration, string)) {
			for n := range 20 {
				put(at(0), now, recoverytest.Needing(fmt.Sprintf("b%d", n), recoverytest.Put(fmt.Sprintf("a%d", n), "1")))
				put(at(1), now, recoverytest.Put(fmt.Sprintf("b%d", n), "1"))
				put(at(1), now, recoverytest.Needing(fmt.Sprintf("a%d", n), recoverytest.Put(fmt.Sprintf("c%d", n), "1")))
			}
		},
		"OfAnotherFlow": func(_ *recoverytest.World, put func(position.Partition, time.Duration, string)) {
			put(position.Partition{Topic: other}, past, recoverytest.Put("grandparent", "1"))
			put(position.Partition{Topic: other}, past, recoverytest.Needing("parent", recoverytest.Put("child", "1")))
			put(at(0), past, recoverytest.Needing("grandparent", recoverytest.Put("parent", "1")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := bare(t, 2, orders, other)
			set(w, func(p position.Partition, ago time.Duration, value string) { w.Log.Append(p, w.Now().Add(ago), value) })
			mustRun(t, w, w.Database())
		})
	}
}

// TestReplayDoesNotWaitForWhatCannotCome: records that wait for each other, or for what nobody brings, stop the replay by their
// error. The same command says the same.
func TestReplayDoesNotWaitForWhatCannotCome(t *testing.T) {
	t.Parallel()
	const other = "customers"
	put := func(key string) string { return recoverytest.Put(key, "1") }
	needing := func(needed, key string) string { return recoverytest.Needing(needed, put(key)) }
	elsewhere := position.Partition{Topic: other}
	for name, values := range map[string]map[position.Partition][]string{
		"OfTwoPartitions": {at(0): {needing("b", "c"), put("a")}, at(1): {needing("a", "d"), put("b")}},
		"OfTwoFlows":      {at(0): {needing("b", "c"), put("a")}, elsewhere: {needing("a", "d"), put("b")}},
		"OfNobody":        {at(0): {put("a"), needing("b", "c")}, at(1): {put("d")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := bare(t, 2, orders, other)
			for p, all := range values {
				for _, value := range all {
					w.Log.Append(p, w.Now(), value)
				}
			}
			d := w.Database()
			for range 2 {
				p := w.Process(d, nil)
				_, err := runBy(t, p)
				if !errors.Is(err, apply.ErrWaits) || !fault.Is(err, fault.Poison) || fault.HintOf(err) == "" {
					t.Fatalf("got %v of class %s, hint %q", err, fault.ClassOf(err), fault.HintOf(err))
				}
				if n := len(p.Calls()); n > 300 || d.State() != apply.StateRestoring {
					t.Fatalf("got a database that is %q after %d calls", d.State(), n)
				}
			}
		})
	}
}

// TestReplayStopsAtWhatCannotApply: poison, and a database that stutters, stop it there; what was applied stays.
func TestReplayStopsAtWhatCannotApply(t *testing.T) {
	t.Parallel()
	t.Run("Poison", func(t *testing.T) {
		t.Parallel()
		w := bare(t, 2, orders)
		w.Log.Append(at(0), w.Now(), recoverytest.Put("a", "1"))
		w.Log.Append(at(0), w.Now(), recoverytest.Unreadable)
		d := w.Database()
		for range 2 {
			if _, err := run(t, w, d); !fault.Is(err, fault.Poison) || d.State() != apply.StateRestoring {
				t.Fatalf("got %v and a database that is %q", err, d.State())
			}
		}
		if d.Positions(orders)[at(0)] != 1 || d.Rows()["a"] != "1" {
			t.Errorf("got %v at %v, want the record before it", d.Rows(), d.Positions(orders))
		}
	})
	t.Run("ADatabaseThatStutters", func(t *testing.T) {
		t.Parallel()
		w := newShop(t)
		d := w.Database()
		_, err := runBy(t, w.Process(d, func(c writertest.Call) writertest.Form {
			if c.Method == "Apply" {
				return writertest.Error
			}
			return ""
		}))
		if !fault.Is(err, fault.Retryable) || d.State() != apply.StateRestoring {
			t.Fatalf("got %v and a database that is %q", err, d.State())
		}
		mustRun(t, w, d)
	})
}

// TestReplayIsBounded: while one partition gives nothing, what the others gave is applied before there is too much of it.
func TestReplayIsBounded(t *testing.T) {
	t.Parallel()
	const many = 100_100
	w := bare(t, 2, orders)
	w.Log.Most = 30_000
	for range many {
		w.Log.Append(at(0), w.Now(), recoverytest.Put("a", "1"))
	}
	w.Log.Append(at(1), w.Now().Add(-time.Minute), recoverytest.Put("b", "1"))
	var applied atomic.Bool
	w.Log.Held = func(p position.Partition) bool { return p == at(1) && !applied.Load() }
	d := w.Database()
	p := w.Process(d, func(c writertest.Call) writertest.Form {
		if c.Method == "Apply" {
			applied.Store(true)
		}
		return ""
	})
	var last recovery.Replayed
	report, err := runBy(t, p, func(o *recovery.Options) { o.OnReplay = func(_ string, c recovery.Replayed) { last = c } })
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	recoverytest.Recovered(t, w, d)
	if want := (recovery.Replayed{Applied: many + 1}); report.Replayed[orders] != want || last != want {
		t.Errorf("got %+v in the report and %+v in the end, want %+v", report.Replayed[orders], last, want)
	}
}

// TestReplayEnds where nothing but marks, aborted records and nothing at all is left.
func TestReplayEnds(t *testing.T) {
	t.Parallel()
	w := bare(t, 4, orders)
	w.Log.Control(at(0))
	w.Log.Aborted(at(1), w.Now(), recoverytest.Put("a", "never"))
	w.Log.Append(at(2), w.Now(), recoverytest.Put("b", "1"))
	w.Log.Append(at(2), w.Now(), recoverytest.Put("b", "2"))
	w.Log.Append(at(2), w.Now(), recoverytest.Put("c", "1"))
	w.Log.Compact(at(2), 0)
	for range 9 {
		w.Log.Control(at(2))
	}
	report := mustRun(t, w, w.Database())
	if got := report.Replayed[orders]; got != (recovery.Replayed{Applied: 2}) {
		t.Errorf("got %+v, want two records", got)
	}
}
