package backup_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/backup"
	"tidemark/shared/backup/backuptest"
	"tidemark/shared/backup/chunk"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
)

func TestRunSavesTheStateOfEveryKindOfTable(t *testing.T) {
	t.Parallel()
	w := shop(t)
	w.Database.Tables["orders"].Rows[5] = nil
	w.Database.Tables["orders"].Rows[-7] = []byte{}
	result, b := saved(t, w)
	if result.Rows != 1151 || result.Tables != 6 || result.Copies != 2 || len(result.Warnings) > 0 {
		t.Errorf("got %+v, want 1151 rows of 6 tables in both buckets", result)
	}
	for name, want := range map[string]struct{ key, chunks int }{
		"orders": {1, 8}, "names": {1, 5}, "log": {0, 10}, "heap": {0, 3}, "empty": {1, 1}, "nothing": {0, 1},
	} {
		if got := tableOf(t, b, name); len(got.Key) != want.key || len(got.Chunks) < want.chunks {
			t.Errorf("%s: got a key of %d and %d chunks, want %d and %d or more", name, len(got.Key), len(got.Chunks), want.key, want.chunks)
		}
	}
	if got := w.Database.Runs; len(got) != 1 || got[0].Outcome != "done" || got[0].Statement != result.Digest {
		t.Errorf("got runs %+v, want one that is done", got)
	}
}

func TestRunStoresNothingAgainThatIsUnchanged(t *testing.T) {
	t.Parallel()
	w := shop(t)
	first, before := saved(t, w)
	w.Pass(hour)
	second, after := saved(t, w)
	if second.Progress.StoredBytes*100 >= first.Progress.StoredBytes || second.Progress.Stored != 0 {
		t.Errorf("got %+v after %+v, want less than a hundredth stored", second.Progress, first.Progress)
	}
	if diff := cmp.Diff(before.Tables, after.Tables); diff != "" {
		t.Errorf("tables (-first +second):\n%s", diff)
	}
}

func TestRunCutsByTheBoundsBefore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(backuptest.Rows)
		most   int // chunks that are stored
	}{
		{"InsertsAtTheEnd", func(rows backuptest.Rows) { insert(rows, 400, 420) }, 2},
		{"InsertsAtTheBeginning", func(rows backuptest.Rows) { insert(rows, -20, 0) }, 2},
		{"UpdatesInTheMiddle", func(rows backuptest.Rows) { rows[200] = value(200, 1); rows[201] = value(201, 1) }, 2},
		{"DeletesInTheMiddle", func(rows backuptest.Rows) { remove(rows, 200, 210) }, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := backuptest.New(t)
			w.Database.Tables["orders"] = &backuptest.Table{Rows: fill(0, 400)}
			_, before := saved(t, w)
			c.change(w.Database.Tables["orders"].Rows)
			result, after := saved(t, w)
			was, is := tableOf(t, before, "orders"), tableOf(t, after, "orders")
			if result.Progress.Stored > c.most || sharedChunks(is, was) < len(was.Chunks)-2 {
				t.Errorf("got %d chunks stored and %d of %d used again:\n%s\n%s", result.Progress.Stored, sharedChunks(is, was), len(was.Chunks),
					edges(was), edges(is))
			}
		})
	}
}

func insert(rows backuptest.Rows, from, until int64) {
	for key := from; key < until; key++ {
		rows[key] = value(key, 0)
	}
}

func remove(rows backuptest.Rows, from, until int64) {
	for key := from; key < until; key++ {
		delete(rows, key)
	}
}

// Rows that come everywhere, as under a random key, must not leave a chunk of one row behind each chunk.
func TestRunLetsChunksGrowBeforeItCutsThem(t *testing.T) {
	t.Parallel()
	w := backuptest.New(t)
	orders := &backuptest.Table{Rows: backuptest.Rows{}}
	w.Database.Tables["orders"] = orders
	for key := int64(0); key < 40_000; key += 100 {
		orders.Rows[key] = value(key, 0)
	}
	for step := range int64(15) {
		for key := step*37%100 + 1; key < 40_000; key += 1000 {
			orders.Rows[key] = value(key, 0)
		}
		_, b := saved(t, w)
		table := tableOf(t, b, "orders")
		var size int64
		for _, c := range table.Chunks {
			size += c.Object.PlainSize
			if c.Object.PlainSize > 2*small+100 {
				t.Errorf("step %d: got a chunk of %d bytes, want %d at most", step, c.Object.PlainSize, 2*small)
			}
		}
		if most := int(size/(small*3/4)) + 1; len(table.Chunks) > most {
			t.Fatalf("step %d: got %d chunks for %d bytes, want %d at most", step, len(table.Chunks), size, most)
		}
	}
}

func TestRunMergesChunksThatShrank(t *testing.T) {
	t.Parallel()
	w := backuptest.New(t)
	w.Database.Tables["orders"] = &backuptest.Table{Rows: fill(0, 2000)}
	_, before := saved(t, w)
	remove(w.Database.Tables["orders"].Rows, 100, 1990)
	saved(t, w) // by the old bounds
	_, after := saved(t, w)
	was, is := tableOf(t, before, "orders"), tableOf(t, after, "orders")
	if len(is.Chunks)*5 > len(was.Chunks) {
		t.Errorf("got %d chunks after %d, want most of them read as one", len(is.Chunks), len(was.Chunks))
	}
	if n := sharedChunks(is, was); n < 3 {
		t.Errorf("got %d chunks used again, want those before the deleted rows", n)
	}
}

// Bounds of another key, another type or another collation order nothing: a row would be missing or stand twice.
func TestRunMakesBoundsAnew(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, collation string
		change          func(*backuptest.Table)
	}{
		{"AfterAnotherType", "", func(orders *backuptest.Table) { orders.Text = false }},
		{"AfterAnotherCollation", "1", func(orders *backuptest.Table) { orders.Collation = "2" }},
		{"WithoutAKey", "1", func(orders *backuptest.Table) { orders.Keyless = true }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := backuptest.New(t)
			w.Database.Tables["orders"] = &backuptest.Table{Rows: fill(0, 400), Text: true, Collation: c.collation}
			saved(t, w)
			c.change(w.Database.Tables["orders"])
			saved(t, w)
			c.change(w.Database.Tables["orders"])
			if result, _ := saved(t, w); result.Progress.Stored > 0 {
				t.Errorf("got %d chunks stored, want the new bounds used again", result.Progress.Stored)
			}
		})
	}
}

// A table that grew a thousandfold is one range by its bounds before: it is cut on its way, and each bound is looked for
// from the one before.
func TestRunCutsATableThatGrew(t *testing.T) {
	t.Parallel()
	w := backuptest.New(t)
	w.Database.Tables["orders"] = &backuptest.Table{Rows: fill(0, 10)}
	saved(t, w)
	insert(w.Database.Tables["orders"].Rows, 10, 2000)
	p := w.Process(nil)
	mustRun(t, p.Options(t))
	if got := tableOf(t, wantSaved(t, w), "orders"); len(got.Chunks) < 80 {
		t.Errorf("got %d chunks, want 80 or more", len(got.Chunks))
	}
	if got := countCalls(p.Calls(), "KeyAt", "orders [,)"); got != 1 {
		t.Errorf("got %d searches from the beginning of the table, want 1", got)
	}
	for key := int64(10); key < 1990; key++ {
		w.Database.Tables["orders"].Rows[key] = bytes.Repeat(value(key, 0), 10)
	}
	_, b := saved(t, w)
	for _, c := range tableOf(t, b, "orders").Chunks {
		if c.Object.PlainSize > 2*small+500 {
			t.Errorf("got a chunk of %d bytes, want %d at most", c.Object.PlainSize, 2*small)
		}
	}
}

func countCalls(calls []writertest.Call, method, within string) (n int) {
	for _, c := range calls {
		if c.Method == method && strings.Contains(c.Key, within) {
			n++
		}
	}
	return n
}

func TestRunWarnsOfATableWhoseRowsVanished(t *testing.T) {
	t.Parallel()
	w := shop(t)
	saved(t, w)
	clear(w.Database.Tables["orders"].Rows)
	result, b := saved(t, w)
	for _, warnings := range [][]string{result.Warnings, b.Warnings} {
		if len(warnings) != 1 || !strings.Contains(warnings[0], "public.orders has no rows, it had 200") {
			t.Errorf("got warnings %q, want one of public.orders", warnings)
		}
	}
	if result, _ = saved(t, w); len(result.Warnings) > 0 {
		t.Errorf("got warnings %q, want none of a table that was empty before", result.Warnings)
	}
}

// TestRunAsksTheBrokers about the cut; a backup does not fail because they do not answer.
func TestRunAsksTheBrokers(t *testing.T) {
	t.Parallel()
	w := shop(t)
	o := w.Options(t)
	o.Describe = func(_ context.Context, cut body.Cut) (body.Cut, string, error) {
		described := slices.Clone(cut)
		for i := range described {
			described[i].TopicID = "00000000-0000-0000-0000-000000000007"
		}
		return described, "cluster-7", nil
	}
	mustRun(t, o)
	b := wantSaved(t, w)
	if b.Snapshot.ClusterID != "cluster-7" || len(b.Cut) == 0 || b.Cut[0].TopicID == "" {
		t.Errorf("the manifest has cluster %q and the cut %+v", b.Snapshot.ClusterID, b.Cut)
	}
	o = w.Options(t)
	o.Describe = func(context.Context, body.Cut) (body.Cut, string, error) {
		return nil, "", fault.New(fault.Retryable, "no broker answers")
	}
	result := mustRun(t, o)
	if len(result.Warnings) != 1 || !strings.Contains(result.Warnings[0], "no broker answers") {
		t.Errorf("got the warnings %q, want one that the brokers were not asked", result.Warnings)
	}
	if b := wantSaved(t, w); b.Snapshot.ClusterID != "" {
		t.Errorf("the manifest has cluster %q of nobody", b.Snapshot.ClusterID)
	}
}

func TestRunWithMoreJobsMakesTheSameManifest(t *testing.T) {
	t.Parallel()
	var bodies []body.Body
	for _, jobs := range []int{1, 4} {
		w := shop(t)
		for range 2 {
			o := w.Options(t)
			o.Jobs = jobs
			mustRun(t, o)
			bodies = append(bodies, wantSaved(t, w))
			insert(w.Database.Tables["orders"].Rows, 200, 300)
		}
	}
	for i := range 2 {
		if diff := cmp.Diff(bodies[i], bodies[i+2]); diff != "" {
			t.Errorf("backup %d (-one job +four jobs):\n%s", i+1, diff)
		}
	}
}

func TestRunOfADatabaseWithoutTables(t *testing.T) {
	t.Parallel()
	w := backuptest.New(t)
	p := w.Process(nil)
	o := p.Options(t)
	o.Jobs = 4
	if result := mustRun(t, o); result.Tables != 0 || countCalls(p.Calls(), "Reader", "") != 4 {
		t.Errorf("got %d tables and %d readers, want none and one for each job", result.Tables, countCalls(p.Calls(), "Reader", ""))
	}
	wantSaved(t, w)
}

// TestRunFollowsADatabase backs up histories of changes, each after the one before.
func TestRunFollowsADatabase(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // no secret
		w := shop(t)
		for step := range 6 {
			for _, table := range w.Database.Tables {
				disturb(random, table)
			}
			w.Database.Next++
			o := w.Options(t)
			o.Jobs = 1 + random.IntN(3)
			if _, err := backup.Run(t.Context(), o.CutAt(200<<random.IntN(5))); err != nil {
				t.Fatalf("seed %d, step %d: %s", seed, step, fault.Line(err))
			}
			b := wantSaved(t, w)
			if t.Failed() || b.Cut[0].NextOffset != w.Database.Next {
				t.Fatalf("seed %d, step %d: got cut %+v", seed, step, b.Cut)
			}
		}
	}
}

// disturb changes a table: a burst of one kind of change at one place.
func disturb(random *rand.Rand, table *backuptest.Table) {
	if table.Rows == nil {
		table.Rows = backuptest.Rows{}
	}
	from := random.Int64N(400) - 100
	until := from + random.Int64N(200)
	switch random.IntN(8) {
	case 0:
		remove(table.Rows, from, until)
	case 1:
		insert(table.Rows, from, until)
	case 2:
		for key := from; key < until; key += 17 {
			table.Rows[key] = value(key, random.IntN(200))
		}
	case 3:
		table.Rows[from] = nil
	case 4:
		clear(table.Rows)
	case 5:
		table.Text, table.Collation = !table.Text, []string{"1", "2"}[random.IntN(2)]
	case 6:
		table.Keyless, table.Unordered = random.IntN(4) == 0, random.IntN(2) == 0
	}
}

// TestRunWithChunksOfTheirRealSize needs rows for three of them.
func TestRunWithChunksOfTheirRealSize(t *testing.T) {
	t.Parallel()
	w := backuptest.New(t)
	rows := backuptest.Rows{}
	for key := range int64(70) {
		rows[key] = make([]byte, 1<<20)
		copy(rows[key], value(key, 0))
	}
	w.Database.Tables["orders"] = &backuptest.Table{Rows: rows}
	if _, err := backup.Run(t.Context(), w.Options(t)); err != nil {
		t.Fatal(fault.Line(err))
	}
	for _, c := range tableOf(t, wantSaved(t, w), "orders").Chunks {
		if n := c.Object.PlainSize; c.Until != nil && n < chunk.Wanted/2 || n > 2*chunk.Wanted || c.Object.Size > manifest.MaxObject {
			t.Errorf("got a chunk of %d bytes, want about %d", n, chunk.Wanted)
		}
	}
}
