package replay_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/apply"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/record"
	"tidemark/shared/recovery/replay"
)

// tail gives records of some partitions in answers of one size, each partition as many.
type tail struct {
	at, ends position.Cut
	answer   int
	lost     position.Offset // the log has nothing from there on; 0: it has all
}

func (t *tail) Next(context.Context) (record.Batch, position.Cut, error) {
	var batch record.Batch
	moved := position.Cut{}
	for _, p := range t.at.Partitions() {
		from := t.at[p]
		if t.lost > 0 && from >= t.lost {
			return nil, nil, fault.Wrap(fault.Gap, replay.ErrOutOfRange)
		}
		until := min(from+position.Offset(t.answer/len(t.ends)), t.ends[p])
		run := record.Run{Partition: p}
		for offset := from; offset < until; offset++ {
			run.Records = append(run.Records, record.Record{
				Offset: offset, Time: time.UnixMilli(int64(offset)), Value: record.Present([]byte("value")),
			})
		}
		if len(run.Records) > 0 {
			batch = append(batch, run)
		}
		t.at[p], moved[p] = until, until
	}
	return batch, moved, nil
}

func (*tail) Close() {}

// taker takes everything.
type taker struct{ sizes []int }

func (a *taker) Apply(_ context.Context, batch record.Batch) (apply.Outcome, error) {
	outcome := apply.Outcome{Partitions: make([]apply.PartitionOutcome, 0, len(batch))}
	size := 0
	for _, run := range batch {
		size += len(run.Records)
		outcome.Partitions = append(outcome.Partitions, apply.PartitionOutcome{
			Partition: run.Partition, Next: run.Range().Until, Applied: len(run.Records),
		})
	}
	a.sizes = append(a.sizes, size)
	return outcome, nil
}

// options are those of a replay of so many records of each partition.
func options(partitions int, records position.Offset, answer int, to replay.Applier) replay.Options {
	from, ends := position.Cut{}, position.Cut{}
	for n := range partitions {
		p := position.Partition{Topic: "t", Number: int32(n)}
		from[p], ends[p] = 0, records
	}
	return replay.Options{Tail: &tail{at: from, ends: ends, answer: answer}, Applier: to, Ends: ends}
}

// TestRunGathers: a log that has much at hand is applied in whole batches, and one that gives little as it comes.
func TestRunGathers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		partitions, answer int
		records            position.Offset
		want               []int
	}{
		"MuchIntoWholeBatches":         {1, 4_000, 25_000, []int{10_000, 10_000, 5_000}},
		"AsFarAsTheirOrderIsKnown":     {5, 4_000, 5_000, []int{10_000, 9_996, 5_004}},
		"LessThanABatchAtTheEnd":       {1, 4_000, 5_000, []int{5_000}},
		"NothingOfWhatTricklesIn":      {1, 10, 30, []int{10, 10, 10}},
		"NothingWhenAnAnswerIsABatch":  {1, 10_000, 30_000, []int{10_000, 10_000, 10_000}},
		"NoMoreThanABatchOfALargeOne":  {1, 25_000, 25_000, []int{10_000, 10_000, 5_000}},
		"NothingForRecordsThatAreNone": {1, 4_000, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var to taker
			counts, err := replay.Run(t.Context(), options(test.partitions, test.records, test.answer, &to))
			want := replay.Counts{Applied: int(test.records) * test.partitions}
			if diff := cmp.Diff(test.want, to.sizes); diff != "" || err != nil || counts != want {
				t.Errorf("%v, %+v (-want +got):\n%s", err, counts, diff)
			}
		})
	}
}

// TestRunKeepsWhatItGathered: what was read and waited for a whole batch is in before the log's loss is told.
func TestRunKeepsWhatItGathered(t *testing.T) {
	t.Parallel()
	var to taker
	o := options(1, 25_000, 4_000, &to)
	o.Tail = &tail{at: position.Cut{{Topic: "t"}: 0}, ends: o.Ends, answer: 4_000, lost: 16_000}
	counts, err := replay.Run(t.Context(), o)
	if !errors.Is(err, replay.ErrOutOfRange) || counts.Applied != 16_000 || !slices.Equal(to.sizes, []int{10_000, 6_000}) {
		t.Errorf("%v, %+v in batches of %v", err, counts, to.sizes)
	}
}

// BenchmarkRun is what replay adds to apply, by the number of partitions.
func BenchmarkRun(b *testing.B) {
	for _, partitions := range []int{1, 12, 100} {
		b.Run(fmt.Sprint(partitions), func(b *testing.B) {
			const records = 120_000
			for b.Loop() {
				if _, err := replay.Run(b.Context(), options(partitions, position.Offset(records/partitions), 6_000, &taker{})); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/records, "ns/record")
		})
	}
}
