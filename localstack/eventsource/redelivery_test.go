package eventsource_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/localstack/eventsource"
	"tidemark/shared/kafkaevent"
	"tidemark/shared/position"
	"tidemark/shared/record"
)

func TestSourceRedelivers(t *testing.T) {
	t.Parallel()
	broken := errors.New("the database is away")
	first := offsets{0: {0, 1, 2, 3}}
	for name, c := range map[string]struct {
		reading eventsource.Redelivery
		deaf    bool // ReportBatchItemFailures is off
		answers []func(record.Batch) ([]byte, error)
		want    []offsets
	}{
		"TheSameEventAfterAnError": {
			answers: []func(record.Batch) ([]byte, error){fail(broken), fail(broken)},
			want:    []offsets{first, first, first, {0: {4, 5}}},
		},
		"FromTheFirstListed": {
			answers: []func(record.Batch) ([]byte, error){list(0, 3, 1)},
			want:    []offsets{first, {0: {1, 2, 3, 4}}, {0: {5}}},
		},
		"OnlyTheListed": {
			reading: eventsource.OnlyListed,
			answers: []func(record.Batch) ([]byte, error){list(0, 3, 1)},
			want:    []offsets{first, {0: {1, 3}}, {0: {4, 5}}},
		},
		"OnlyTheListedUntilNoneIs": {
			reading: eventsource.OnlyListed,
			answers: []func(record.Batch) ([]byte, error){list(0, 0, 2), list(0, 2), fail(broken), list(0, 2)},
			want:    []offsets{first, {0: {0, 2}}, {0: {2}}, {0: {2}}, {0: {2}}, {0: {4, 5}}},
		},
		"EverythingAfterAReplyThatCannotBeRead": {
			answers: []func(record.Batch) ([]byte, error){say("done"), say(`{"batchItemFailures":[{"itemIdentifier":"1"}]}`)},
			want:    []offsets{first, first, first, {0: {4, 5}}},
		},
		"EverythingAfterAnOffsetThatWasNotThere": {
			answers: []func(record.Batch) ([]byte, error){list(0, 1, 4)},
			want:    []offsets{first, first, {0: {4, 5}}},
		},
		"EverythingAfterAPartitionThatWasNotThere": {
			reading: eventsource.OnlyListed,
			answers: []func(record.Batch) ([]byte, error){list(1, 1)},
			want:    []offsets{first, first, {0: {4, 5}}},
		},
		"NothingAfterAnEmptyReply": {
			answers: []func(record.Batch) ([]byte, error){say(`null`), say(`{"batchItemFailures":[]}`)},
			want:    []offsets{first, {0: {4, 5}}},
		},
		"NothingWhenRepliesAreNotLookedAt": {
			deaf:    true,
			answers: []func(record.Batch) ([]byte, error){list(0, 1), say("done")},
			want:    []offsets{first, {0: {4, 5}}},
		},
		"TheSameEventAfterAnErrorWhenRepliesAreNotLookedAt": {
			deaf:    true,
			answers: []func(record.Batch) ([]byte, error){fail(broken)},
			want:    []offsets{first, first, {0: {4, 5}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &script{t: t, answers: c.answers}
			src := source(t, log(t, 6), s.invoke, func(o *eventsource.Options) {
				o.BatchSize, o.Redelivery, o.ReportBatchItemFailures = 4, c.reading, !c.deaf
			})
			mustRun(t, src)
			if diff := cmp.Diff(c.want, s.seen()); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(position.Cut{at(0): 6}, src.Positions()); diff != "" {
				t.Errorf("positions (-want +got):\n%s", diff)
			}
		})
	}
}

// One partition fails whatever is tried; the others must get to their ends, and the position of the failing one must not
// move.
func TestSourceGoesOnBesideAFailingPartition(t *testing.T) {
	t.Parallel()
	for _, reading := range []eventsource.Redelivery{eventsource.Rewind, eventsource.OnlyListed} {
		t.Run(reading.String(), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), runDeadline)
			defer cancel()
			next := position.Cut{at(0): 0}
			src := source(t, log(t, 60, 60, 60), func(_ context.Context, payload []byte) ([]byte, error) {
				batch, err := kafkaevent.Decode(payload)
				if err != nil {
					t.Error(err)
				}
				for _, run := range batch {
					if run.Partition != at(0) {
						next[run.Partition] = run.Range().Until
					}
				}
				if next[at(1)] == 60 && next[at(2)] == 60 {
					defer cancel()
				}
				if kafkaevent.NoneApplied(batch, next) {
					return nil, errors.New("nothing was applied")
				}
				return kafkaevent.Reply(batch, next), nil
			}, func(o *eventsource.Options) { o.UntilEnd, o.BatchSize, o.Redelivery = false, 25, reading })
			if err := src.Run(ctx); !errors.Is(err, context.Canceled) {
				t.Fatalf("got %v, want context.Canceled: the others never came to their ends, next is %s", err, next)
			}
			if got := src.Positions()[at(0)]; got != 0 {
				t.Errorf("got position %s of the failing partition, want 0", got)
			}
		})
	}
}

func TestSourceReportsEvents(t *testing.T) {
	t.Parallel()
	type line struct {
		What                          string
		Records, Redelivered, Attempt int
	}
	var got []line
	s := &script{t: t, answers: []func(record.Batch) ([]byte, error){fail(errors.New("no")), list(0, 1), say("")}}
	src := source(t, log(t, 4), s.invoke, func(o *eventsource.Options) {
		o.BatchSize = 3
		o.Events = eventsource.Events{
			OnDelivered: func(e eventsource.Event) {
				if e.Bytes == 0 {
					t.Error("got an event of no bytes")
				}
				got = append(got, line{"delivered", e.Records(), e.Redelivered, e.Attempt})
			},
			OnAcknowledged: func(e eventsource.Event, n int) {
				got = append(got, line{"acknowledged", n, e.Redelivered, e.Attempt})
			},
			OnFailed: func(e eventsource.Event, n int, err error) {
				if err == nil {
					t.Error("got a failure without a cause")
				}
				got = append(got, line{"failed", n, e.Redelivered, e.Attempt})
			},
		}
	})
	mustRun(t, src)
	want := []line{
		{"delivered", 3, 0, 1},
		{"failed", 3, 0, 1},
		{"delivered", 3, 3, 2},
		{"acknowledged", 1, 3, 2},
		{"failed", 2, 3, 2},
		{"delivered", 3, 2, 2},
		{"acknowledged", 3, 2, 2},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}
