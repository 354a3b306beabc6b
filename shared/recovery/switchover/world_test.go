package switchover_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/recovery/inspection"
	"tidemark/shared/recovery/switchover"
)

// form is what goes wrong at a call.
type form string

const (
	before form = "AnErrorBefore"
	after  form = "AReplyDroppedAfter"
	killed form = "AKillAfter"
)

var (
	errRefused = fault.New(fault.Misconfigured, "refused").WithHint("allow it")
	errDropped = fault.New(fault.Retryable, "no reply")
	errKilled  = errors.New("killed")
)

// world is the service, the brokers, the database and the caller's memory. It counts the calls, breaks one of them, and holds
// every act against what may be done then.
type world struct {
	t *testing.T

	mappings map[string]*switchover.Mapping
	members  map[string]int // of a group: so many pauses until they are gone
	slow     map[string]int // of a mapping: so many looks until its state is there
	groups   map[string]position.Cut
	notes    map[string]string
	target   map[string]position.Cut
	bounds   map[position.Partition]inspection.Bounds

	kept     json.RawMessage // the record
	live     bool            // the target is
	calls    []string
	breakAt  int
	breaking form
	dead     bool
	told     []string
	paused   time.Duration
}

func at(topic string, offsets ...int64) position.Cut {
	cut := position.Cut{}
	for i, offset := range offsets {
		cut[position.Partition{Topic: topic, Number: int32(i)}] = position.Offset(offset)
	}
	return cut
}

// newWorld has a flow of three topics: one whose mapping is on, one whose group is the mapping's UUID, one that was off.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		t: t, members: map[string]int{"shop-orders": 2}, slow: map[string]int{}, notes: map[string]string{},
		mappings: map[string]*switchover.Mapping{
			"u1": {UUID: "u1", Topics: []string{"orders"}, Group: "shop-orders", State: switchover.Enabled},
			"u2": {UUID: "u2", Topics: []string{"lines"}, State: switchover.Enabled},
			"u3": {UUID: "u3", Topics: []string{"notes"}, Group: "shop-notes", State: switchover.Disabled},
		},
		groups: map[string]position.Cut{
			"shop-orders": at("orders", 90, 80), "u2": at("lines", 3), "shop-notes": at("notes", 5),
		},
		target: map[string]position.Cut{"shop": {}, "other": at("elsewhere", 7)},
		bounds: map[position.Partition]inspection.Bounds{},
	}
	for _, cut := range []position.Cut{at("orders", 50, 60), at("lines", 8), at("notes", 5)} {
		maps.Copy(w.target["shop"], cut)
		for p := range cut {
			w.bounds[p] = inspection.Bounds{Start: 0, Stable: 1000, End: 1000}
		}
	}
	return w
}

func flows() []switchover.Flow {
	return []switchover.Flow{{Name: "shop", Function: "apply", Topics: []string{"lines", "notes", "orders"}}}
}

func (w *world) new() *switchover.Switch {
	return switchover.New(switchover.Options{
		Mappings: w, Groups: w, Log: w, Target: w, Note: "recovery r1", Wait: w.wait,
		OnWait: func(what string) { w.told = append(w.told, what) },
	})
}

// call does an act unless it is the one that breaks.
func (w *world) call(name string, act func() error) error {
	if w.dead {
		return errKilled
	}
	w.calls = append(w.calls, name)
	if len(w.calls) != w.breakAt {
		return act()
	}
	if w.breaking == before {
		return errRefused
	}
	err := act()
	switch {
	case w.breaking == killed:
		w.dead = true
		return errKilled
	case err != nil:
		return err
	}
	return errDropped
}

// run is what the command does, from its beginning.
func (w *world) run(ctx context.Context) ([]switchover.Done, error) {
	s := w.new()
	if w.kept == nil {
		found, _, err := s.Find(ctx, flows())
		if err != nil {
			return nil, err
		}
		encoded, err := found.Encode()
		if err != nil {
			return nil, err
		}
		if err := w.call("keep", func() error { w.kept = encoded; return nil }); err != nil {
			return nil, err
		}
	}
	record, err := switchover.ParseRecord(w.kept)
	if err != nil {
		return nil, err
	}
	if !w.live {
		if err := s.Stop(ctx, record); err != nil {
			return nil, err
		}
		w.live = true
	}
	return s.Finish(ctx, record)
}

// ahead says whether a group is further than the target in the mapping's topic.
func (w *world) ahead(m *switchover.Mapping) bool {
	for p, offset := range w.groups[w.groupOf(m)] {
		if w.target["shop"][p].Before(offset) {
			return true
		}
	}
	return false
}

func (w *world) groupOf(m *switchover.Mapping) string {
	if m.Group != "" {
		return m.Group
	}
	return m.UUID
}

// poll has functions that are on go forward: first the target, then the group.
func (w *world) poll() {
	for _, m := range w.mappings {
		group := w.groups[w.groupOf(m)]
		if m.State != switchover.Enabled || !w.live || w.ahead(m) {
			continue
		}
		for p := range group {
			w.target["shop"][p]++
			group[p] = w.target["shop"][p]
		}
	}
}

// List gives every mapping. See switchover.Mappings.
func (w *world) List(context.Context, string) (listed []switchover.Mapping, err error) {
	err = w.call("list", func() error {
		for _, uuid := range slices.Sorted(maps.Keys(w.mappings)) {
			listed = append(listed, *w.mappings[uuid])
		}
		return nil
	})
	return listed, err
}

// Get gives a mapping. See switchover.Mappings.
func (w *world) Get(_ context.Context, uuid string) (found switchover.Mapping, err error) {
	err = w.call("get", func() error {
		m, known := w.mappings[uuid]
		if !known {
			return fault.New(fault.Misconfigured, "there is no mapping %s", uuid)
		}
		found = *m
		if w.slow[uuid]--; w.slow[uuid] <= 0 {
			switch m.State { //nolint:exhaustive // what does not move stays
			case switchover.Disabling:
				m.State = switchover.Disabled
			case switchover.Enabling, switchover.Updating:
				m.State, m.Last = switchover.Enabled, "OK"
			}
		}
		w.poll()
		return nil
	})
	if err != nil {
		return switchover.Mapping{}, err
	}
	return found, nil
}

// Disable asks for a state. See switchover.Mappings.
func (w *world) Disable(_ context.Context, uuid string) error {
	return w.call("disable", func() error {
		m := w.mappings[uuid]
		switch {
		case w.kept == nil:
			w.t.Errorf("%s is disabled before its state is on record", uuid)
		case m.State == switchover.Disabling || m.State == switchover.Enabling:
			return fault.New(fault.Retryable, "mapping %s is in use", uuid)
		case w.live && m.State == switchover.Enabled && !w.ahead(m):
			w.t.Errorf("%s is disabled although it works", uuid)
		}
		m.State = switchover.Disabling
		return nil
	})
}

// Enable asks for a state. See switchover.Mappings.
func (w *world) Enable(_ context.Context, uuid string) error {
	return w.call("enable", func() error {
		m := w.mappings[uuid]
		if !w.live || w.ahead(m) {
			w.t.Errorf("%s is enabled with its group at %s, live %t, the target at %s", uuid, w.groups[w.groupOf(m)], w.live,
				w.target["shop"])
		}
		m.State = switchover.Enabling
		return nil
	})
}

// Committed is where a group stands. See switchover.Groups.
func (w *world) Committed(_ context.Context, group, _ string) (cut position.Cut, err error) {
	err = w.call("committed", func() error { cut = maps.Clone(w.groups[group]); return nil })
	return cut, err
}

// Move commits offsets. See switchover.Groups.
func (w *world) Move(_ context.Context, group string, to position.Cut, note string) error {
	return w.call("move", func() error {
		if w.members[group] > 0 {
			return fault.New(fault.Retryable, "move: %w", switchover.ErrMembers)
		}
		for uuid, m := range w.mappings {
			if w.groupOf(m) == group && m.State != switchover.Disabled {
				w.t.Errorf("group %s is moved while mapping %s is %s", group, uuid, m.State)
			}
		}
		w.groups[group], w.notes[group] = maps.Clone(to), note
		return nil
	})
}

// Bounds give where partitions begin and end. See switchover.Log.
func (w *world) Bounds(_ context.Context, of []position.Partition) (map[position.Partition]inspection.Bounds, error) {
	bounds := map[position.Partition]inspection.Bounds{}
	err := w.call("bounds", func() error {
		for _, p := range of {
			bounds[p] = w.bounds[p]
		}
		return nil
	})
	return bounds, err
}

// Positions are the checkpoints. See switchover.Target.
func (w *world) Positions(_ context.Context, flow string) (cut position.Cut, err error) {
	err = w.call("positions", func() error { cut = maps.Clone(w.target[flow]); return nil })
	return cut, err
}

func (w *world) wait(ctx context.Context, pause time.Duration) error {
	return w.call("wait", func() error {
		w.paused += pause
		for group := range w.members {
			w.members[group]--
		}
		return ctx.Err()
	})
}
