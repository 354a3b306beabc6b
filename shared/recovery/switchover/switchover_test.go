package switchover_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/recovery/inspection"
	"tidemark/shared/recovery/switchover"
)

// states are the mappings' states.
func (w *world) states() map[string]switchover.State {
	states := map[string]switchover.State{}
	for uuid, m := range w.mappings {
		states[uuid] = m.State
	}
	return states
}

// ended verifies that the switch is done: on is what was, no group is ahead, and every one was moved or works.
func (w *world) ended() {
	w.t.Helper()
	want := map[string]switchover.State{"u1": switchover.Enabled, "u2": switchover.Enabled, "u3": switchover.Disabled}
	if diff := cmp.Diff(want, w.states()); diff != "" {
		w.t.Errorf("states (-want +got):\n%s", diff)
	}
	for group, topic := range map[string]string{"shop-orders": "orders", "u2": "lines", "shop-notes": "notes"} {
		for p, offset := range w.target["shop"] {
			if p.Topic == topic && w.groups[group][p] != offset {
				w.t.Errorf("group %s stands at %s, the target at %s in %s", group, w.groups[group], offset, p)
			}
		}
	}
}

func TestSwitch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.slow["u2"] = 4
	done, err := w.run(t.Context())
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	w.ended()
	var lines []string
	for _, d := range done {
		lines = append(lines, fmt.Sprint(d.UUID, " ", d.Topic, " of ", d.Group, " from ", d.From, " to ", d.To, " kept ", d.Kept, " ",
			d.State, " ", d.Last, " ", d.Notes))
	}
	want := []string{
		"u1 orders of shop-orders from " + at("orders", 90, 80).String() + " to " + at("orders", 50, 60).String() + " kept false Enabled OK []",
		"u2 lines of u2 from " + at("lines", 3).String() + " to " + at("lines", 8).String() + " kept false Enabled OK []",
		"u3 notes of shop-notes from " + at("notes", 5).String() + " to " + at("notes", 5).String() +
			" kept false Disabled  [it was not enabled when it was found, and is left so]",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"shop-orders": "recovery r1", "u2": "recovery r1"}, w.notes); diff != "" {
		t.Errorf("notes of what was moved (-want +got):\n%s", diff)
	}
	if i := slices.Index(w.calls, "enable"); slices.Contains(w.calls[i:], "move") {
		t.Errorf("a mapping is enabled before the last group is moved: %v", w.calls)
	}
}

// TestSwitch_SurvivesWhateverBreaks breaks every call in each form, and runs the same command again until it ends.
func TestSwitch_SurvivesWhateverBreaks(t *testing.T) {
	t.Parallel()
	whole := newWorld(t)
	if _, err := whole.run(t.Context()); err != nil {
		t.Fatal(fault.Line(err))
	}
	for _, name := range []string{
		"list", "get", "keep", "disable", "enable", "committed", "move", "bounds", "positions", "wait",
	} {
		if !slices.Contains(whole.calls, name) {
			t.Errorf("nothing calls %s", name)
		}
	}
	for _, how := range []form{before, after, killed} {
		for n := 1; n <= len(whole.calls); n++ {
			t.Run(fmt.Sprintf("%s/%02d_%s", how, n, whole.calls[n-1]), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.breakAt, w.breaking = n, how
				_, err := w.run(t.Context())
				if len(w.calls) < n || w.calls[n-1] != whole.calls[n-1] {
					t.Fatalf("call %d was not reached, or is another one: %v", n, w.calls)
				}
				if how != after && err == nil {
					t.Error("the call broke, and there is no error")
				}
				for runs := 0; err != nil; runs++ {
					if runs > 1 {
						t.Fatalf("the same command does not end: %s", fault.Line(err))
					}
					w.dead, w.members = false, map[string]int{}
					_, err = w.run(t.Context())
				}
				w.ended()
			})
		}
	}
}

// TestFinish_LeavesAloneWhatWorks: the same command once more neither stops nor moves anything.
func TestFinish_LeavesAloneWhatWorks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 2 {
		w.calls = nil
		done, err := w.run(t.Context())
		if err != nil {
			t.Fatal(fault.Line(err))
		}
		w.ended()
		if slices.Contains(w.calls, "move") {
			continue // the first run
		}
		if slices.Contains(w.calls, "disable") || slices.Contains(w.calls, "enable") || !done[0].Kept || !done[1].Kept || done[2].Kept {
			t.Errorf("called %v, told %+v, want what is on kept", w.calls, done)
		}
	}
}

// TestFinish_StopsWhatIsAhead: somebody enabled a mapping by hand while its group was where the lost target had been.
func TestFinish_StopsWhatIsAhead(t *testing.T) {
	t.Parallel()
	for name, committed := range map[string]position.Cut{
		"InAPartition": at("orders", 50, 61), "WhereTheTargetStandsNowhere": at("orders", 50, 60, 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			found, _, err := w.new().Find(t.Context(), flows())
			if err != nil {
				t.Fatal(err)
			}
			w.kept, err = found.Encode()
			if err != nil {
				t.Fatal(err)
			}
			w.live, w.groups["shop-orders"] = true, committed
			third := position.Partition{Topic: "orders", Number: 2}
			w.bounds[third] = inspection.Bounds{Start: 0, End: 9}
			done, err := w.new().Finish(t.Context(), found)
			if err != nil {
				t.Fatal(fault.Line(err))
			}
			if w.ended(); w.groups["shop-orders"][third] != w.target["shop"][third] || done[0].Kept {
				t.Errorf("group at %s, told %+v", w.groups["shop-orders"], done[0])
			}
			if want := len(committed) == 3; want != slices.ContainsFunc(done[0].Notes, func(n string) bool {
				return strings.Contains(n, third.String())
			}) {
				t.Errorf("notes %q", done[0].Notes)
			}
		})
	}
}

func TestFinish_Refuses(t *testing.T) {
	t.Parallel()
	first := position.Partition{Topic: "orders"}
	for name, c := range map[string]struct {
		change func(*world)
		class  fault.Class
		text   string
	}{
		"AnOffsetThatTheLogLetGoOf": {
			func(w *world) { w.bounds[first] = inspection.Bounds{Start: 51, End: 99} }, fault.Gap, "stands at 50 in orders/0, and the log has [51,99)",
		},
		"AnOffsetBehindTheLogsEnd": {
			func(w *world) { w.bounds[first] = inspection.Bounds{Start: 0, End: 49} }, fault.Gap, "stands at 50 in orders/0, and the log has [0,49)",
		},
		"AFlowThatWasNotRecovered": {
			func(w *world) { w.target["shop"] = position.Cut{} }, fault.Misconfigured, "stands nowhere in topic orders of flow shop",
		},
		"AMappingThatIsGone":   {func(w *world) { delete(w.mappings, "u2") }, fault.Misconfigured, "there is no mapping u2"},
		"AMappingThatIsGoing":  {func(w *world) { w.mappings["u2"].State = switchover.Deleting }, fault.Misconfigured, "u2 of topic lines Disabled"},
		"AGroupWithMembers":    {func(w *world) { w.members["shop-orders"] = 1 << 20 }, fault.Retryable, "shop-orders"},
		"AServiceThatIsStuck":  {func(w *world) { w.mappings["u2"].State, w.slow["u2"] = switchover.Disabling, 1<<20 }, fault.Retryable, "is Disabling"},
		"AGroupThatOthersMove": {func(*world) {}, fault.Retryable, "read back"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			found, _, err := w.new().Find(t.Context(), flows())
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range w.mappings {
				m.State = switchover.Disabled
			}
			w.kept, w.live = []byte("{}"), true
			c.change(w)
			o := w.options()
			if name == "AGroupThatOthersMove" {
				o.Groups = deaf{w}
			}
			done, err := switchover.New(o).Finish(t.Context(), found)
			if !fault.Is(err, c.class) || !strings.Contains(err.Error(), c.text) || len(done) != 3 {
				t.Errorf("got %v of class %s", err, fault.ClassOf(err))
			}
			if slices.Contains(w.calls, "enable") {
				t.Error("a mapping was enabled all the same")
			}
			if name != "AMappingThatIsGone" && !strings.Contains(fault.HintOf(err), "disabled now: u1 of topic orders") {
				t.Errorf("the hint is %q", fault.HintOf(err))
			}
			if limit := time.Hour; w.paused > limit {
				t.Errorf("waited for %s", w.paused)
			}
		})
	}
}

// deaf takes a move and keeps the offsets, as a group does in which something else commits.
type deaf struct{ *world }

func (d deaf) Move(context.Context, string, position.Cut, string) error { return nil }

func (w *world) options() switchover.Options {
	return switchover.Options{Mappings: w, Groups: w, Log: w, Target: w, Note: "n", Wait: w.wait}
}

func TestStop_SaysWhatIsDisabled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	found, _, err := w.new().Find(t.Context(), flows())
	if err != nil {
		t.Fatal(err)
	}
	w.kept, w.slow["u2"] = []byte("{}"), 1<<20
	ctx, cancel := context.WithCancel(t.Context())
	o := w.options()
	o.OnWait = func(string) {
		if w.mappings["u1"].State == switchover.Disabled && w.paused > 10*time.Second {
			cancel()
		}
	}
	err = switchover.New(o).Stop(ctx, found)
	if !fault.Is(err, fault.Retryable) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v of class %s", err, fault.ClassOf(err))
	}
	want := "disabled now: u1 of topic orders, u3 of topic notes; the same command goes on"
	if got := fault.HintOf(err); got != want {
		t.Errorf("hint %q, want %q", got, want)
	}
}
