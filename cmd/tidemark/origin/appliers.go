package origin

import (
	"context"

	"tidemark/cmd/tidemark/exit"
	"tidemark/shared/apply"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/record"
	"tidemark/shared/recovery"
)

type newApplier = func(flow string, life position.Incarnation) (recovery.Applier, error)

// Appliers mark what refuses a record: the database, or the record's meaning in it.
func Appliers(of newApplier) newApplier {
	return func(flow string, life position.Incarnation) (recovery.Applier, error) {
		applier, err := of(flow, life)
		if err != nil {
			return nil, err
		}
		return markedApplier{applier}, nil
	}
}

type markedApplier struct{ recovery.Applier }

// Apply applies records. See recovery.Applier. A hole in the log is no word of the database's and has a code of its own.
func (a markedApplier) Apply(ctx context.Context, batch record.Batch) (apply.Outcome, error) {
	outcome, err := a.Applier.Apply(ctx, batch)
	if fault.Is(err, fault.Gap) {
		return outcome, err
	}
	return outcome, exit.FromDatabase(err)
}
