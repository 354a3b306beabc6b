package target_test

import (
	"strings"
	"testing"
	"time"

	"tidemark/shared/apply"
	"tidemark/shared/apply/applytest"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/postgres/target"
	"tidemark/shared/record"
)

const century = 100 * 365 * 24 * time.Hour

func named(r record.Record, identity string) record.Record {
	r.Headers = []record.Header{{Name: "event-id", Value: record.Present([]byte(identity))}}
	return r
}

func identified() apply.Options {
	return apply.Options{Identity: apply.IdentityOptions{Header: "event-id", Horizon: century}}
}

// event is a record without a key of its own to absorb it: a row of a keyless table, so that a double shows.
func event(offset position.Offset, identity string) record.Record {
	return named(applytest.At(offset, applytest.Put("fact", "what", identity)), identity)
}

const factDDL = "CREATE TABLE fact (what text);"

// TestIdentity is about events that their producers name (L4): whatever its offset, an event is applied once.
func TestIdentity(t *testing.T) {
	t.Parallel()
	t.Run("AppliesAnEventOnceUnderTwoOffsets", func(t *testing.T) {
		t.Parallel()
		s := open(t, factDDL, target.Options{})
		b := s.bench(identified())
		run := func(number int32, records ...record.Record) record.Run {
			return record.Run{Partition: applytest.P(number), Records: records}
		}
		deliver := func(applied, absorbed int, runs ...record.Run) {
			t.Helper()
			outcome, err := b.Deliver(runs...)
			if err != nil {
				t.Fatalf("deliver: %v", err)
			}
			got := 0
			for _, p := range outcome.Partitions {
				got += p.Absorbed
			}
			if outcome.Applied() != applied || got != absorbed {
				t.Errorf("applied %d, of these absorbed %d; want %d and %d", outcome.Applied(), got, applied, absorbed)
			}
		}
		deliver(3, 1, run(0, event(0, "a"), event(1, "b"), event(2, "a"))) // twice in one partition
		deliver(2, 1, run(0, event(3, "b"), event(4, "c")))                // again, later
		deliver(2, 2, run(1, event(0, "a"), event(1, "c")))                // through another partition
		deliver(2, 1, run(0, event(5, "d")), run(1, event(2, "d")))        // in two partitions of one delivery
		if got, want := s.db.Copy(t, "SELECT what FROM fact ORDER BY 1"), "a\nb\nc\nd\n"; got != want {
			t.Errorf("facts:\n%swant\n%s", got, want)
		}
	})
	t.Run("TwoAppliersApplyAnEventOnce", func(t *testing.T) {
		t.Parallel()
		s := open(t, factDDL, target.Options{Connections: 2})
		errs := make(chan error)
		for n := range int32(2) {
			b := s.bench(identified())
			go func() {
				_, err := b.Deliver(record.Run{Partition: applytest.P(n), Records: []record.Record{event(0, "same")}})
				errs <- err
			}()
		}
		for range 2 {
			if err := <-errs; err != nil {
				t.Errorf("deliver: %v", err)
			}
		}
		if got, want := s.db.Copy(t, "SELECT what FROM fact"), "same\n"; got != want {
			t.Errorf("facts: %q, want %q", got, want)
		}
	})
	t.Run("RefusesARecordWithoutOne", func(t *testing.T) {
		t.Parallel()
		s := open(t, factDDL, target.Options{})
		_, err := s.bench(identified()).Deliver(record.Run{
			Partition: applytest.P(0), Records: []record.Record{applytest.At(0, applytest.Put("fact", "what", "x"))},
		})
		if !fault.Is(err, fault.Poison) || !strings.Contains(err.Error(), "event-id") {
			t.Errorf("error %v, want poison that names the header", err)
		}
	})
	t.Run("HaltsAtARecordBeyondItsHorizon", func(t *testing.T) {
		t.Parallel()
		s := open(t, factDDL, target.Options{})
		options := identified()
		options.Identity.Horizon = time.Hour
		options.Now = func() time.Time { return applytest.TimeOf(0).Add(2 * time.Hour) }
		_, err := s.bench(options).Deliver(record.Run{Partition: applytest.P(0), Records: []record.Record{event(0, "a")}})
		if !fault.Is(err, fault.Misconfigured) || fault.HintOf(err) == "" {
			t.Errorf("error %v, want misconfigured with a hint", err)
		}
	})
}
