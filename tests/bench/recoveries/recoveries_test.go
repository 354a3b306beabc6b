package recoveries

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/localstack/services/servicestest"
	"tidemark/tests/bench/load"
	"tidemark/tests/bench/result"
)

func TestMain(m *testing.M) { os.Exit(servicestest.Run(m)) }

const tiny = 900_000

// TestMeasure runs everything on a small database and a short tail.
func TestMeasure(t *testing.T) {
	t.Parallel()
	const records = 9_000
	got, err := Measure(t.Context(), Options{
		URL: servicestest.Database(t), Size: tiny, Records: records, Seed: 7, Rounds: 1, Say: t.Logf,
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.MB < 0.8 || got.MB > 1 || len(got.Tables) != 5 || len(got.Bases) != len(jobs()) || len(got.Replays) != 2 {
		t.Errorf("got %v MB in the tables %+v, %+v, %+v", got.MB, got.Tables, got.Bases, got.Replays)
	}
	positive := func(of string, spreads map[string]result.Spread) {
		t.Helper()
		for name, s := range spreads {
			if s.Median <= 0 || s.Min > s.Median || s.Median > s.Max {
				t.Errorf("%s, %s: %+v", of, name, s)
			}
		}
	}
	for i, c := range got.Bases {
		positive("base", map[string]result.Spread{
			"bare": c.Bare.Rate, "restore": c.Restore.Rate, "whole": c.Whole, "analyze": c.Analyze, "ratio": c.Ratio, "client CPU": c.Restore.ClientCPU,
		})
		if c.Jobs != i+1 || c.Whole.Median <= c.Restore.Seconds.Median || c.AnalyzedRatio.Median <= c.Ratio.Median || c.Bare.ServerCPU != nil {
			t.Errorf("cell %d: %+v", i, c)
		}
	}
	for _, c := range got.Replays {
		positive(c.Workload, map[string]result.Spread{
			"replay": c.Replay.Rate, "apply": c.Apply.Rate, "ratio": c.Ratio, "allocations": c.Replay.Allocations,
		})
		if c.Records != records || c.Batch != batch {
			t.Errorf("%s: %+v", c.Workload, c)
		}
	}
	for name, steps := range map[string][]result.Step{"sizes": got.Sizes, "tails": got.Tails} {
		first, last := steps[0], steps[2]
		positive(name, map[string]result.Spread{"first": first.Seconds, "last": last.Seconds, "a unit": last.PerUnit})
		if ratio := last.Units / first.Units; ratio < 8 || ratio > 10 {
			t.Errorf("%s: the largest is %v times the smallest", name, ratio)
		}
	}
}

// TestRound shows that a round that misses rows or records is no round.
func TestRound(t *testing.T) {
	t.Parallel()
	o := Options{URL: servicestest.Database(t), Seed: 7}
	b, err := o.newBase(t.Context(), tiny)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.remove(t.Context()); err != nil {
			t.Error(err)
		}
	})
	b.original.Tables[1].Rows++
	if _, err := o.restore(t.Context(), b, 1); err == nil {
		t.Error("a restore with a row too few is taken for whole")
	}
	if _, _, err := o.bare(t.Context(), b, 1); err == nil {
		t.Error("a COPY with a row too few is taken for whole")
	}
	tail, err := o.newTail(t.Context(), load.Mixed, 500)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tail.remove(t.Context()); err != nil {
			t.Error(err)
		}
	})
	tail.input.Want.Ns++
	if _, _, err := o.replay(t.Context(), tail); err == nil {
		t.Error("a replay to other rows is taken for right")
	}
	if _, err := o.live(t.Context(), tail); err == nil {
		t.Error("apply to other rows is taken for right")
	}
}

func TestStepsOf(t *testing.T) {
	t.Parallel()
	got := stepsOf([]float64{10, 30, 90}, [][]float64{{2, 2}, {4, 4}, {10, 9}}) // 1 s, and 0.1 s a unit
	want := []result.Step{
		{Units: 10, Seconds: result.SpreadOf([]float64{2, 2}), PerUnit: result.SpreadOf([]float64{1, 1})},
		{Units: 30, Seconds: result.SpreadOf([]float64{4, 4}), PerUnit: result.SpreadOf([]float64{2. / 3, 2. / 3})},
		{Units: 90, Seconds: result.SpreadOf([]float64{10, 9}), PerUnit: result.SpreadOf([]float64{5. / 9, 0.5})},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
