//go:build integration

package integration_test

import (
	"context"
	"testing"

	"golang.org/x/sync/errgroup"

	"tidemark/localstack/eventsource"
)

// TestTogether has two event sources with a function each deliver the same partition at once, as the service may while it
// moves its pollers. The row lock in the target lets one through and shows the other what is there already.
//
// They take turns in the lead: the second begins with the first's first event, and the first waits at a quarter of the way
// until the second is half through.
func TestTogether(t *testing.T) {
	t.Parallel()
	const records, size = 400, 10
	s := newEntries(t, 1)
	s.publish(t, 0, entries(0, records)...)
	var functions [2]*function
	var delivered [2]*tally
	for i := range functions {
		functions[i], delivered[i] = s.function(t, nil), newTally()
	}
	first := gate{functions[0], func(ctx context.Context) error {
		if count, _ := delivered[0].now(); count < records/4 {
			return nil
		}
		return delivered[1].await(ctx, records/2)
	}}
	second := gate{functions[1], func(ctx context.Context) error { return delivered[0].await(ctx, size) }}

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	for i, handler := range []gate{first, second} {
		source := s.source(t, s.topics[0], handler, func(o *eventsource.Options) {
			o.BatchSize = size
			o.Events.OnAcknowledged = func(_ eventsource.Event, n int) { delivered[i].add(n) }
		})
		group.Go(func() error { return source.Run(ctx) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	total := 0
	for i, f := range functions {
		applied, skipped := f.counts()
		t.Logf("function %d applied %d and skipped %d", i+1, applied, skipped)
		if applied == 0 || applied+skipped != records {
			t.Errorf("function %d applied %d and skipped %d, want some, and %d together", i+1, applied, skipped, records)
		}
		total += applied
	}
	if total != records {
		t.Errorf("the two applied %d records, want each of %d once", total, records)
	}
	s.holds(t, records)
	s.stands(t, 0, records)
}
