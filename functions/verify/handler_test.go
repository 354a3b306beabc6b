package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/shared/archive/attestation"
	"tidemark/shared/archive/notice"
	"tidemark/shared/archive/notice/verification"
	"tidemark/shared/archive/writer"
	"tidemark/shared/config"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/recovery"
	"tidemark/shared/signing/localkey/localkeytest"
	"tidemark/shared/verify"
	"tidemark/shared/wiring"
)

// function is the handler with an archive of one backup in a folder, and what it wrote.
type function struct {
	*handler

	folder string
	body   string // the path of the manifest's body
	out    *bytes.Buffer
}

func start(t *testing.T) *function {
	t.Helper()
	private, trusted := localkeytest.Files(t)
	f := &function{folder: t.TempDir(), out: &bytes.Buffer{}}
	set := map[string]string{
		"TIDEMARK_TARGET_ID": "shop", "TIDEMARK_ARCHIVE": "file://" + f.folder, "TIDEMARK_TRUSTED_KEYS": trusted,
		"TIDEMARK_SIGNING_KEYS": private,
	}
	from := func() (func(string) (string, bool), []string) {
		return func(name string) (string, bool) { value, ok := set[name]; return value, ok }, nil
	}
	var err error
	if f.handler, err = assembleFor(t.Context(), from, f.out); err != nil {
		t.Fatal(fault.Line(err))
	}
	f.backUp(t, from)
	return f
}

// backUp writes a backup of a table without rows.
func (f *function) backUp(t *testing.T, from environ) {
	t.Helper()
	ctx := t.Context()
	c, err := config.LoadArchivist(from())
	if err != nil {
		t.Fatal(err)
	}
	w, err := wiring.Writer(ctx, c.Archive, f.archive.Archive, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	run, err := writer.Begin(ctx, w, notice.Run{
		Lineage: 1, RunID: "11111111-0000-4000-8000-000000000001", Seq: 1, Life: "00000000-0000-4000-8000-000000000001", Attempt: 1,
		Actor: "test", Tool: "test",
	})
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	if _, err := run.Commit(ctx, body.Body{Snapshot: body.Snapshot{
		SystemIdentifier: "7000000000000000001", Database: "shop", ServerVersion: 150018, Encoding: "UTF8", LedgerSchema: "tidemark",
		LedgerVersion: 2, LSN: "0/16B3748", Taken: time.Now().UTC().Truncate(time.Microsecond).Add(-time.Hour),
	}}); err != nil {
		t.Fatal(fault.Line(err))
	}
	found, err := filepath.Glob(filepath.Join(f.folder, "objects", "*", "*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("got the objects %v, %v", found, err)
	}
	f.body = found[0]
}

func (f *function) invoke(t *testing.T, ctx context.Context, payload string) (reply result) { //nolint:revive // as a test's helper
	t.Helper()
	answered, err := f.Invoke(ctx, []byte(payload))
	if err != nil {
		t.Fatalf("%v\n%s", err, f.out)
	}
	if err := json.Unmarshal(answered, &reply); err != nil {
		t.Fatal(err)
	}
	return reply
}

// line is what the last line of the log says.
func (f *function) line(t *testing.T) (line map[string]any) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(f.out.String()), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &line); err != nil {
		t.Fatal(err)
	}
	return line
}

func TestVerify(t *testing.T) {
	t.Parallel()
	t.Run("SignsWhatItFoundAndSaysHowOldAllIs", func(t *testing.T) {
		t.Parallel()
		f := start(t)
		got := f.invoke(t, t.Context(), "{}")
		if got.Outcome != "verified" || got.Level != "hash" || got.Sample != "5%" || got.Looked.Read != 1 || len(got.Stored) != 1 {
			t.Errorf("got %+v", got)
		}
		if _, err := os.Stat(filepath.Join(f.folder, got.Report)); err != nil || !strings.HasPrefix(got.Report, "verified/") {
			t.Errorf("got report %q: %v", got.Report, err)
		}
		line := f.line(t)
		age, _ := line["manifest_age_seconds"].(float64)
		if line["msg"] != "verification done" || line["failures"] != 0.0 || age < 3600 || line["rehearsal_age_seconds"] != nil {
			t.Errorf("got the line %v", line)
		}
		if got := f.invoke(t, t.Context(), `{"level":"files"}`); got.Outcome != "verified" || got.Looked.Read != 0 {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("CountsDamageForTheAlarm", func(t *testing.T) {
		t.Parallel()
		f := start(t)
		f.rotten(t)
		_, err := f.Invoke(t.Context(), nil)
		if !fault.Is(err, fault.Corrupt) {
			t.Errorf("got %v: no manifest is left that can be used", err)
		}
		if line := f.line(t); line["failures"] != 1.0 || line["class"] != "corrupt" {
			t.Errorf("got the line %v", line)
		}
	})
	t.Run("RefusesAnEventThatIsMisspelt", func(t *testing.T) {
		t.Parallel()
		f := start(t)
		for _, payload := range []string{`{"sampel":"5%"}`, `{"level":"all"}`, `{"level":"files","sample":"5%"}`, `{"sample":"0%"}`, `[]`, `{`} {
			if _, err := f.Invoke(t.Context(), []byte(payload)); !fault.Is(err, fault.Misconfigured) {
				t.Errorf("%s: got %v", payload, err)
			}
		}
	})
}

// rotten changes a byte of the manifest's body.
func (f *function) rotten(t *testing.T) {
	t.Helper()
	content, err := os.ReadFile(f.body)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/2] ^= 1
	if err := errors.Join(os.Chmod(f.body, 0o600), os.WriteFile(f.body, content, 0o600)); err != nil { //nolint:gosec // a path of this test's own
		t.Fatal(err)
	}
}

func TestHandsOver(t *testing.T) {
	t.Parallel()
	t.Run("WhatDoesNotFitIntoItsTime", func(t *testing.T) {
		t.Parallel()
		f := start(t)
		ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(reserve))
		defer cancel()
		got := f.invoke(t, ctx, `{"level":"hash","sample":"100%"}`)
		if got.Outcome != handover || got.Handover != "tidemark verify --level hash --sample 100%" || got.Why == "" || len(got.Stored) > 0 {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("ByHowMuchIsToBeRead", func(t *testing.T) {
		t.Parallel()
		s := verify.Subject{Places: make([]verify.Place, 2)}
		s.Body.Tables = []body.Table{{Chunks: []body.Chunk{{Object: manifest.Object{Size: 1000 * readRate}}}}}
		fivePercent := verify.All / 20
		for _, c := range []struct {
			asked event
			left  time.Duration
			fits  bool
		}{
			{event{verify.Hash, fivePercent}, 101 * time.Second, true},
			{event{verify.Hash, fivePercent}, 99 * time.Second, false},
			{event{verify.Hash, verify.All}, 14 * time.Minute, false},
			{event{Level: verify.Files}, time.Second, true},
		} {
			if why := tooMuch(c.asked, s, c.left); (why == "") != c.fits {
				t.Errorf("%+v within %s: got %q", c.asked, c.left, why)
			}
		}
	})
	t.Run("ARehearsalWithoutBrokers", func(t *testing.T) {
		t.Parallel()
		f := start(t)
		got := f.invoke(t, t.Context(), `{"level":"data"}`)
		if got.Outcome != handover || got.Handover != "tidemark rehearse" || got.Ages.Manifest == nil {
			t.Errorf("got %+v", got)
		}
		if line := f.line(t); line["handover"] != "tidemark rehearse" || line["level"] != "WARN" || line["at_level"] != "data" {
			t.Errorf("got the line %v", line)
		}
	})
	t.Run("ByWhatARehearsalIsEstimatedToTake", func(t *testing.T) {
		t.Parallel()
		plan := recovery.Plan{}
		plan.Choice.Body.Tables = []body.Table{{Chunks: []body.Chunk{{Object: manifest.Object{PlainSize: 100 * restoreRate}}}}}
		if got := estimate(plan); got != 2*time.Minute {
			t.Errorf("got %s", got)
		}
	})
}

// TestRehearses tells what a rehearsal found as it does of a look, and how old the newest one is.
func TestRehearses(t *testing.T) {
	t.Parallel()
	f := start(t)
	finding := attestation.Finding{Report: verification.Report{
		Level: string(verify.Data), Verdict: "failed", Rehearsal: &verification.Rehearsal{Took: 1500, Age: 20, Differences: 1},
	}}
	finding.All.Problems = []verification.Problem{{Table: 1, What: "compare: table 1 differs"}}
	f.rehearse = func(_ context.Context, actor string, _ time.Duration) (rehearsed, error) {
		if !strings.HasPrefix(actor, "function ") {
			t.Errorf("got actor %q", actor)
		}
		return rehearsed{Manifest: "1/1", Finding: finding}, nil
	}
	got := f.invoke(t, t.Context(), `{"level":"data"}`)
	if got.Outcome != "failed" || got.Problems != 1 || got.Rehearsal.Took != 1500 || !strings.Contains(fmt.Sprint(got.First), "table 1 differs") {
		t.Errorf("got %+v", got)
	}
	if line := f.line(t); line["failures"] != 1.0 || line["recovery_time_ms"] != 1500.0 {
		t.Errorf("got the line %v", line)
	}
	f.rehearse = func(context.Context, string, time.Duration) (rehearsed, error) {
		return rehearsed{}, fault.New(fault.Retryable, "it is away")
	}
	if _, err := f.Invoke(t.Context(), []byte(`{"level":"data"}`)); !fault.Is(err, fault.Retryable) {
		t.Errorf("got %v", err)
	}
}
