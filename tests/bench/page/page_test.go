package page_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/tests/bench/page"
	"tidemark/tests/bench/result"
)

func at(median float64) result.Spread {
	return result.Spread{Median: median, Min: median * 0.9, Max: median * 1.1}
}

func side(rate float64) result.Side {
	server := at(5)
	return result.Side{Rate: at(rate), ClientCPU: at(7.5), ServerCPU: &server, Allocations: at(1.02), Bytes: at(2000)}
}

func stage(name string, batch int, nanoseconds, allocations float64) result.Stage {
	return result.Stage{
		Stage: name, Workload: "insert", Batch: batch,
		Nanoseconds: at(nanoseconds), Allocations: at(allocations), Bytes: at(1147),
	}
}

func sample() result.Results {
	idle, once, tenfold, resident := at(12), at(20), at(21), at(61)
	machine := result.Machine{
		Commit: "abc1234", Date: "2026-11-29", Go: "go1.26.8", PostgreSQL: "15.18", Pgx: "v5.13.0", Platform: "linux/amd64",
		Cores: 2, Seed: 7, Rounds: 5,
	}
	backup := sampleBackup(machine)
	return result.Results{
		Machine: machine,
		Inputs: []result.Input{
			{Workload: "insert", RowBytes: 188, ValueBytes: 700, Inserts: 1},
			{
				Workload: "mixed", RowBytes: 187, ValueBytes: 690, Inserts: 0.54, Updates: 0.16, Deletes: 0.15, Tombstones: 0.15,
				KeysARecord: 0.67,
			},
		},
		Cells: []result.Cell{
			{Workload: "insert", Batch: 1000, Records: 250000, Apply: side(140000), Copy: side(250000), Ratio: at(0.56)},
			{Workload: "mixed", Batch: 10000, Records: 250000, Apply: side(90000), Copy: side(250000), Ratio: at(0.36)},
			{
				Workload: "insert", Batch: 1000, Events: true, Records: 250000,
				Apply: side(90000), Copy: side(250000), Ratio: at(1.36),
			},
		},
		Stages: []result.Stage{
			stage(result.StageEvent, 1000, 2500, 0.04),
			stage(result.StageDecode, 1000, 2600, 0.02),
			stage(result.StageGroup, 1, 9000, 29),
			stage(result.StageGroup, 1000, 3300, 1.08),
		},
		Memory: result.Memory{Batch: 1000, Records: 50000, Idle: &idle, Once: &once, Tenfold: &tenfold},
		Start: result.Start{
			BinaryMB: 9.3, Starts: 21, Handler: at(10), Reply: at(34), EventMB: 6, EventRecords: 5900, Resident: &resident,
		},
		Backup: &backup, Recovery: sampleRecovery(machine, backup.Tables),
	}
}

func sampleRecovery(m result.Machine, tables []result.BackupTable) *result.Recovery {
	of := func(rate float64) result.BackupSide {
		server := at(7.5)
		return result.BackupSide{Seconds: at(256 / rate), Rate: at(rate), ClientCPU: at(6.2), ServerCPU: &server}
	}
	cell := func(jobs int, share float64) result.BaseCell {
		return result.BaseCell{
			Jobs: jobs, Bare: of(100), Restore: of(100 * share), Whole: at(3), Analyze: at(0.5), Ratio: at(share), AnalyzedRatio: at(share + 0.1),
		}
	}
	steps := func(unit, each float64) []result.Step {
		return []result.Step{
			{Units: unit, Seconds: at(0.5), PerUnit: at(1)},
			{Units: 3 * unit, Seconds: at(1), PerUnit: at(0.66)},
			{Units: 9 * unit, Seconds: at(2.5), PerUnit: at(each)},
		}
	}
	return &result.Recovery{
		Machine: m, Tables: tables, MB: 256, Bases: []result.BaseCell{cell(1, 0.9), cell(2, 0.89)},
		Replays: []result.ReplayCell{
			{Workload: "insert", Records: 270_000, Batch: 10_000, Replay: side(95_000), Apply: side(100_000), Ratio: at(0.95)},
			{Workload: "mixed", Records: 270_000, Batch: 10_000, Replay: side(80_000), Apply: side(90_000), Ratio: at(0.89)},
		},
		Sizes: steps(28.4, 0.56), Tails: steps(30_000, 1.11),
	}
}

func sampleBackup(m result.Machine) result.Backup {
	side := func(rate float64) result.BackupSide {
		server := at(7.5)
		return result.BackupSide{Seconds: at(1000 / rate), Rate: at(rate), ClientCPU: at(6.2), ServerCPU: &server}
	}
	cell := func(jobs int, ratio, sent, beside float64) result.BackupCell {
		return result.BackupCell{
			Jobs: jobs, Copy: side(200), First: side(200 * ratio), Again: side(190), Ratio: at(ratio), AgainRatio: at(0.95),
			StoredMB: at(321), Sent: at(sent),
			Dump: &result.Dump{BackupSide: side(50), Ratio: at(beside), StoredMB: at(400)},
		}
	}
	return result.Backup{
		Machine: m, Level: 1, MB: 1000, Cells: []result.BackupCell{cell(1, 0.9, 0.0001, 3.2), cell(2, 0.69, 0.01, 1)},
		Tables: []result.BackupTable{
			{Name: "article", Columns: "id bigint PRIMARY KEY, body text", About: "long texts", Rows: 300_000, MB: 600},
			{Name: "session", Columns: "id uuid PRIMARY KEY", About: "keys at random", Rows: 4_000_000, MB: 400},
		},
		Memory: &result.BackupMemory{
			Idle: at(20), SmallMB: 62.5, LargeMB: 1000,
			Peaks: []result.BackupPeak{{Jobs: 1, Small: at(150), Large: at(170)}, {Jobs: 2, Small: at(300), Large: at(321)}},
		},
	}
}

func TestPage(t *testing.T) {
	t.Parallel()
	t.Run("IsTheGoldenOne", func(t *testing.T) {
		t.Parallel()
		const golden = "testdata/page.md"
		got := page.Of(sample())
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("JudgesByTheMedian", func(t *testing.T) {
		t.Parallel()
		for median, want := range map[float64]string{0.5: "| met |", 0.49: "| **not met** |"} {
			r := sample()
			r.Cells = r.Cells[:1]
			r.Cells[0].Ratio = result.Spread{Median: median, Min: 0.1, Max: 0.9}
			if text := page.Of(r); !strings.Contains(text, "(0.10–0.90) | ≥ 0.50 "+want) {
				t.Errorf("median %v: no %q in\n%s", median, want, text)
			}
		}
	})
	t.Run("SaysWhatWasNotMeasured", func(t *testing.T) {
		t.Parallel()
		r := sample()
		r.Machine.Short = true
		r.Memory, r.Start.Resident = result.Memory{}, nil
		for i := range r.Cells {
			r.Cells[i].Apply.ServerCPU, r.Cells[i].Copy.ServerCPU = nil, nil
		}
		r.Backup.Cells[0].Dump, r.Backup.Memory = nil, nil
		text := page.Of(r)
		for _, want := range []string{
			"short run", "Not measured: the system has no /proc.", "| resident | not measured |", " | – | ",
			"pg_dump was not measured", "Memory was not measured", "from a run of its own, at commit `abc1234`",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
		if strings.Contains(text, "CPU s a million") {
			t.Error("a CPU figure is made of nothing")
		}
		r.Backup = nil
		if text := page.Of(r); !strings.Contains(text, "bare COPY\n\nNot measured.\n") {
			t.Errorf("no word of backups that were not measured in\n%s", text)
		}
		if r.Recovery = nil; strings.Contains(page.Of(r), "Recovery") {
			t.Errorf("a recovery that was not measured is on the page\n%s", page.Of(r))
		}
	})
}
