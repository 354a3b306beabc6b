package memorylog

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/record"
	"tidemark/shared/recovery"
	"tidemark/shared/recovery/inspection"
)

// Process is who reads: each of its calls passes through Do, which may break it.
type Process interface {
	Do(ctx context.Context, method string, effect func() error) error
	// Opened counts the readers that are open.
	Opened(by int)
}

// View is the log as one process sees it.
type View struct {
	*Log

	Process Process
}

var _ recovery.Log = View{}

// ClusterID is a call.
func (v View) ClusterID(ctx context.Context) (id string, err error) {
	err = v.Process.Do(ctx, "ClusterID", func() error { id = v.Cluster; return nil })
	return id, err
}

// Topics is a call.
func (v View) Topics(ctx context.Context, names []string) (map[string]inspection.Topic, error) {
	found := map[string]inspection.Topic{}
	err := v.Process.Do(ctx, "Topics", func() error {
		v.mu.Lock()
		defer v.mu.Unlock()
		for _, name := range names {
			if t, known := v.topics[name]; known {
				found[name] = t.Topic
			}
		}
		return nil
	})
	return found, err
}

// Bounds is a call.
func (v View) Bounds(ctx context.Context, partitions []position.Partition) (map[position.Partition]inspection.Bounds, error) {
	bounds := map[position.Partition]inspection.Bounds{}
	err := v.Process.Do(ctx, "Bounds", func() error {
		v.mu.Lock()
		defer v.mu.Unlock()
		for _, p := range partitions {
			of := v.of(p)
			bounds[p] = inspection.Bounds{Start: of.start, Stable: of.stable(), End: of.end}
		}
		return nil
	})
	return bounds, err
}

// OffsetAt is a call. Partitions that are not there end at 0.
func (v View) OffsetAt(ctx context.Context, p position.Partition, at time.Time) (found position.Offset, err error) {
	err = v.Process.Do(ctx, "OffsetAt", func() error {
		v.mu.Lock()
		defer v.mu.Unlock()
		of := v.of(p)
		for found = of.start; found < of.stable(); found++ {
			if e := of.entries[found]; !e.gone && e.kind != control && !e.Time.Before(at) {
				return nil
			}
		}
		found = of.stable()
		return nil
	})
	return found, err
}

// EpochEnd is a call.
func (v View) EpochEnd(ctx context.Context, p position.Partition, epoch int32) (end position.Offset, err error) {
	err = v.Process.Do(ctx, "EpochEnd", func() error {
		v.mu.Lock()
		defer v.mu.Unlock()
		of := v.of(p)
		if epoch > of.epoch {
			return fault.New(fault.Gap, "%s has no leader epoch %d", p, epoch)
		}
		for end = of.end; end > of.start && of.entries[end-1].epoch > epoch; {
			end--
		}
		return nil
	})
	return end, err
}

// Open is a call.
func (v View) Open(ctx context.Context, from position.Cut) (recovery.Tail, error) {
	opened := &tail{log: v.Log, process: v.Process, at: position.Cut{}, ids: map[string]string{}}
	err := v.Process.Do(ctx, "Open", func() error {
		v.mu.Lock()
		defer v.mu.Unlock()
		for p, offset := range from {
			if v.topics[p.Topic] == nil || p.Number >= v.topics[p.Topic].Partitions {
				return fault.New(fault.Misconfigured, "open %s: no such partition", p)
			}
			opened.at[p], opened.ids[p.Topic] = offset, v.topics[p.Topic].ID
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	v.Process.Opened(1)
	return opened, nil
}

// tail reads in odd pieces: some partitions at a time, some offsets of each, and now and then nothing.
type tail struct {
	log     *Log
	process Process
	at      position.Cut
	ids     map[string]string
}

// Close ends it.
func (t *tail) Close() { t.process.Opened(-1) }

// Next is a call. One whose reply is lost has moved nothing: the reader asks again.
func (t *tail) Next(ctx context.Context) (batch record.Batch, moved position.Cut, err error) {
	at := position.Cut{}
	starved := false
	err = t.process.Do(ctx, "Next", func() (err error) {
		batch, at, err = t.read()
		starved = err == nil && at == nil
		return err
	})
	switch {
	case err != nil:
		return nil, nil, err
	case starved && t.log.Waits:
		<-ctx.Done()
		return nil, nil, fault.New(fault.Retryable, "read on: %w", ctx.Err())
	case starved:
		return nil, nil, fault.New(fault.Bug, "the reader at %s waits for what does not come", t.at)
	}
	for p, offset := range at {
		t.at[p] = offset
	}
	return batch, at, nil
}

// read gives the next piece: a nil cut when nothing can come.
func (t *tail) read() (record.Batch, position.Cut, error) {
	t.log.mu.Lock()
	defer t.log.mu.Unlock()
	var readable []position.Partition
	for _, p := range t.at.Partitions() {
		if err := t.check(p); err != nil {
			return nil, nil, err
		}
		if t.at[p] < t.log.of(p).stable() && (t.log.Held == nil || !t.log.Held(p)) {
			readable = append(readable, p)
		}
	}
	random := t.log.random
	switch {
	case len(readable) == 0:
		return nil, nil, nil
	case random.IntN(5) == 0:
		return nil, position.Cut{}, nil
	}
	random.Shuffle(len(readable), func(i, j int) { readable[i], readable[j] = readable[j], readable[i] })
	readable = readable[:1+random.IntN(len(readable))]
	slices.SortFunc(readable, position.Partition.Compare)
	batch, moved := t.portion(readable)
	return batch, moved, nil
}

// portion is some offsets of each of these partitions. The caller holds the lock.
func (t *tail) portion(of []position.Partition) (batch record.Batch, moved position.Cut) {
	moved = position.Cut{}
	for _, p := range of {
		from := t.log.of(p)
		moved[p] = min(from.stable(), t.at[p]+position.Offset(1+t.log.random.IntN(t.log.Most)))
		run := record.Run{Partition: p}
		for _, e := range from.entries[t.at[p]:moved[p]] {
			if e.kind == data && !e.gone {
				run.Records = append(run.Records, e.Record)
			}
		}
		if len(run.Records) > 0 {
			batch = append(batch, run)
		}
	}
	return batch, moved
}

// check says why a partition cannot be read on. The caller holds the lock.
func (t *tail) check(p position.Partition) error {
	topic := t.log.topics[p.Topic]
	switch {
	case topic == nil || p.Number >= topic.Partitions:
		return fault.New(fault.Gap, "read %s: it is gone", p)
	case topic.ID != t.ids[p.Topic]:
		return fault.New(fault.Gap, "read %s: the topic was made anew", p)
	}
	if of := topic.partitions[p.Number]; t.at[p] < of.start || t.at[p] > of.end {
		return fault.Wrap(fault.Gap, fmt.Errorf("read %s at %s of [%d,%d): %w", p, t.at[p], of.start, of.end, recovery.ErrOutOfRange))
	}
	return nil
}
