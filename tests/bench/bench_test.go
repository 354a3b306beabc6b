package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/localstack/services/servicestest"
	"tidemark/tests/bench/load"
)

func TestMain(m *testing.M) { os.Exit(servicestest.Run(m)) }

// TestSides shows that what is compared does what it says: each side leaves the rows that the load says, every value.
func TestSides(t *testing.T) {
	t.Parallel()
	const records, batch = 2 * eventBatch, eventBatch
	for name, c := range map[string]cell{
		"Inserts": {workload: load.Inserts, batch: batch},
		"Mixed":   {workload: load.Mixed, batch: batch},
		"Events":  {workload: load.Mixed, batch: batch, events: true},
	} {
		t.Run(name+"/LeaveTheRowsOfTheLoad", func(t *testing.T) {
			t.Parallel()
			b, err := newBed(t.Context(), servicestest.Database(t))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := b.close(t.Context(), nil); err != nil {
					t.Error(err)
				}
			})
			in, err := c.input(7, records)
			if err != nil {
				t.Fatal(err)
			}
			ours, err := openApplied(b.url, c.events)
			if err != nil {
				t.Fatal(err)
			}
			defer ours.close(t.Context())
			source := load.New(c.workload, 7, load.KeysFor(records))
			for range records {
				source.Next(nil)
			}
			var want []byte
			for row := range source.Rows() {
				want = row.AppendCopy(want)
			}
			b.mustLeave(t, ours, in, want)
			b.mustLeave(t, ours, in, want) // again, as the next round
			b.mustLeave(t, copied{b}, in, in.Lines(0, records))
			if err := in.Free(); err != nil {
				t.Error(err)
			}
		})
	}
}

func (b *bed) mustLeave(t *testing.T, s side, in *load.Input, want []byte) {
	t.Helper()
	if _, err := b.round(t.Context(), s, in, eventBatch); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if _, err := b.conn.PgConn().CopyTo(t.Context(), &got, "COPY (SELECT * FROM t ORDER BY id) TO STDOUT"); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%T left %d bytes, which are not the %d of the load", s, got.Len(), len(want))
	}
	if err := b.check(t.Context(), load.Totals{}); err == nil {
		t.Error("the check of a round is content with anything")
	}
}

// TestStages runs every stage on a small input.
func TestStages(t *testing.T) {
	t.Parallel()
	b, err := newBed(t.Context(), servicestest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	stages, err := b.stages(t.Context())
	if err := b.close(t.Context(), err); err != nil {
		t.Fatal(err)
	}
	for _, s := range stages {
		got, err := measureStage(t.Context(), plan{seed: 7, rounds: 1, maximum: eventBatch, short: true}, s)
		if err != nil || got.Nanoseconds.Median <= 0 {
			t.Errorf("%s, %s, %d: %+v, %v", s.name, s.workload, s.batch, got, err)
		}
	}
}

// TestTask runs the life of a child in this process.
func TestTask(t *testing.T) {
	t.Parallel()
	b, err := newBed(t.Context(), servicestest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	err = task{URL: b.url, Seed: 7, Records: 1234, Batch: 100}.run(t.Context())
	var want load.Totals
	for row := range load.NewRows(7, 1234) {
		want.Rows, want.IDs, want.Ns = want.Rows+1, want.IDs+row.ID, want.Ns+int64(row.N)
	}
	if err == nil {
		err = b.check(t.Context(), want)
	}
	if err := b.close(t.Context(), err); err != nil {
		t.Error(err)
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	results := filepath.Join(t.TempDir(), "results.json")
	page := filepath.Join(t.TempDir(), "page.md")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	must := func(code int, says string, args ...string) {
		t.Helper()
		var stderr bytes.Buffer
		if got := run(t.Context(), args, &stderr); got != code || !strings.Contains(stderr.String(), says) {
			t.Errorf("%q: exit code %d, %q; want %d and %q", args, got, stderr.String(), code, says)
		}
	}
	must(2, "not defined", "-pag")
	must(2, "want apply, backup or recovery", "-only", "relay")
	must(2, "want a number of MB", "-backup-size", "-1")
	must(2, "want a number of MB", "-recovery-size", "-1")
	must(1, "want -out")
	must(1, "read results", "-from", results, "-page", page)
	write(results, `{"machine":{"commit":"abc1234"}}`)
	must(1, "run make generate", "-from", results, "-page", page, "-check")
	must(0, "", "-from", results, "-page", page)
	must(0, "", "-from", results, "-page", page, "-check")
	write(results, `{"machine":{"commit":"abc1235"}}`)
	must(1, "page.md:5 is stale", "-from", results, "-page", page, "-check")
	write(results, `{"machines":{}}`)
	must(1, "unknown field", "-from", results, "-page", page)
	must(1, "unknown field", "-out", results, "-only", "backup") // else the other part would be lost
}
