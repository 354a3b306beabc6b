package switchover_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/fault"
	"tidemark/shared/recovery/switchover"
)

func TestFind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mappings["u1"].State, w.mappings["u2"].Starts = switchover.Updating, "LATEST"
	w.mappings["u4"] = &switchover.Mapping{UUID: "u4", Topics: []string{"orders"}, State: switchover.Deleting}
	asked := flows()
	asked[0].Topics = append(asked[0].Topics, "unpolled")
	found, warnings, err := w.new().Find(t.Context(), asked)
	if err != nil {
		t.Fatal(fault.Line(err))
	}
	want := switchover.Record{Format: 1, Mappings: []switchover.Remembered{
		{Flow: "shop", UUID: "u1", Topic: "orders", Group: "shop-orders", Enabled: true},
		{Flow: "shop", UUID: "u2", Topic: "lines", Group: "u2", Enabled: true},
		{Flow: "shop", UUID: "u3", Topic: "notes", Group: "shop-notes"},
	}}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
	wantWarnings := []string{
		"mapping u2 of topic lines has no ConsumerGroupId: its group is its UUID, and one made anew begins elsewhere",
		"mapping u2 of topic lines starts at LATEST: it skips the first records of partitions that are added",
		"mapping u4 of topic orders is being deleted, and is left alone",
		"no mapping that was found is of topic unpolled of flow shop: what polls it is not switched",
	}
	if diff := cmp.Diff(wantWarnings, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	for uuid, m := range w.mappings {
		if uuid != "u1" && m.State == switchover.Disabling {
			t.Errorf("%s was touched", uuid)
		}
	}
}

func TestFind_Refuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*world, []switchover.Flow) []switchover.Flow
		text   string
	}{
		"AFunctionWithoutMappings": {func(w *world, f []switchover.Flow) []switchover.Flow {
			clear(w.mappings)
			return f
		}, "function apply of flow shop has no event source mapping"},
		"ATopicOfAnotherFlow": {func(w *world, f []switchover.Flow) []switchover.Flow {
			w.mappings["u2"].Topics = []string{"strange"}
			return f
		}, "mapping u2 is of topic strange, which is no topic of flow shop; and mapping u1 of topic orders fits"},
		"AQueue": {func(w *world, f []switchover.Flow) []switchover.Flow {
			w.mappings["u2"].Topics, w.mappings["u2"].Source = nil, "arn:queue"
			return f
		}, "mapping u2 is of source arn:queue, not of one topic"},
		"TwoTopicsInOne": {func(w *world, f []switchover.Flow) []switchover.Flow {
			w.mappings["u2"].Topics = []string{"orders", "lines"}
			return f
		}, "mapping u2 is of topic orders, lines, not of one topic"},
		"TwoOfOneTopic": {func(w *world, f []switchover.Flow) []switchover.Flow {
			w.mappings["u2"].Topics = []string{"orders"}
			return f
		}, "mappings u1 and u2 are both of topic orders of flow shop"},
		"AStateThatIsNew": {func(w *world, f []switchover.Flow) []switchover.Flow {
			w.mappings["u2"].State = "Paused"
			return f
		}, `mapping u2 of topic lines is in state "Paused"`},
		"AFunctionOfTwoFlows": {func(_ *world, f []switchover.Flow) []switchover.Flow {
			return append(f, switchover.Flow{Name: "other", Function: "apply", Topics: []string{"elsewhere"}})
		}, "function apply is named for flow shop and for flow other"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			found, _, err := w.new().Find(t.Context(), c.change(w, flows()))
			if !fault.Is(err, fault.Misconfigured) || !strings.Contains(err.Error(), c.text) || fault.HintOf(err) == "" {
				t.Errorf("got %v of class %s, want %q", err, fault.ClassOf(err), c.text)
			}
			if len(found.Mappings) > 0 {
				t.Errorf("got %+v beside the refusal", found)
			}
		})
	}
}

// TestRecord survives a database that keeps JSON in its own order.
func TestRecord(t *testing.T) {
	t.Parallel()
	want := switchover.Record{Format: 1, Mappings: []switchover.Remembered{
		{Flow: "shop", Function: "arn", UUID: "u1", Topic: "orders", Group: "g", Enabled: true},
	}}
	encoded, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	var loose map[string]any
	if err := json.Unmarshal(encoded, &loose); err != nil {
		t.Fatal(err)
	}
	if encoded, err = json.MarshalIndent(loose, "", " "); err != nil {
		t.Fatal(err)
	}
	got, err := switchover.ParseRecord(encoded)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, bad := range []string{"", "[]", "{}", `{"format":2,"mappings":[]}`, `{"format":1,"mappings":[{"uuid":"u1"}]}`} {
		if _, err := switchover.ParseRecord([]byte(bad)); !fault.Is(err, fault.Misconfigured) || fault.HintOf(err) == "" {
			t.Errorf("%q: %v of class %s", bad, err, fault.ClassOf(err))
		}
	}
}
