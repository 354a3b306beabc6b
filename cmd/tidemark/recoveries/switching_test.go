package recoveries_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/cmd/tidemark/exit"
	"tidemark/cmd/tidemark/recoveries"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/inspection"
	"tidemark/shared/recovery/switchover"
)

// cloud is a function with one mapping, which is where it is asked to be, and its group.
type cloud struct {
	mapping switchover.Mapping
	group   position.Cut
	lists   int
	denied  bool
}

func (c *cloud) List(context.Context, string) ([]switchover.Mapping, error) {
	c.lists++
	return []switchover.Mapping{c.mapping}, nil
}

func (c *cloud) Get(context.Context, string) (switchover.Mapping, error) { return c.mapping, nil }

func (c *cloud) Disable(context.Context, string) error {
	c.mapping.State = switchover.Disabled
	return nil
}

func (c *cloud) Enable(context.Context, string) error {
	c.mapping.State = switchover.Enabled
	return nil
}

func (c *cloud) Committed(context.Context, string, string) (position.Cut, error) { return c.group, nil }

func (c *cloud) Move(_ context.Context, _ string, to position.Cut, _ string) error {
	if c.denied {
		return fault.New(fault.Misconfigured, "denied")
	}
	c.group = to
	return nil
}

func (c *cloud) Bounds(context.Context, []position.Partition) (map[position.Partition]inspection.Bounds, error) {
	return map[position.Partition]inspection.Bounds{partition(): {End: 99}}, nil
}

func (c *cloud) Positions(context.Context, string) (position.Cut, error) {
	return position.Cut{partition(): 50}, nil
}

func partition() position.Partition { return position.Partition{Topic: "orders"} }

func (c *cloud) parts() switchover.Options {
	return switchover.Options{
		Mappings: c, Groups: c, Log: c, Target: c, Note: "n", Wait: func(context.Context, time.Duration) error { return nil },
	}
}

func newCloud() *cloud {
	return &cloud{
		mapping: switchover.Mapping{UUID: "u1", Topics: []string{"orders"}, Group: "g\x1b[2J", State: switchover.Enabled},
		group:   position.Cut{partition(): 90},
	}
}

func plan() recovery.Plan {
	return recovery.Plan{Tallies: []inspection.Tally{{Flow: "shop", Partition: partition()}}}
}

// TestSwitching does what one command does, and what the next one does that found what the first had kept.
func TestSwitching(t *testing.T) {
	t.Parallel()
	c := newCloud()
	first := recoveries.Switching{Asked: []string{"shop=shop-apply"}}
	kept, err := first.Prepare(t.Context(), c.parts(), plan(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Stop(t.Context()); err != nil || c.mapping.State != switchover.Disabled {
		t.Fatalf("stopped: %v, %s", err, c.mapping.State)
	}
	second := recoveries.Switching{Asked: first.Asked}
	if _, err := second.Prepare(t.Context(), c.parts(), plan(), kept); err != nil || c.lists != 1 {
		t.Fatalf("got %v after %d lists, want what was kept to do", err, c.lists)
	}
	done, err := second.Finish(t.Context())
	want := []string{
		`mapping u1 of topic orders: group g\x1b[2J moved from [orders/0=90] to [orders/0=50]; Enabled, last result: -`,
	}
	if diff := cmp.Diff(want, done.Lines()); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestSwitching_WarnsOfWhatNobodyKept(t *testing.T) {
	t.Parallel()
	s, resumed := recoveries.Switching{Asked: []string{"shop=shop-apply"}}, plan()
	resumed.Resumed = &recovery.Try{}
	if _, err := s.Prepare(t.Context(), newCloud().parts(), resumed, nil); err != nil || len(s.Warnings) != 1 {
		t.Errorf("got %v and %q", err, s.Warnings)
	}
}

func TestSwitching_Refuses(t *testing.T) {
	t.Parallel()
	for _, pair := range []string{"", "shop", "=f", "shop=", "other=f"} {
		c := newCloud()
		s := recoveries.Switching{Asked: []string{pair}}
		_, err := s.Prepare(t.Context(), c.parts(), plan(), nil)
		if usage := 2; exit.Code(err, false) != usage || c.lists > 0 {
			t.Errorf("%q: %v", pair, err)
		}
	}
	c, s := newCloud(), recoveries.Switching{Asked: []string{"shop=f"}}
	if _, err := s.Prepare(t.Context(), c.parts(), plan(), nil); err != nil {
		t.Fatal(err)
	}
	c.denied = true
	if _, err := s.Finish(t.Context()); exit.Code(err, false) != 31 {
		t.Errorf("the brokers refuse: %v, code %d", err, exit.Code(err, false))
	}
}

func TestByHand(t *testing.T) {
	t.Parallel()
	lines := recoveries.ByHand(plan(), map[string]position.Cut{"shop": {partition(): 50}}, []string{"a:1"}, false)
	text := strings.Join(lines, "\n")
	for _, want := range []string{
		"stop the functions:\n  aws lambda list-event-source-mappings", "then move their groups:\n  kafka-consumer-groups.sh " +
			"--bootstrap-server a:1 --group GROUP-OF-orders --topic orders:0 --reset-offsets --to-offset 50 --execute\n",
		"then start them:\n  aws lambda update-event-source-mapping --uuid UUID-OF-orders --enabled",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("got\n%s\nwant in it\n%s", text, want)
		}
	}
}
