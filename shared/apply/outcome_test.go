package apply_test

import (
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/apply"
	"tidemark/shared/apply/applytest"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/record"
)

// TestMain gives the generated histories a fixed number and a seed that is known before anything fails. Flags of the
// command line win.
func TestMain(m *testing.M) {
	flag.Parse()
	set := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { set[f.Name] = true })
	for name, value := range map[string]string{
		"rapid.checks": "300", "rapid.seed": strconv.FormatUint(rand.Uint64(), 10), "rapid.nofailfile": "true", //nolint:gosec // a seed
	} {
		if err := flag.Set(name, value); !set[name] && err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

func clock() time.Time { return time.Now() }

func batch(runs ...record.Run) record.Batch { return runs }

// TestOutcome: what is done is told beside what is not, and the fault that needs a person soonest speaks for all.
func TestOutcome(t *testing.T) {
	t.Parallel()
	urgent := []fault.Class{
		fault.Retryable, fault.UnknownOutcome, fault.Fenced, fault.Poison, fault.Unclassified, fault.Gap,
		fault.Misconfigured, fault.Corrupt, fault.Bug,
	}
	t.Run("TheMostUrgentClassWins", func(t *testing.T) {
		t.Parallel()
		for i, low := range urgent {
			for _, high := range urgent[i:] {
				for _, order := range [][]fault.Class{{low, high}, {high, low}, {low, high, low}} {
					var o apply.Outcome
					for n, class := range order {
						o.Partitions = append(o.Partitions, apply.PartitionOutcome{Partition: p(int32(n)), Err: fault.New(class, "x")})
					}
					if got := fault.ClassOf(o.Err()); got != high {
						t.Errorf("%v: got %s, want %s", order, got, high)
					}
				}
			}
		}
	})
	t.Run("AnErrorThatNobodyClassifiedIsNeverLost", func(t *testing.T) {
		t.Parallel()
		plain := errors.New("plain")
		o := apply.Outcome{Partitions: []apply.PartitionOutcome{{Err: nil}, {Err: plain}, {Err: nil}}}
		if !errors.Is(o.Err(), plain) {
			t.Errorf("got %v, want it", o.Err())
		}
	})
	t.Run("NoErrorMeansAllOfItIsApplied", func(t *testing.T) {
		t.Parallel()
		o := apply.Outcome{Partitions: []apply.PartitionOutcome{
			{Partition: p(0), Next: 5, Applied: 3, Skipped: 2}, {Partition: p(1), Next: 7, Applied: 7},
		}}
		if o.Err() != nil || o.Applied() != 10 || o.Skipped() != 2 {
			t.Errorf("got %d applied, %d skipped, error %v", o.Applied(), o.Skipped(), o.Err())
		}
		if diff := cmp.Diff(position.Cut{p(0): 5, p(1): 7}, o.Next()); diff != "" {
			t.Errorf("next (-want +got):\n%s", diff)
		}
	})
	t.Run("IsValidBesideAnError", func(t *testing.T) {
		t.Parallel()
		b := applytest.NewBench(t, applytest.NewMemory(), apply.Options{MaxRows: 2})
		hole := items(2, 0, 4)
		hole.Records[3].Offset = 9
		outcome, err := b.Deliver(items(0, 0, 5), spoiled(items(1, 0, 5), 3), hole)
		want := applytest.Want{Class: fault.Gap, Applied: 5 + 3 + 3, Next: position.Cut{p(0): 5, p(1): 3, p(2): 3}}
		b.Check(want, outcome, err)
		for n, class := range []fault.Class{fault.Unclassified, fault.Poison, fault.Gap} {
			if got := outcome.Partitions[n]; fault.ClassOf(got.Err) != class || got.Partition != p(int32(n)) {
				t.Errorf("partition %d: got %+v, want %s", n, got, class)
			}
		}
	})
	t.Run("AnEmptyBatchIsNothing", func(t *testing.T) {
		t.Parallel()
		b := applytest.NewBench(t, applytest.NewMemory(), apply.Options{})
		outcome, err := b.Deliver()
		b.Check(applytest.Want{Next: position.Cut{}}, outcome, err)
		outcome, err = b.Deliver(record.Run{Partition: p(0)})
		b.Check(applytest.Want{Next: position.Cut{p(0): 0}}, outcome, err)
		b.MustStand(position.Cut{}, map[string]string{})
	})
}

func TestNew(t *testing.T) {
	t.Parallel()
	good := apply.Options{Flow: "f", TargetID: applytest.TargetID, Topics: []string{"t"}, Now: clock}
	for _, c := range []struct {
		name  string
		class fault.Class
		alter func(*apply.Options)
	}{
		{"NoFlow", fault.Bug, func(o *apply.Options) { o.Flow = "" }},
		{"NoClock", fault.Bug, func(o *apply.Options) { o.Now = nil }},
		{"ANegativeLimitOfRows", fault.Bug, func(o *apply.Options) { o.MaxRows = -1 }},
		{"ANegativeLimitOfBytes", fault.Bug, func(o *apply.Options) { o.MaxBytes = -1 }},
		{"ANegativeReserve", fault.Bug, func(o *apply.Options) { o.Reserve = -1 }},
		{"NoTopics", fault.Misconfigured, func(o *apply.Options) { o.Topics = nil }},
		{"NoTarget", fault.Misconfigured, func(o *apply.Options) { o.TargetID = "" }},
		{"ATargetThatCannotBeNamed", fault.Misconfigured, func(o *apply.Options) { o.TargetID = "A b" }},
	} {
		t.Run("Refuses"+c.name, func(t *testing.T) {
			t.Parallel()
			options := good
			c.alter(&options)
			m := applytest.NewMemory()
			if _, err := apply.New(m, applytest.Decoder{Catalog: m}, options); !fault.Is(err, c.class) {
				t.Errorf("got %v (%s), want %s", err, fault.ClassOf(err), c.class)
			}
		})
	}
	m := applytest.NewMemory()
	if _, err := apply.New(m, applytest.Decoder{Catalog: m}, good); err != nil {
		t.Errorf("the good options: %v", err)
	}
}
