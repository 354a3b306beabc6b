//go:build integration

package integration_test

import (
	"strings"
	"testing"

	"tidemark/localstack/eventsource"
	"tidemark/shared/fault"
	"tidemark/shared/record"
)

// TestLimits goes to the limits of an event: 6 MB, in which a value is a third longer, and 10,000 records.
func TestLimits(t *testing.T) {
	t.Parallel()
	t.Run("ARecordOf4MBPasses", recordPasses)
	for name, bytes := range map[string]int{"ARecordOf4.5MBStopsTheSource": 9 << 19, "ARecordOf6MBStopsTheSource": 6 << 20} {
		t.Run(name, func(t *testing.T) { t.Parallel(); recordStopsTheSource(t, bytes) })
	}
	t.Run("AnEventOf10000Records", fullEvent)
}

// sized is an entry whose value has so many bytes.
func sized(id, bytes int) record.Record { return entry(id, strings.Repeat("x", bytes-overhead(id))) }

// overhead is what an entry's value takes beside its note.
func overhead(id int) int {
	empty := entry(id, "")
	return empty.Size()
}

func recordPasses(t *testing.T) {
	t.Parallel()
	s := newEntries(t, 1)
	s.publish(t, 0, entry(0, "n"), sized(1, 4<<20), entry(2, "n"))
	mustRun(t, s.source(t, s.topics[0], s.function(t, nil), nil))
	s.holds(t, 3)
	s.has(t, "SELECT length(note) FROM shop.entries ORDER BY id", []int{1, 4<<20 - overhead(1), 1})
}

// recordStopsTheSource has a record that fits no event. The service would leave it out without a word.
func recordStopsTheSource(t *testing.T, bytes int) {
	t.Helper()
	s := newEntries(t, 1)
	s.publish(t, 0, entry(0, "n"), sized(1, bytes), entry(2, "n"))
	source := s.source(t, s.topics[0], s.function(t, nil), nil)
	if err := run(t, source); !fault.Is(err, fault.Poison) || !strings.Contains(err.Error(), s.partition(0).String()+"@1 ") {
		t.Errorf("got %v of class %s, want poison that names the record", err, fault.ClassOf(err))
	}
	if got := source.Positions()[s.partition(0)]; got != 1 {
		t.Errorf("the source's position is %s, want 1: nothing is skipped", got)
	}
	s.holds(t, 1)
	s.stands(t, 0, 1)
}

func fullEvent(t *testing.T) {
	t.Parallel()
	const records = 10_000
	s := newEntries(t, 1)
	s.publish(t, 0, entries(0, records)...)
	f := s.function(t, nil)
	var events []int
	mustRun(t, s.source(t, s.topics[0], f, func(o *eventsource.Options) {
		o.BatchSize, o.Window = records, patience
		o.Events.OnDelivered = func(e eventsource.Event) { events = append(events, e.Records()) }
	}))
	if len(events) != 1 || events[0] != records {
		t.Errorf("got events of %d records, want one of %d", events, records)
	}
	if applied, skipped := f.counts(); applied != records || skipped != 0 {
		t.Errorf("applied %d and skipped %d, want %d and 0", applied, skipped, records)
	}
	s.holds(t, records)
	s.stands(t, 0, records)
}
