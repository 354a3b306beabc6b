package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/apply"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/postgres"
)

// Held is a range of the log that a recovery stopped before. An empty one says that the partition was to stop where the log
// ended.
type Held struct {
	Partition position.Partition
	TopicID   string // empty: not known
	Range     position.Range
}

// Resumed is what ResumeFlow did.
type Resumed struct {
	Held  []Held
	State apply.State // of the target afterwards: held, as long as another flow is
	Left  []string    // flows that are held still
}

// Held are a flow's held ranges and the life that they were held in, in lock order.
//
// Errors: fault.Misconfigured when the flow is not held.
func (o *Operator) Held(ctx context.Context, id position.TargetID, flow string) (held []Held, life Life, err error) {
	err = pgx.BeginTxFunc(ctx, o.conn, pgx.TxOptions{AccessMode: pgx.ReadWrite}, func(tx pgx.Tx) (err error) {
		held, life, err = o.readHeld(ctx, tx, id, flow)
		return err
	})
	if err != nil {
		return nil, life, errAct("flow resume", classifyAct(err))
	}
	return held, life, nil
}

// ResumeFlow ends that a flow is held. With a reason the held ranges are left out for good: each becomes a gap row of how
// 'excluded' and its checkpoint moves behind it. Without one they are applied as they come. The target goes live with the last
// flow that is held. Whoever leaves ranges out has written that to the archive before.
//
// Errors: fault.Misconfigured when the flow is not held, or not as expected says: the ranges are then others than those that were
// shown.
func (o *Operator) ResumeFlow(
	ctx context.Context, id position.TargetID, flow string, expected []Held, skip string,
) (resumed Resumed, err error) {
	arguments := map[string]any{"flow": flow, "replay": skip == "", "reason": skip}
	err = o.act(ctx, "flow resume", arguments, func(tx pgx.Tx) (any, any, error) {
		resumed = Resumed{}
		_, err := tx.Exec(ctx, postgres.LockCheckpoints(o.schema)) // appliers stay out
		if err != nil {
			return nil, nil, err
		}
		var life Life
		if resumed.Held, life, err = o.readHeld(ctx, tx, id, flow); err != nil {
			return nil, nil, err
		}
		if !slices.Equal(resumed.Held, expected) {
			return nil, nil, fault.New(fault.Retryable, "what flow %s holds has changed meanwhile", flow).WithHint("run the command again")
		}
		if skip != "" {
			if err := o.leaveOut(ctx, tx, flow, resumed.Held, skip); err != nil {
				return nil, nil, err
			}
		}
		if resumed.State, resumed.Left, err = o.release(ctx, tx, flow); err != nil {
			return nil, nil, err
		}
		return life, resumed, nil
	})
	return resumed, err
}

func (o *Operator) readHeld(ctx context.Context, tx pgx.Tx, id position.TargetID, flow string) ([]Held, Life, error) {
	life, err := o.readLife(ctx, tx)
	if err != nil {
		return nil, life, err
	}
	switch {
	case life.TargetID != id:
		return nil, life, checkLife(life, id)
	case life.State != apply.StateHeld:
		return nil, life, fault.New(fault.Misconfigured, "target %s is %s, nothing of it is held", id, life.State).
			WithHint("only a recovery with --until leaves a flow held")
	}
	rows, err := tx.Query(ctx, "SELECT topic, partition, coalesce(topic_id::text, ''), from_offset, until_offset FROM "+o.schema+".held"+
		" WHERE flow = $1 ORDER BY topic, partition", flow)
	if err != nil {
		return nil, life, err
	}
	held, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (h Held, err error) {
		return h, row.Scan(&h.Partition.Topic, &h.Partition.Number, &h.TopicID, &h.Range.From, &h.Range.Until)
	})
	if err == nil && len(held) == 0 {
		return nil, life, o.noneHeld(ctx, tx, flow)
	}
	return held, life, err
}

// noneHeld says which flows are.
func (o *Operator) noneHeld(ctx context.Context, tx pgx.Tx, flow string) error {
	others, err := o.heldFlows(ctx, tx)
	if err != nil {
		return err
	}
	if len(others) == 0 {
		return fault.New(fault.Misconfigured, "nothing of flow %s is held, and nothing of any other: this is a rehearsal's target", flow).
			WithHint("it never goes live; recover into an empty database")
	}
	return fault.New(fault.Misconfigured, "nothing of flow %s is held; held is %q", flow, others).WithHint("name that flow's file")
}

func (o *Operator) heldFlows(ctx context.Context, tx pgx.Tx) ([]string, error) {
	rows, err := tx.Query(ctx, "SELECT DISTINCT flow FROM "+o.schema+".held ORDER BY flow")
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// leaveOut moves checkpoints behind what is held. Their record time becomes the act's, as StartFlow has it.
func (o *Operator) leaveOut(ctx context.Context, tx pgx.Tx, flow string, held []Held, reason string) error {
	for _, h := range held {
		if h.Range.IsEmpty() {
			continue
		}
		tag, err := tx.Exec(ctx, "UPDATE "+o.schema+".checkpoint SET next_offset = $4, record_time = greatest(record_time, now()),"+
			" updated_at = now() WHERE flow = $1 AND topic = $2 AND partition = $3 AND next_offset <= $5",
			flow, h.Partition.Topic, h.Partition.Number, int64(h.Range.Until), int64(h.Range.From))
		if err == nil && tag.RowsAffected() == 0 {
			tag, err = tx.Exec(ctx, "INSERT INTO "+o.schema+".checkpoint (flow, topic, partition, next_offset, record_time, incarnation)"+
				" SELECT $1, $2, $3, $4, now(), incarnation FROM "+o.schema+".target ON CONFLICT DO NOTHING",
				flow, h.Partition.Topic, h.Partition.Number, int64(h.Range.Until))
		}
		if err == nil && tag.RowsAffected() != 1 {
			err = fault.New(fault.Bug, "its checkpoint stands behind %s already", h.Range.From)
		}
		if err == nil {
			err = o.addGap(ctx, tx, gap{flow, h.Partition, h.Range, "excluded", reason})
		}
		if err != nil {
			return fmt.Errorf("leave out %s of %s: %w", h.Range, h.Partition, err)
		}
	}
	return nil
}

// release forgets what a flow held, and makes the target live when no flow is held any more.
func (o *Operator) release(ctx context.Context, tx pgx.Tx, flow string) (state apply.State, left []string, err error) {
	_, err = tx.Exec(ctx, "DELETE FROM "+o.schema+".held WHERE flow = $1", flow)
	if err != nil {
		return "", nil, err
	}
	if left, err = o.heldFlows(ctx, tx); err != nil || len(left) > 0 {
		return apply.StateHeld, left, err
	}
	err = tx.QueryRow(ctx, "UPDATE "+o.schema+".target SET state = '"+string(apply.StateLive)+"', reason = 'flow resume'"+
		" WHERE state = '"+string(apply.StateHeld)+"' RETURNING state").Scan(&state)
	if errors.Is(err, pgx.ErrNoRows) {
		err = fault.New(fault.Bug, "the target is not held any more")
	}
	return state, nil, err
}
