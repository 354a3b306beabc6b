package apply_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/shared/apply"
	"tidemark/shared/apply/applytest"
	"tidemark/shared/change"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/record"
)

// features count the histories in which something happened, so that a generator that stopped making it is noticed.
type features map[string]int

const (
	repeats     = "a record delivered twice"
	oldBatch    = "a batch below the checkpoint"
	holes       = "a hole"
	reborns     = "a topic made anew"
	removes     = "a removed row"
	rowless     = "a record without a row"
	crashes     = "a process that died"
	refusals    = "a refused begin or commit"
	lostReplies = "a lost reply"
	newLives    = "another life"
	bulkless    = "a refused bulk statement"
	splits      = "a split batch"
)

// history is one generated life of a target: a log per partition, and deliveries of pieces of it in any order.
type history struct {
	t    *rapid.T
	logs map[position.Partition][]record.Record
	m    *applytest.Memory
	a    *apply.Applier
	next position.Cut // where the checkpoints stood after the delivery before
	seen map[string]bool
}

func (h *history) saw(feature string, yes bool) {
	if yes {
		h.seen[feature] = true
	}
}

// TestHistory holds generated histories against a map: nothing is lost, nothing is applied out of place, and no position
// goes back (L1, L2, L6).
func TestHistory(t *testing.T) {
	t.Parallel()
	total, found := 0, features{}
	rapid.Check(t, func(rt *rapid.T) {
		h := newHistory(rt)
		for range rapid.IntRange(1, 12).Draw(rt, "deliveries") {
			h.disturb()
			h.deliver(h.drawBatch())
		}
		total++
		for feature := range h.seen {
			found[feature]++
		}
		h.finish()
	})
	t.Logf("%d histories with the seed %s", total, flag.Lookup("rapid.seed").Value)
	for _, feature := range []string{
		repeats, oldBatch, holes, reborns, removes, rowless, crashes, refusals, lostReplies, newLives, bulkless, splits,
	} {
		share := float64(found[feature]) / float64(max(total, 1))
		t.Logf("%5.1f %% have %s", 100*share, feature)
		if share < 0.05 && !t.Failed() {
			t.Errorf("%.1f %% of the histories have %s, want at least 5 %%", 100*share, feature)
		}
	}
}

func newHistory(t *rapid.T) *history {
	h := &history{
		t: t, m: applytest.NewMemory(), logs: map[position.Partition][]record.Record{}, next: position.Cut{}, seen: map[string]bool{},
	}
	for n := range rapid.Int32Range(1, 3).Draw(t, "partitions") {
		var log []record.Record
		for o := range rapid.IntRange(1, 20).Draw(t, "records") {
			log = append(log, applytest.At(position.Offset(o), h.drawValue(p(n), o)))
		}
		h.logs[p(n)] = log
	}
	h.restart()
	return h
}

// drawValue is a row of few keys, so that records meet; the body says which record it was.
func (h *history) drawValue(partition position.Partition, offset int) record.Data {
	id := fmt.Sprintf("%s#%d", partition, rapid.IntRange(0, 3).Draw(h.t, "id"))
	switch rapid.IntRange(0, 5).Draw(h.t, "kind") {
	case 0:
		h.saw(removes, true)
		return applytest.Remove("item", "id", id)
	case 1:
		h.saw(rowless, true)
		return record.Null()
	}
	return applytest.Item(id, fmt.Sprintf("%s@%d", partition, offset))
}

// restart is a new process: whatever the one before believed is gone.
func (h *history) restart() {
	limit := rapid.IntRange(1, 12).Draw(h.t, "rows in a transaction")
	applier, err := apply.New(h.m, applytest.Decoder{Catalog: h.m}, apply.Options{
		Flow: applytest.Flow, TargetID: applytest.TargetID, Topics: []string{applytest.Topic}, MaxRows: limit, Now: clock,
	})
	if err != nil {
		h.t.Fatalf("make an applier: %v", err)
	}
	h.a = applier
}

// disturb lets something go wrong in what comes next.
func (h *history) disturb() {
	away := fault.New(fault.Retryable, "away")
	var faults applytest.Faults
	switch rapid.IntRange(0, 9).Draw(h.t, "disturbance") {
	case 0:
		h.saw(crashes, true)
		h.restart()
	case 1:
		h.saw(refusals, true)
		faults.Begin = later[apply.Opening](h.drawCount(), away)
	case 2:
		h.saw(refusals, true)
		faults.Commit = later[apply.Work](h.drawCount(), away)
	case 3:
		h.saw(lostReplies, true)
		faults.Reply = later[apply.Work](h.drawCount(), lost())
	case 4:
		h.saw(lostReplies, true)
		faults.Commit = later[apply.Work](h.drawCount(), lost())
	case 5: // lost, and nobody can be asked
		h.saw(lostReplies, true)
		n := h.drawCount()
		faults.Reply, faults.Begin = later[apply.Work](n, lost()), later[apply.Opening](n+1, away)
	case 6:
		h.saw(newLives, true)
		life := h.m.Life()
		life.Incarnation = position.Incarnation(fmt.Sprintf("00000000-0000-4000-8000-%012d", rapid.IntRange(2, 9).Draw(h.t, "life")))
		h.m.SetLife(life)
	case 7:
		h.saw(bulkless, true)
		faults.Commit = refuseBulk
	}
	h.m.Fail(faults)
}

func (h *history) drawCount() int { return rapid.IntRange(0, 3).Draw(h.t, "after so many") }

// later strikes once, after n calls that pass.
func later[T any](n int, err error) func(T) error {
	return func(T) error {
		n--
		if n == -1 {
			return err
		}
		return nil
	}
}

func refuseBulk(work apply.Work) error {
	for i, g := range work.Groups {
		if g.Bulk {
			return &apply.WorkError{Err: fault.New(fault.Unclassified, "not in bulk"), Group: i}
		}
	}
	return nil
}

// drawBatch is a stretch of some of the logs: most begin at or below the checkpoint, as an event source delivers them.
func (h *history) drawBatch() record.Batch {
	var b record.Batch
	for _, partition := range slices.SortedFunc(maps.Keys(h.logs), position.Partition.Compare) {
		log, next := h.logs[partition], int(h.next[partition])
		if rapid.IntRange(0, 3).Draw(h.t, "left out") == 0 {
			continue
		}
		from := rapid.IntRange(0, min(next, len(log)-1)).Draw(h.t, "from")
		until := rapid.IntRange(from+1, len(log)).Draw(h.t, "until")
		run := record.Run{Partition: partition, Records: slices.Clone(log[from:until])}
		switch rapid.IntRange(0, 11).Draw(h.t, "defect") {
		case 0:
			n := rapid.IntRange(0, len(run.Records)-1).Draw(h.t, "hole")
			run.Records = slices.Delete(run.Records, n, n+1)
		case 1:
			for i := range run.Records {
				run.Records[i].Time = run.Records[i].Time.Add(time.Hour)
				run.Records[i].Value = applytest.Item("reborn", "reborn")
			}
			if from >= next { // nobody could tell: it continues the log
				continue
			}
			h.saw(reborns, true)
		}
		if len(run.Records) > 0 {
			b = append(b, run)
		}
	}
	return b
}

// deliver applies a batch and holds what is left behind against the model.
func (h *history) deliver(b record.Batch) {
	before, commits := maps.Clone(h.next), len(h.m.Commits())
	outcome, err := h.a.Apply(context.Background(), b)
	after := h.m.Checkpoints()
	for partition, next := range before {
		if after[partition].Before(next) {
			h.t.Fatalf("%s went back from %s to %s", partition, next, after[partition])
		}
	}
	h.next = after
	h.mustEqualModel()
	h.saw(splits, len(h.m.Commits())-commits > 1)
	if (err == nil) != (outcome.Err() == nil) {
		h.t.Fatalf("error %v beside the outcome's %v", err, outcome.Err())
	}
	for i, run := range b {
		h.check(run, outcome.Partitions[i], before[run.Partition])
	}
}

// check holds one partition's outcome against what was delivered and where its checkpoint stands.
func (h *history) check(run record.Run, got apply.PartitionOutcome, before position.Offset) {
	span, next := run.Range(), h.next[run.Partition]
	h.saw(oldBatch, span.Until <= before)
	h.saw(repeats, span.From < before)
	if got.Next > max(next, span.From) || got.Next < span.From || got.Next > span.Until {
		h.t.Fatalf("%s: the outcome says %s of %s, the checkpoint stands at %s", run.Partition, got.Next, span, next)
	}
	if (got.Err == nil) != (got.Next == span.Until) {
		h.t.Fatalf("%s: the outcome ends at %s of %s with error %v", run.Partition, got.Next, span, got.Err)
	}
	below := 0
	for i := range run.Records {
		if run.Records[i].Offset < got.Next {
			below++
		}
	}
	if got.Applied+got.Skipped != below {
		h.t.Fatalf("%s: %d applied and %d skipped, but %d records lie below %s",
			run.Partition, got.Applied, got.Skipped, below, got.Next)
	}
	for o := max(span.From, before); o < got.Next; o = o.Next() { // what was applied has no hole
		if !slices.ContainsFunc(run.Records, func(r record.Record) bool { return r.Offset == o }) {
			h.t.Fatalf("%s: %s was never delivered and the outcome says %s", run.Partition, o, got.Next)
		}
	}
	h.saw(holes, fault.Is(got.Err, fault.Gap) && got.Next >= before)
}

// mustEqualModel replays each log up to its checkpoint, record by record: the rows must be the same.
func (h *history) mustEqualModel() {
	want := map[string]string{}
	for partition, next := range h.next {
		for _, rec := range h.logs[partition][:next] {
			replay(h.t, h.m, &rec, want)
		}
	}
	if diff := cmp.Diff(want, h.m.Rows()); diff != "" {
		h.t.Fatalf("rows at %s (-want +got):\n%s", h.next, diff)
	}
}

func replay(t *rapid.T, m *applytest.Memory, rec *record.Record, rows map[string]string) {
	var set change.Set
	if err := (applytest.Decoder{Catalog: m}).Decode(context.Background(), rec, &set); err != nil {
		t.Fatalf("decode: %v", err)
	}
	for i := range set.Changes {
		c := &set.Changes[i]
		if c.Op == change.Delete {
			delete(rows, string(c.Key[0].Bytes()))
		} else {
			rows[string(c.Key[0].Bytes())] = string(c.Row[1].Bytes())
		}
	}
}

// finish delivers everything from the start, undisturbed: after at most one delivery that is fenced, all of it is there.
func (h *history) finish() {
	h.m.Fail(applytest.Faults{})
	var b record.Batch
	want := position.Cut{}
	for _, partition := range slices.SortedFunc(maps.Keys(h.logs), position.Partition.Compare) {
		b = append(b, record.Run{Partition: partition, Records: h.logs[partition]})
		want[partition] = position.Offset(len(h.logs[partition]))
	}
	h.deliver(b)
	h.deliver(b)
	if diff := cmp.Diff(want, h.next); diff != "" {
		h.t.Fatalf("the end (-want +got):\n%s", diff)
	}
}
