package applytest

import (
	"strings"
	"testing"
	"time"

	"tidemark/shared/apply"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/record"
)

// Subject is a target under test and the eyes and hands that the suite needs beside apply.Target. It is live under
// TargetID, nothing is applied, and it has one table, public.item (id text, the key; body text), that refuses the body
// Refused as poison. Two transactions can be open at once.
type Subject interface {
	apply.Target

	// Rows are the rows of item: body by id.
	Rows() map[string]string
	// Checkpoints is where the partitions of Flow stand.
	Checkpoints() position.Cut
	// Life and SetLife read and change the target as an operator or a recovery does: checkpoints go with it.
	Life() Life
	SetLife(life Life)
}

type exercise struct {
	name string
	run  func(*Bench)
}

// Exercise holds a target to what package apply relies on. open makes a subject for one test alone.
func Exercise(t *testing.T, open func(t *testing.T) Subject) {
	t.Helper()
	for _, list := range [][]exercise{positions(), transactions(), lives()} {
		for _, e := range list {
			t.Run(e.name, func(t *testing.T) {
				t.Parallel()
				e.run(NewBench(t, open(t), apply.Options{}))
			})
		}
	}
}

func span(from, until position.Offset) position.Range {
	return position.Range{From: from, Until: until}
}

// positions are the exercises of what is applied, skipped and refused by position.
func positions() []exercise {
	return []exercise{
		{"AppliesARepeatedBatchOnce", appliesARepeatedBatchOnce},
		{"AppliesOverlappingBatchesOnce", appliesOverlappingBatchesOnce},
		{"SkipsAnOldBatchAfterANewer", skipsAnOldBatchAfterANewer},
		{"A1_StopsBelowAHoleInsideARun", stopsBelowAHoleInsideARun},
		{"A1_RefusesAFirstBatchThatDoesNotBeginAtTheStart", refusesALateFirstBatch},
		{"A1_AHoleStopsItsOwnPartitionAlone", aHoleStopsItsOwnPartitionAlone},
		{"A2_RefusesToSkipWhatIsNewerThanWhatWasApplied", refusesToSkipNewerRecords},
		{"A2_SkipsNothingOfARunOfWhichOneRecordIsNewer", skipsNothingBesideANewerRecord},
		{"A2_SkipsWhatIsAsOldAsWhatWasApplied", skipsEqualTimes},
	}
}

func appliesARepeatedBatchOnce(b *Bench) {
	run := Items(P(0), span(0, 5), "a")
	b.MustDeliver(Want{Applied: 5, Next: position.Cut{P(0): 5}}, run)
	for range 2 {
		b.MustDeliver(Want{Skipped: 5, Next: position.Cut{P(0): 5}}, run)
	}
	b.MustStand(position.Cut{P(0): 5}, RowsOf(run))
}

func appliesOverlappingBatchesOnce(b *Bench) {
	early, first := Items(P(0), span(0, 5), "a"), Items(P(0), span(5, 10), "first")
	b.MustDeliver(Want{Applied: 5, Next: position.Cut{P(0): 5}}, early)
	b.MustDeliver(Want{Applied: 5, Next: position.Cut{P(0): 10}}, first)
	second := Items(P(0), span(7, 13), "second")
	b.MustDeliver(Want{Applied: 3, Skipped: 3, Next: position.Cut{P(0): 13}}, second)
	second.Records = second.Records[3:] // 7 to 9 keep what the first delivery gave them
	b.MustStand(position.Cut{P(0): 13}, RowsOf(early, first, second))
}

func skipsAnOldBatchAfterANewer(b *Bench) {
	run := Items(P(0), span(0, 15), "new")
	b.MustDeliver(Want{Applied: 15, Next: position.Cut{P(0): 15}}, run)
	b.MustDeliver(Want{Skipped: 5, Next: position.Cut{P(0): 5}}, Items(P(0), span(0, 5), "old"))
	b.MustStand(position.Cut{P(0): 15}, RowsOf(run))
}

func stopsBelowAHoleInsideARun(b *Bench) {
	early := Items(P(0), span(0, 5), "a")
	b.MustDeliver(Want{Applied: 5, Next: position.Cut{P(0): 5}}, early)
	run := Items(P(0), span(5, 9), "b")
	run.Records = append(run.Records[:2], run.Records[3])
	err := b.MustFail(Want{Class: fault.Gap, Applied: 2, Next: position.Cut{P(0): 7}}, run)
	mustName(b.t, err, "orders/0", "[7,8)")
	run.Records = run.Records[:2]
	b.MustStand(position.Cut{P(0): 7}, RowsOf(early, run))
}

func refusesALateFirstBatch(b *Bench) {
	err := b.MustFail(Want{Class: fault.Gap, Next: position.Cut{P(0): 7}}, Items(P(0), span(7, 9), "a"))
	mustName(b.t, err, "orders/0", "[0,7)")
	if next := b.Checkpoints()[P(0)]; next != 0 || len(b.Rows()) > 0 {
		b.t.Errorf("the target stands at %s with rows %v, want 0 and none", next, b.Rows())
	}
}

func aHoleStopsItsOwnPartitionAlone(b *Bench) {
	hole, whole := Items(P(0), span(3, 5), "a"), Items(P(1), span(0, 2), "b")
	err := b.MustFail(Want{Class: fault.Gap, Applied: 2, Next: position.Cut{P(0): 3, P(1): 2}}, hole, whole)
	mustName(b.t, err, "orders/0", "[0,3)")
	if got := b.Checkpoints()[P(1)]; got != 2 || len(b.Rows()) != 2 {
		b.t.Errorf("partition 1 stands at %s with rows %v, want 2", got, b.Rows())
	}
}

// later is a run whose records are newer than everything before, as after a topic was deleted and made anew.
func later(run record.Run) record.Run {
	for i := range run.Records {
		run.Records[i].Time = run.Records[i].Time.Add(time.Hour)
	}
	return run
}

func refusesToSkipNewerRecords(b *Bench) {
	run := Items(P(0), span(0, 10), "a")
	b.MustDeliver(Want{Applied: 10, Next: position.Cut{P(0): 10}}, run)
	err := b.MustFail(Want{Class: fault.Gap, Next: position.Cut{P(0): 0}}, later(Items(P(0), span(0, 3), "reborn")))
	mustName(b.t, err, "orders/0", "record 0", "checkpoint 10")
	b.MustStand(position.Cut{P(0): 10}, RowsOf(run))
}

func skipsNothingBesideANewerRecord(b *Bench) {
	run := Items(P(0), span(0, 10), "a")
	b.MustDeliver(Want{Applied: 10, Next: position.Cut{P(0): 10}}, run)
	mixed := Items(P(0), span(8, 12), "reborn")
	mixed.Records[1].Time = TimeOf(100)
	b.MustDeliver(Want{Class: fault.Gap, Next: position.Cut{P(0): 8}}, mixed)
	b.MustStand(position.Cut{P(0): 10}, RowsOf(run))
}

func skipsEqualTimes(b *Bench) {
	run := Items(P(0), span(0, 3), "a")
	for i := range run.Records {
		run.Records[i].Time = TimeOf(0).Add(time.Duration(2-i) * time.Millisecond) // the newest comes first
	}
	b.MustDeliver(Want{Applied: 3, Next: position.Cut{P(0): 3}}, run)
	b.MustDeliver(Want{Skipped: 3, Next: position.Cut{P(0): 3}}, run)
}

func mustName(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("got error %v, want %q in it", err, part)
		}
	}
}
