package rehearsing_test

import (
	"strings"
	"testing"
	"time"

	"tidemark/shared/archive/notice/verification"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/position"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/refusal"
	"tidemark/shared/rehearsal"
	"tidemark/shared/verify"
	"tidemark/shared/verify/census"
	"tidemark/shared/wiring/rehearsing"
)

// rehearsed is an outcome of a manifest with two tables, every phase of which was done.
func rehearsed(differences ...rehearsal.Difference) rehearsal.Outcome {
	o := rehearsal.Outcome{
		Archive: verify.Outcome{Level: verify.Hash, Share: verify.All, Objects: 3, Copies: 6, Found: 6, Read: 6},
		Phases: []rehearsal.Phase{
			rehearsal.Archive, rehearsal.Restore, rehearsal.Base, rehearsal.Replay, rehearsal.Count, rehearsal.Compare,
		},
		Compares: true, Compared: 2, Differences: differences,
		Begun: time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC), Ended: time.Date(2026, 7, 1, 12, 1, 0, 0, time.UTC),
		Point: time.Date(2026, 7, 1, 11, 59, 58, 0, time.UTC), Took: 90 * time.Second,
		Recovered: recovery.Report{Replayed: map[string]recovery.Replayed{"shop": {Applied: 7}}},
	}
	o.Plan.Choice.Body.Tables = []body.Table{{Name: body.Name{Schema: "shop", Name: "orders"}}, {Name: body.Name{Schema: "shop", Name: "secret"}}}
	return o
}

// valid completes a report as whoever writes it does, and validates it.
func valid(t *testing.T, o rehearsal.Outcome) verification.Report {
	t.Helper()
	f := rehearsing.Finding(o)
	r := f.Report
	const run = manifest.RunID("11111111-0000-4000-8000-000000000001")
	r.Version, r.TargetID, r.Lineage, r.Seq, r.RunID, r.ReportID = 1, "shop", 1, 1, run, run
	r.Statement, r.Actor, r.Tool, r.Problems = manifest.DigestOf(nil), "test", "test", int64(len(f.All.Problems))
	if err := r.Validate(); err != nil {
		t.Errorf("no reader takes the report: %v", err)
	}
	for _, text := range append(f.All.Differences, f.All.Warnings...) {
		if strings.Contains(text, "secret") {
			t.Errorf("it names a table: %s", text)
		}
	}
	return r
}

func difference(phase rehearsal.Phase) rehearsal.Difference {
	return rehearsal.Difference{Phase: phase, Table: &census.Difference{
		Table: body.Name{Schema: "shop", Name: "secret"}, Want: &census.Digest{Rows: 2}, Got: &census.Digest{Rows: 1},
	}}
}

func TestFinding(t *testing.T) {
	t.Parallel()
	t.Run("Measures", func(t *testing.T) {
		t.Parallel()
		got := valid(t, rehearsed())
		r := got.Rehearsal
		if got.Verdict != "verified" || got.Level != "data" || r.Took != 90_000 || r.Age != 2_000 || r.Replayed != 7 || r.Compared != 2 {
			t.Errorf("got %s at level %s, %+v", got.Verdict, got.Level, r)
		}
	})
	t.Run("TellsDifferencesByNumber", func(t *testing.T) {
		t.Parallel()
		shift := rehearsal.Difference{Phase: rehearsal.Compare, Shift: &census.Shift{
			Flow: "secret", Partition: position.Partition{Topic: "secret"},
		}}
		o := rehearsed(difference(rehearsal.Base), difference(rehearsal.Compare), shift)
		got := valid(t, o)
		if got.Verdict != "failed" || got.Problems != 3 || got.Rehearsal.Differences != 1 {
			t.Errorf("got %s with %d problems, %+v", got.Verdict, got.Problems, got.Rehearsal)
		}
		if f := rehearsing.Finding(o); f.All.Problems[0].Table != 2 || f.All.Problems[0].What != "base: table 2 has 1 rows, want 2 rows" {
			t.Errorf("got %+v", f.All.Problems[0])
		}
	})
	t.Run("WarnsOfTablesThatNoFlowWrites", func(t *testing.T) {
		t.Parallel()
		d := difference(rehearsal.Compare)
		d.Unwritten = true
		o := rehearsed(d)
		got := valid(t, o)
		if f := rehearsing.Finding(o); got.Verdict != "verified" || got.Problems != 0 || len(f.All.Warnings) != 1 || len(f.All.Differences) != 1 {
			t.Errorf("got %s with %d problems, %v", got.Verdict, got.Problems, f.All)
		}
	})
	t.Run("SaysWhatStoppedIt", func(t *testing.T) {
		t.Parallel()
		for says, c := range map[string]struct {
			err     error
			verdict string
		}{
			"log_truncated": {refusal.Of(fault.Gap, &refusal.Error{Name: refusal.LogTruncated, What: "secret"}), "failed"},
			"corrupt":       {fault.New(fault.Corrupt, "secret"), "failed"},
			"retryable":     {fault.New(fault.Retryable, "secret"), "unfinished"},
			"replay":        {nil, "unfinished"}, // it ended without
		} {
			o := rehearsed()
			o.Stopped, o.Phases = c.err, o.Phases[:3]
			got := valid(t, o)
			text := got.Reason
			if f := rehearsing.Finding(o); len(f.All.Problems) > 0 {
				text = f.All.Problems[0].What
			}
			if got.Verdict != c.verdict || !strings.Contains(text, says) {
				t.Errorf("%s: got %s, %q", says, got.Verdict, text)
			}
		}
	})
}
