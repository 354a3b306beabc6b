package rehearsal

import (
	"context"
	"time"

	"tidemark/shared/apply"
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
	point    time.Time
}

// Restore brings the base in and has it looked at. See recovery.Database.
func (d *observed) Restore(ctx context.Context, base recovery.Base) (recovery.Restored, error) {
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

type newApplier = func(flow string, life position.Incarnation) (recovery.Applier, error)

func (d *observed) applier(of newApplier) newApplier {
	return func(flow string, life position.Incarnation) (recovery.Applier, error) {
		applier, err := of(flow, life)
		if err != nil {
			return nil, err
		}
		return timed{applier, d}, nil
	}
}

// timed notes the times of records that were applied.
type timed struct {
	recovery.Applier

	of *observed
}

// Apply applies records. See recovery.Applier.
func (t timed) Apply(ctx context.Context, batch record.Batch) (apply.Outcome, error) {
	outcome, err := t.Applier.Apply(ctx, batch)
	for _, p := range outcome.Partitions {
		for _, run := range batch {
			if run.Partition != p.Partition {
				continue
			}
			for i := range run.Records {
				if rec := &run.Records[i]; rec.Offset < p.Next && rec.Time.After(t.of.point) {
					t.of.point = rec.Time
				}
			}
		}
	}
	return outcome, err
}
