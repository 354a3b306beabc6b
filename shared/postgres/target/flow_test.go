package target_test

import (
	"testing"
	"time"

	"tidemark/shared/apply"
	"tidemark/shared/apply/applytest"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/postgres/ledger"
	"tidemark/shared/postgres/postgrestest"
	"tidemark/shared/postgres/target"
	"tidemark/shared/record"
)

// start moves partition 0 of the suite's flow as an operator does.
func (s *subject) start(at position.Offset, reason string) {
	s.t.Helper()
	_, err := ledger.NewOperator(s.db.Conn, postgrestest.Schema, "ops").StartFlow(s.t.Context(), postgrestest.TargetID,
		applytest.Flow, []ledger.Start{{Partition: applytest.P(0), At: at}}, reason)
	if err != nil {
		s.t.Fatalf("start the flow at %s: %v", at, err)
	}
}

// reborn is a run that is newer than any act of this test.
func reborn(run record.Run) record.Run {
	for i := range run.Records {
		run.Records[i].Time = time.Now().Add(time.Hour).Truncate(time.Millisecond)
	}
	return run
}

// TestFlowStart is about what an operator's start means to the deliveries that follow. The event source knows nothing of
// it: it goes on with the batch that it has.
func TestFlowStart(t *testing.T) {
	t.Parallel()
	t.Run("BackAppliesTheRecordsAgain", func(t *testing.T) {
		t.Parallel()
		s := open(t, "", target.Options{})
		b := s.bench(apply.Options{})
		b.MustDeliver(applytest.Want{Applied: 5, Next: at0(5)}, items(0, 5, "once"))
		s.start(2, "the rows were changed by hand")
		b.MustDeliver(applytest.Want{Applied: 3, Next: at0(5)}, items(2, 5, "again"))
		b.MustStand(at0(5), applytest.RowsOf(items(0, 2, "once"), items(2, 5, "again")))
	})
	t.Run("BackSkipsWhatLiesBelowIt", func(t *testing.T) {
		t.Parallel()
		s := open(t, "", target.Options{})
		b := s.bench(apply.Options{})
		b.MustDeliver(applytest.Want{Applied: 5, Next: at0(5)}, items(0, 5, "once"))
		s.start(2, "the rows were changed by hand")
		b.MustDeliver(applytest.Want{Applied: 3, Skipped: 2, Next: at0(5)}, items(0, 5, "again"))
		b.MustStand(at0(5), applytest.RowsOf(items(0, 2, "once"), items(2, 5, "again")))
	})
	// The act is the way out of a record that never passes; the batch that holds it keeps coming.
	t.Run("ForwardLetsTheHaltedBatchGoOn", func(t *testing.T) {
		t.Parallel()
		s := open(t, "", target.Options{})
		b := s.bench(apply.Options{})
		halted := items(0, 5, "a")
		halted.Records[2].Value = applytest.Unreadable()
		b.MustDeliver(applytest.Want{Class: fault.Poison, Applied: 2, Next: at0(2)}, halted)
		s.start(3, "the producer sent rubbish")
		halted.Records = halted.Records[2:]
		b.MustDeliver(applytest.Want{Applied: 2, Skipped: 1, Next: at0(5)}, halted)
		b.MustStand(at0(5), applytest.RowsOf(items(0, 2, "a"), items(3, 5, "a")))
	})
	// An event source that begins at the start of the log delivers what lies before the flow's own start.
	t.Run("AnOriginSkipsWhatLiesBeforeIt", func(t *testing.T) {
		t.Parallel()
		s := open(t, "", target.Options{})
		s.start(3, "")
		b := s.bench(apply.Options{})
		b.MustDeliver(applytest.Want{Applied: 2, Skipped: 3, Next: at0(5)}, items(0, 5, "a"))
		b.MustStand(at0(5), applytest.RowsOf(items(3, 5, "a")))
	})
	t.Run("RecordsNewerThanTheActAreStillAGap", func(t *testing.T) {
		t.Parallel()
		s := open(t, "", target.Options{})
		b := s.bench(apply.Options{})
		b.MustDeliver(applytest.Want{Applied: 5, Next: at0(5)}, items(0, 5, "a"))
		s.start(9, "retention ate it")
		b.MustDeliver(applytest.Want{Class: fault.Gap, Next: at0(0)}, reborn(items(0, 3, "reborn")))
		b.MustStand(at0(9), applytest.RowsOf(items(0, 5, "a")))
	})
	t.Run("AHoleAboveTheStartIsStillAGap", func(t *testing.T) {
		t.Parallel()
		s := open(t, "", target.Options{})
		s.start(7, "")
		b := s.bench(apply.Options{})
		mustBe(t, b.MustFail(applytest.Want{Class: fault.Gap, Next: at0(8)}, items(8, 9, "a")), fault.Gap, "[7,8)")
		b.MustDeliver(applytest.Want{Applied: 2, Next: at0(9)}, items(7, 9, "a"))
	})
	t.Run("AStartWaitsForTheTransactionUnderWay", func(t *testing.T) {
		t.Parallel()
		s := open(t, "", target.Options{})
		s.bench(apply.Options{}).MustDeliver(applytest.Want{Applied: 1, Next: at0(1)}, items(0, 1, "a"))
		other, done := &subject{t: t, db: s.session()}, make(chan struct{})
		b := s.between(func() {
			go func() {
				defer close(done)
				other.start(9, "retention ate it")
			}()
			s.awaitWaiter()
		})
		b.MustDeliver(applytest.Want{Applied: 4, Next: at0(5)}, items(1, 5, "a"))
		<-done
		b.MustStand(at0(9), applytest.RowsOf(items(0, 5, "a")))
		got := s.db.Copy(t, "SELECT from_offset, until_offset, how FROM tidemark.gap")
		if got != "5\t9\taccepted\n" {
			t.Errorf("the accepted gap: got %q, want [5,9)", got)
		}
	})
}

// TestRecordTime is about times that a producer may claim: whatever it is, the record applies once and its redelivery is
// old news.
func TestRecordTime(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]time.Time{
		"None":                {},
		"TheEpoch":            time.UnixMilli(0),
		"BeforeTheEpoch":      time.UnixMilli(-1),
		"AMillisecond":        time.UnixMilli(1767323045123),
		"TheYear9999":         time.Date(9999, 12, 31, 23, 59, 59, 999_000_000, time.UTC),
		"MicrosecondsAsMilli": time.UnixMilli(1767323045123000),
		"TheLargest":          time.UnixMilli(1<<63 - 1),
		"TheSmallest":         time.UnixMilli(-1 << 63),
		"AnotherZone":         time.Date(2026, 1, 1, 0, 0, 0, 0, time.FixedZone("east", 14*3600)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t, "", target.Options{}).bench(apply.Options{})
			run := items(0, 2, "a")
			run.Records[0].Time, run.Records[1].Time = at, at
			b.MustDeliver(applytest.Want{Applied: 2, Next: at0(2)}, run)
			b.MustDeliver(applytest.Want{Skipped: 2, Next: at0(2)}, run)
			b.MustDeliver(applytest.Want{Applied: 1, Next: at0(3)}, items(2, 3, "b"))
		})
	}
}
