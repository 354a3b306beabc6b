package recovery_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark/shared/archive/writer/writertest"
	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/position"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/recoverytest"
)

// TestRunBringsTheLiveStateBack is the law: whatever the history and whatever the cut, the base there and the rest of the log
// are what the live target is.
func TestRunBringsTheLiveStateBack(t *testing.T) {
	t.Parallel()
	world := recoverytest.New(t, 1)
	seen, histories := map[string]int{}, 0
	rapid.Check(t, func(rt *rapid.T) {
		h := draw(rt, world.Fork(rapid.Uint64().Draw(rt, "seed")))
		h.test = t
		h.w.Backup(t, h.cut)
		h.afterwards()
		d := h.w.Database()
		late := rapid.IntRange(0, 80).Draw(rt, "call at which records come")
		p := h.w.Process(d, func(c writertest.Call) writertest.Form {
			if c.N == late {
				h.note("comes during the recovery")
				h.record(h.at(), "put")
			}
			return ""
		})
		report, err := runBy(t, p, h.asked()...)
		if err != nil {
			rt.Fatal(fault.Line(err))
		}
		if err := recoverytest.Check(t, h.w, d); err != nil {
			rt.Fatal(err)
		}
		h.wantCounts(report, d.Gaps())
		histories++
		for feature := range h.seen {
			seen[feature]++
		}
	})
	t.Logf("of %d histories: %v", histories, seen)
	for _, feature := range features() {
		if seen[feature]*20 < histories {
			t.Errorf("%d of %d histories have %q, want 5 %%", seen[feature], histories, feature)
		}
	}
}

func features() []string {
	return []string{
		"put", "remove", "move", "control", "aborted", "elect", "two flows", "empty partition", "ends in a mark", "open transaction",
		"trimmed to the cut", "compacted", "partition added", "everything is in the base", "comes during the recovery", "excluded",
		"until", "accepted gap",
	}
}

// drawn is a history that rapid drew.
type drawn struct {
	t     *rapid.T
	w     *recoverytest.World
	clock *clock
	test  *testing.T
	all   []position.Partition
	cut   recoverytest.Cut
	seen  map[string]bool
}

func (h *drawn) note(feature string) { h.seen[feature] = true }

func (h *drawn) at() position.Partition { return rapid.SampledFrom(h.all).Draw(h.t, "partition") }

// draw makes a world with a history, and chooses a cut.
func draw(t *rapid.T, w *recoverytest.World) *drawn {
	h := &drawn{t: t, w: w, clock: newClock(w), cut: recoverytest.Cut{}, seen: map[string]bool{}}
	for f := range rapid.IntRange(1, 2).Draw(t, "flows") {
		flow := fmt.Sprintf("flow%d", f)
		if f == 1 {
			h.note("two flows")
		}
		for n := range rapid.IntRange(1, 2).Draw(t, "topics") {
			topic := fmt.Sprintf("topic%d-%d", f, n)
			w.Log.Create(topic, rapid.Int32Range(1, 3).Draw(t, "partitions"))
			w.Flows[flow] = append(w.Flows[flow], topic)
			h.all = append(h.all, w.Log.Partitions(topic)...)
		}
	}
	for range rapid.IntRange(0, 60).Draw(t, "steps") {
		h.step()
	}
	whole := rapid.IntRange(0, 5).Draw(t, "whole") == 0
	for flow, cut := range w.Stable() {
		h.cut[flow] = position.Cut{}
		for _, p := range cut.Partitions() {
			h.cut[flow][p] = cut[p]
			if !whole {
				h.cut[flow][p] = position.Offset(rapid.Int64Range(0, int64(cut[p])).Draw(t, "cut"))
			}
			if cut[p] == 0 {
				h.note("empty partition")
			}
		}
	}
	if whole {
		h.note("everything is in the base")
	}
	return h
}

// step appends something to a partition.
func (h *drawn) step() {
	p := h.at()
	kinds := []string{"put", "put", "put", "remove", "move", "control", "aborted", "elect"}
	switch kind := rapid.SampledFrom(kinds).Draw(h.t, "step"); kind {
	case "control":
		h.note(kind)
		h.w.Log.Control(p)
	case "aborted":
		h.note(kind)
		h.w.Log.Aborted(p, h.clock.tick(), recoverytest.Put(h.key(p), "never"))
	case "elect":
		h.note(kind)
		h.w.Log.Elect(p)
	default:
		h.record(p, kind)
	}
}

// key is one of the few keys that belong to a partition, so that effects of different partitions commute.
func (h *drawn) key(p position.Partition) string {
	return fmt.Sprintf("%s/%d", p, rapid.IntRange(0, 4).Draw(h.t, "key"))
}

func (h *drawn) record(p position.Partition, kind string) {
	h.note(kind)
	value := recoverytest.Put(h.key(p), fmt.Sprintf("v%d", h.w.Log.End(p)))
	switch kind {
	case "remove":
		value = recoverytest.Remove(h.key(p))
	case "move":
		value = recoverytest.Move(h.key(p), h.key(p))
	}
	// Clocks of producers differ by more than the time between two records.
	jitter := time.Duration(rapid.IntRange(-5, 5).Draw(h.t, "jitter")) * time.Second
	h.w.Log.Append(p, h.clock.tick().Add(jitter), value)
}

// afterwards is what happens to the log between the backup and the recovery.
func (h *drawn) afterwards() {
	chance := func(of string) bool { return rapid.IntRange(0, 3).Draw(h.t, of) == 0 }
	for _, flow := range slices.Sorted(maps.Keys(h.cut)) {
		for _, p := range h.cut[flow].Partitions() {
			if chance("trim") && h.cut[flow][p] > 0 {
				h.note("trimmed to the cut")
				h.w.Log.Trim(p, h.cut[flow][p])
			}
			if chance("mark") {
				h.note("ends in a mark")
				h.w.Log.Control(p)
			}
		}
	}
	h.cutOut(chance)
	if chance("superseded") {
		h.compact(h.at())
	}
	if chance("add") {
		topic := h.at().Topic
		h.w.Log.Add(topic, 1)
		all := h.w.Log.Partitions(topic)
		h.all = append(h.all, all[len(all)-1])
		h.record(all[len(all)-1], "put")
		h.note("partition added")
	}
	if chance("open") {
		h.note("open transaction")
		p := h.at()
		h.w.Log.Begin(p)
		h.record(p, "put")
	}
}

// cutOut excludes a range above the cut, or lets the log let go of one that an operator accepts.
func (h *drawn) cutOut(chance func(string) bool) {
	for _, flow := range slices.Sorted(maps.Keys(h.cut)) {
		for _, p := range h.cut[flow].Partitions() {
			from, end := h.cut[flow][p], h.w.Log.Stable(p)
			if from == end {
				continue
			}
			if chance("exclude") {
				r := position.Range{From: from + position.Offset(rapid.Int64Range(0, int64(end-from)-1).Draw(h.t, "excluded from"))}
				r.Until = r.From + position.Offset(rapid.Int64Range(1, int64(end-r.From)).Draw(h.t, "excluded"))
				exclude(h.test, h.w, flow, map[position.Partition]position.Range{p: r})
				h.note("excluded")
			}
			if chance("let go") && chance("of it") {
				h.w.Log.Trim(p, from+position.Offset(rapid.Int64Range(1, int64(end-from)).Draw(h.t, "let go")))
				h.note("accepted gap")
			}
		}
	}
}

// asked are the words of the command: gaps are accepted, and it may have to stop before the end.
func (h *drawn) asked() []changer {
	asked := []changer{allowGap}
	ends := position.Cut{}
	for _, flow := range slices.Sorted(maps.Keys(h.cut)) {
		for _, p := range h.cut[flow].Partitions() {
			if least, most := max(h.cut[flow][p], h.w.Log.Start(p)), h.w.Log.Stable(p); least < most && !h.seen["compacted"] && rapid.IntRange(0, 9).Draw(h.t, "stop") == 0 {
				ends[p] = position.Offset(rapid.Int64Range(int64(least), int64(most)).Draw(h.t, "until"))
				h.note("until")
			}
		}
	}
	if len(ends) > 0 {
		asked = append(asked, until(ends))
	}
	return asked
}

// compact writes one key twice and has the first record compacted away, so that the log has a hole that is none.
func (h *drawn) compact(p position.Partition) {
	h.note("compacted")
	key := h.key(p)
	gone := h.w.Log.Append(p, h.clock.tick(), recoverytest.Put(key, "old"))
	h.w.Log.Append(p, h.clock.tick(), recoverytest.Put(key, "new"))
	h.w.Log.Compact(p, gone)
}

// wantCounts: what the report says was applied is what the log has between the cut and the end, without what lies in gaps.
func (h *drawn) wantCounts(report recovery.Report, gaps []body.Gap) {
	for flow, cut := range recoverytest.CutOf(&report.Try) {
		want := 0
		for p, end := range cut {
			for at := h.cut[flow][p]; at < end; at++ {
				if !slices.ContainsFunc(gaps, func(g body.Gap) bool {
					return g.Flow == flow && g.Topic == p.Topic && g.Partition == p.Number && g.From <= at && at < g.Until
				}) {
					want += h.w.Log.Readable(p, position.Range{From: at, Until: at + 1})
				}
			}
		}
		if got := report.Replayed[flow]; got != (recovery.Replayed{Applied: want}) {
			h.t.Fatalf("flow %s: got %+v, want %d applied", flow, got, want)
		}
	}
}
