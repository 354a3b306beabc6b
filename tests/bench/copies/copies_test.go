package copies

import (
	"context"
	"os"
	"testing"

	"tidemark/localstack/services/servicestest"
	"tidemark/tests/bench/meter"
	"tidemark/tests/bench/original"
	"tidemark/tests/bench/result"
)

func TestMain(m *testing.M) { os.Exit(servicestest.Run(m)) }

const tiny = 200_000

// TestMeasure runs everything on a small database. Its tasks run in this process.
func TestMeasure(t *testing.T) {
	t.Parallel()
	server := servicestest.Database(t)
	var tasks []Task
	got, err := Measure(t.Context(), Options{
		URL: server, Size: 4 * tiny, Small: tiny, Seed: 7, Rounds: 2, Say: t.Logf,
		Child: func(ctx context.Context, task Task) (float64, error) {
			tasks = append(tasks, task)
			return float64(20 + task.Jobs), task.Run(ctx)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.MB < 0.7 || got.MB > 0.9 || len(got.Tables) != 5 {
		t.Errorf("got %v MB in the tables %+v, want about 0.8", got.MB, got.Tables)
	}
	for i, c := range got.Cells {
		for name, rate := range map[string]result.Spread{
			"COPY": c.Copy.Rate, "first": c.First.Rate, "again": c.Again.Rate, "first / COPY": c.Ratio, "again / COPY": c.AgainRatio,
			"stored": c.StoredMB, "client CPU": c.First.ClientCPU,
		} {
			if rate.Median <= 0 || rate.Min > rate.Median || rate.Median > rate.Max {
				t.Errorf("%d jobs, %s: %+v", c.Jobs, name, rate)
			}
		}
		if c.Jobs != i+1 || c.First.ServerCPU != nil {
			t.Errorf("cell %d is of %d jobs, and the CPU of a server that was not named is %v", i, c.Jobs, c.First.ServerCPU)
		}
		// The manifests and the ledger's own rows: little, and not nothing.
		if c.Sent.Median <= 0 || c.Sent.Median > 0.2 {
			t.Errorf("%d jobs: an unchanged database sent %v of the first backup", c.Jobs, c.Sent)
		}
		if c.Dump != nil && (c.Dump.Ratio.Median <= 0 || c.Dump.StoredMB.Median <= 0 || c.Dump.ClientCPU.Median <= 0) {
			t.Errorf("%d jobs: pg_dump took %+v", c.Jobs, c.Dump)
		}
	}
	if !meter.HasProc() {
		return
	}
	if want := 2 * (1 + 2*len(jobs())); len(tasks) != want {
		t.Errorf("got %d tasks, want %d", len(tasks), want)
	}
	if m := got.Memory; m.Idle.Median != 20 || m.Peaks[1].Large.Median != 22 || m.SmallMB >= m.LargeMB {
		t.Errorf("got %+v", m)
	}
}

// TestCheck shows that a round whose backup or COPY misses rows is no round.
func TestCheck(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d, err := original.Open(ctx, servicestest.Database(t), 7, tiny)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Drop(ctx); err != nil {
			t.Error(err)
		}
	})
	s, err := original.NewStore()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Remove(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Save(ctx, d.URL, 2); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(ctx, d); err != nil {
		t.Error(err)
	}
	if err := copyAll(ctx, d, 2); err != nil {
		t.Error(err)
	}
	d.Tables[1].Rows++
	if err := s.Check(ctx, d); err == nil {
		t.Error("a backup with a row too few is taken for whole")
	}
	if err := copyAll(ctx, d, 2); err == nil {
		t.Error("a COPY with a row too few is taken for whole")
	}
}
