package rehearsal

import (
	"context"
	"time"

	"tidemark/shared/position"
	"tidemark/shared/record"
	"tidemark/shared/recovery"
)

// observed is a database that is recovered into, and watched: what comes between restore and replay, how long the restore
// takes without that, and the time of the newest record.
type observed struct {
	recovery.Database

	now      func() time.Time
	restored func(ctx context.Context, base recovery.Base) error
	took     time.Duration // of the restore
	counting time.Duration // of what came after it
	ends     position.Cut  // of the replay
	point    time.Time
}

// Restore brings the base in and has it looked at. See recovery.Database.
func (d *observed) Restore(ctx context.Context, base recovery.Base) (recovery.Restored, error) {
	d.ends = position.Cut{}
	for _, p := range base.Try.Ends {
		at := position.Partition{Topic: p.Topic, Number: p.Partition}
		d.ends[at] = max(d.ends[at], p.NextOffset)
	}
	began := d.now()
	done, err := d.Database.Restore(ctx, base)
	ended := d.now()
	if d.took = ended.Sub(began); err != nil {
		return done, err
	}
	err = d.restored(ctx, base)
	d.counting = d.now().Sub(ended)
	return done, err
}

// watched is a log whose records' times are noted.
type watched struct {
	recovery.Log

	by *observed
}

// Open reads partitions. See recovery.Log.
func (l watched) Open(ctx context.Context, from position.Cut) (recovery.Tail, error) {
	tail, err := l.Log.Open(ctx, from)
	if err != nil {
		return nil, err
	}
	return timed{tail, l.by}, nil
}

// timed notes the times of records below the end of the replay: all of them are applied, or the rehearsal fails.
type timed struct {
	recovery.Tail

	by *observed
}

// Next gives the records that came next. See recovery.Tail.
func (t timed) Next(ctx context.Context) (record.Batch, position.Cut, error) {
	batch, reached, err := t.Tail.Next(ctx)
	for _, run := range batch {
		for i := range run.Records {
			if rec := &run.Records[i]; rec.Offset < t.by.ends[run.Partition] && rec.Time.After(t.by.point) {
				t.by.point = rec.Time
			}
		}
	}
	return batch, reached, err
}
