package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"tidemark/shared/config"
	"tidemark/shared/kafkaevent"
)

// TestSampleEvent reads the apply function's sample event as the function does.
func TestSampleEvent(t *testing.T) {
	t.Parallel()
	event, err := os.ReadFile("../../functions/apply/event.json")
	if err != nil {
		t.Fatal(err)
	}
	batch, err := kafkaevent.Decode(event)
	if err != nil {
		t.Fatal(err)
	}
	flow, err := config.ReadFlow(sampleFlow)
	if err != nil {
		t.Fatal(err)
	}
	records, tombstones := 0, 0
	for _, run := range batch {
		if !slices.Contains(flow.Topics, run.Partition.Topic) {
			t.Errorf("topic %s is not in the sample flow, whose topics are %v", run.Partition.Topic, flow.Topics)
		}
		for _, r := range run.Records {
			records++
			if r.Malformed != nil {
				t.Errorf("%s@%s: %v", run.Partition, r.Offset, r.Malformed)
			}
			if r.IsTombstone() {
				tombstones++
			}
			if !r.IsTombstone() && !json.Valid(r.Value.Bytes()) {
				t.Errorf("%s@%s: its value is not JSON", run.Partition, r.Offset)
			}
		}
	}
	if len(batch) < 2 || tombstones == 0 || tombstones == records {
		t.Errorf("got %d partitions and %d tombstones among %d records: a sample shows several, and both kinds",
			len(batch), tombstones, records)
	}
	if !strings.Contains(string(event), `"eventSource": "aws:kafka"`) {
		t.Error("it does not come from an MSK cluster, as the template's events do")
	}
}
