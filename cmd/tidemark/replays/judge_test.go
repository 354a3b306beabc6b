package replays_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"tidemark/cmd/tidemark/replays"
	"tidemark/cmd/tidemark/report/listing"
	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/position"
	"tidemark/shared/recovery/inspection"
)

// brokers hold one topic of two partitions, of which each has the records from 100 to 200.
type brokers struct {
	topic inspection.Topic
	err   error
	asked int
}

func (b *brokers) Topics(_ context.Context, names []string) (map[string]inspection.Topic, error) {
	b.asked++
	found := map[string]inspection.Topic{}
	for _, name := range names {
		if name == "orders" {
			found[name] = b.topic
		}
	}
	return found, b.err
}

func (b *brokers) Bounds(_ context.Context, of []position.Partition) (map[position.Partition]inspection.Bounds, error) {
	found := map[position.Partition]inspection.Bounds{}
	for _, p := range of {
		found[p] = inspection.Bounds{Start: 100, Stable: 190, End: 200}
	}
	return found, nil
}

func listed(cut ...body.Partition) listing.Manifest {
	m := listing.Manifest{Objects: make([]manifest.Object, 1)}
	m.Body.Cut, m.Body.Snapshot.Taken = cut, day(0)
	return m
}

func day(n int) time.Time { return time.Date(2026, 7, 1+n, 0, 0, 0, 0, time.UTC) }

func at(number int32, next position.Offset, id string) body.Partition {
	return body.Partition{Flow: "shop", Topic: "orders", Partition: number, NextOffset: next, TopicID: id}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	plain := inspection.Topic{ID: "A", Partitions: 2, Deleted: true}
	compacted := inspection.Topic{ID: "A", Partitions: 2, Compacted: true, DeleteRetention: 24 * time.Hour}
	elsewhere := body.Partition{Flow: "shop", Topic: "gone"}
	late := at(1, 150, "A")
	late.RecordTime = new(day(1))
	for name, c := range map[string]struct {
		topic inspection.Topic
		cut   []body.Partition
		want  listing.LogState
		why   string
	}{
		"AllIsThere":               {plain, []body.Partition{at(0, 100, "A"), at(1, 200, "")}, listing.Replayable, ""},
		"NothingIsWanted":          {plain, nil, listing.Replayable, ""},
		"SomeIsGone":               {plain, []body.Partition{at(0, 99, "A"), at(1, 150, "A")}, listing.LogGap, "orders/0 begins at 100, behind 99"},
		"APartitionThatCameLater":  {plain, []body.Partition{at(0, 150, "A")}, listing.LogGap, "orders/1 begins at 100, behind 0"},
		"TheLogIsShorter":          {plain, []body.Partition{at(0, 99, "A"), at(1, 201, "A")}, listing.NoLog, "orders/1 ends at 200, before 201"},
		"TheTopicIsAnother":        {plain, []body.Partition{at(0, 150, "B"), at(1, 150, "B")}, listing.NoLog, "made anew"},
		"NoSuchTopic":              {plain, []body.Partition{at(0, 150, "A"), at(1, 150, "A"), elsewhere}, listing.NoLog, "no partition gone/0"},
		"NoSuchPartition":          {plain, []body.Partition{at(2, 150, "A")}, listing.NoLog, "no partition orders/2"},
		"DeletesMayBeGone":         {compacted, []body.Partition{at(0, 150, "A"), late}, listing.LogGap, "keeps deletes for 24h"},
		"DeletesAreThere":          {compacted, []body.Partition{late, atTime(at(0, 150, "A"), day(1))}, listing.Replayable, ""},
		"NoDeletesBeforeAnyRecord": {compacted, []body.Partition{late, at(0, 0, "A")}, listing.LogGap, "behind 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list, log := []listing.Manifest{listed(c.cut...)}, &brokers{topic: c.topic}
			replays.Judge(t.Context(), list, log, day(1).Add(time.Hour))
			if got := list[0].Log; got.State != c.want || !strings.Contains(got.Why, c.why) || (got.Why == "") != (c.why == "") {
				t.Errorf("got %+v, want %s with %q", got, c.want, c.why)
			}
		})
	}
	t.Run("AsksOnceForAll", func(t *testing.T) {
		t.Parallel()
		list, log := []listing.Manifest{listed(at(0, 150, "A"), at(1, 150, "A")), listed(at(0, 1, "A")), {}}, &brokers{topic: plain}
		replays.Judge(t.Context(), list, log, day(1))
		for i, want := range []listing.LogState{listing.Replayable, listing.LogGap, listing.UnknownLog} {
			if list[i].Log.State != want {
				t.Errorf("manifest %d: got %s, want %s", i, list[i].Log, want)
			}
		}
		if log.asked != 1 {
			t.Errorf("%d questions, want 1", log.asked)
		}
	})
	t.Run("SaysWhyNobodyAnswered", func(t *testing.T) {
		t.Parallel()
		list := []listing.Manifest{listed(at(0, 150, "A"))}
		replays.Judge(t.Context(), list, &brokers{err: fault.Wrap(fault.Retryable, errors.New("no answer in time"))}, day(1))
		if got := list[0].Log; got.State != listing.UnknownLog || !strings.Contains(got.Why, "no answer in time") {
			t.Errorf("got %+v", got)
		}
	})
}

func atTime(p body.Partition, when time.Time) body.Partition {
	p.RecordTime = &when
	return p
}
