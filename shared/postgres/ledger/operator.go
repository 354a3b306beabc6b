package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/apply"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/postgres"
)

// Operator does the acts of a person on one ledger, each in a transaction of its own with its audit row.
type Operator struct {
	conn   *pgx.Conn
	schema string
	actor  string
}

// NewOperator returns an operator. actor is who acts, for the audit.
func NewOperator(conn *pgx.Conn, schema, actor string) *Operator {
	return &Operator{conn: conn, schema: postgres.QuoteName(schema), actor: actor}
}

// Life is the ledger's word on a target.
type Life struct {
	TargetID    position.TargetID
	Incarnation position.Incarnation
	Lineage     position.Lineage
	State       apply.State
}

// Init makes a new target live: it takes the id and mints its first incarnation. On a target that is live under the same
// id it changes nothing, and made is false.
// Errors: fault.Misconfigured when the target has another id, fault.Fenced when it is in another state.
func (o *Operator) Init(ctx context.Context, id position.TargetID) (life Life, made bool, err error) {
	if err := id.Validate(); err != nil {
		return life, false, fault.New(fault.Misconfigured, "init: %w", err).WithHint("correct TIDEMARK_TARGET_ID")
	}
	err = o.act(ctx, "init", map[string]any{"target_id": id}, func(tx pgx.Tx) (any, any, error) {
		before, err := o.readLife(ctx, tx)
		if err != nil {
			return nil, nil, err
		}
		life, made = before, false
		if before.State != apply.StateNew {
			return nil, nil, checkLife(before, id)
		}
		made = true
		row := tx.QueryRow(ctx, "UPDATE "+o.schema+".target SET target_id = $1, incarnation = gen_random_uuid(), lineage = 1,"+
			" state = 'live', minted_at = now(), reason = 'init' RETURNING target_id, incarnation::text, lineage, state", string(id))
		if err := row.Scan(&life.TargetID, &life.Incarnation, &life.Lineage, &life.State); err != nil {
			return nil, nil, err
		}
		return before, life, nil
	})
	return life, made, err
}

func checkLife(life Life, id position.TargetID) error {
	if life.TargetID != id {
		return fault.New(fault.Misconfigured, "%w: it is %q, the configuration says %q",
			apply.ErrOtherTarget, life.TargetID.String(), id.String()).
			WithHint("correct TIDEMARK_TARGET_ID or TIDEMARK_DATABASE_URL; nothing was written")
	}
	if life.State != apply.StateLive {
		return fault.New(fault.Fenced, "target %s is %s", id, life.State).
			WithHint("another act is under way; init makes only a new target live")
	}
	return nil
}

func (o *Operator) readLife(ctx context.Context, tx pgx.Tx) (Life, error) {
	var life Life
	var id, incarnation *string
	err := tx.QueryRow(ctx, "SELECT target_id, incarnation::text, lineage, state FROM "+o.schema+".target FOR UPDATE").
		Scan(&id, &incarnation, &life.Lineage, &life.State)
	if errors.Is(err, pgx.ErrNoRows) {
		return life, fault.New(fault.Misconfigured, "the ledger has no target row").WithHint("run: tidemark migrate")
	}
	if id != nil {
		life.TargetID = position.TargetID(*id)
	}
	if incarnation != nil {
		life.Incarnation = position.Incarnation(*incarnation)
	}
	return life, err
}

// Start is where a partition of a flow shall begin.
type Start struct {
	Partition position.Partition
	At        position.Offset
}

// Moved is what StartFlow did to one partition.
type Moved struct {
	Start
	Existed bool
	From    position.Offset // where the checkpoint stood; meaningful if Existed
}

// StartFlow puts checkpoints where starts say. A partition without a checkpoint begins there; a start above 0 is generation 1
// and leaves a gap row of how 'origin'. A checkpoint that exists is moved only with a reason, and then begins a new generation:
// moving it forward leaves a gap row of how 'accepted', moving it back makes the records between apply again. The time of
// the act is the new checkpoint's record time: what lies below it and is older is skipped, as the act says, and what is newer
// shows a topic that was made anew.
// Errors: fault.Misconfigured when the target is not live under id, or a checkpoint exists and reason is empty.
func (o *Operator) StartFlow(
	ctx context.Context, id position.TargetID, flow string, starts []Start, reason string,
) ([]Moved, error) {
	var moved []Moved
	err := o.act(ctx, "flow start", map[string]any{"flow": flow, "starts": starts, "reason": reason}, func(tx pgx.Tx) (any, any, error) {
		life, err := o.readLife(ctx, tx)
		if err != nil {
			return nil, nil, err
		}
		if life.State == apply.StateNew {
			return nil, nil, fault.New(fault.Misconfigured, "the target has no life yet").WithHint("run: tidemark init")
		}
		if err := checkLife(life, id); err != nil {
			return nil, nil, err
		}
		inOrder := slices.SortedFunc(slices.Values(starts), func(a, b Start) int { return a.Partition.Compare(b.Partition) })
		for _, s := range inOrder {
			m, err := o.startPartition(ctx, tx, flow, s, reason)
			if err != nil {
				return nil, nil, fmt.Errorf("start %s: %w", s.Partition, err)
			}
			moved = append(moved, m)
		}
		return nil, moved, nil
	})
	return moved, err
}

// Partitions lists the partitions of a flow that have a checkpoint, in lock order.
func (o *Operator) Partitions(ctx context.Context, flow string) ([]position.Partition, error) {
	rows, err := o.conn.Query(ctx, "SELECT topic, partition FROM "+o.schema+".checkpoint WHERE flow = $1"+
		" ORDER BY topic, partition", flow)
	if err != nil {
		return nil, classifyAct(err)
	}
	partitions, err := pgx.CollectRows(rows, pgx.RowToStructByPos[position.Partition])
	if err != nil {
		return nil, classifyAct(err)
	}
	return partitions, nil
}

func (o *Operator) startPartition(ctx context.Context, tx pgx.Tx, flow string, s Start, reason string) (Moved, error) {
	p, at := s.Partition, int64(s.At)
	tag, err := tx.Exec(ctx, "INSERT INTO "+o.schema+".checkpoint (flow, topic, partition, next_offset, generation, record_time, incarnation)"+
		" SELECT $1, $2, $3, $4::bigint, least($4::bigint, 1), now(), incarnation FROM "+o.schema+".target ON CONFLICT DO NOTHING", flow, p.Topic, p.Number, at)
	if err != nil {
		return Moved{}, err
	}
	if tag.RowsAffected() == 1 {
		return Moved{Start: s}, o.addGap(ctx, tx, gap{flow, p, position.Range{Until: s.At}, "origin", reason})
	}
	var from position.Offset
	err = tx.QueryRow(ctx, "SELECT next_offset FROM "+o.schema+".checkpoint WHERE flow = $1 AND topic = $2 AND partition = $3"+
		" FOR UPDATE", flow, p.Topic, p.Number).Scan(&from)
	if err != nil {
		return Moved{}, err
	}
	moved := Moved{Start: s, Existed: true, From: from}
	if from == s.At {
		return moved, nil
	}
	if reason == "" {
		return Moved{}, fault.New(fault.Misconfigured, "its checkpoint stands at %s already", from).
			WithHint("to move it to %s give --reason: forward leaves out %s for good, back applies the records again",
				s.At, position.Range{From: from, Until: s.At})
	}
	if err := o.keepsOut(ctx, tx, flow, s, from); err != nil {
		return Moved{}, err
	}
	_, err = tx.Exec(ctx, "UPDATE "+o.schema+".checkpoint SET next_offset = $4, generation = generation + 1, record_time = greatest(record_time, now()),"+
		" leader_epoch = NULL, topic_id = NULL, updated_at = now() WHERE flow = $1 AND topic = $2 AND partition = $3",
		flow, p.Topic, p.Number, at)
	if err != nil {
		return Moved{}, err
	}
	_, err = tx.Exec(ctx, "DELETE FROM "+o.schema+".applied_identity WHERE flow = $1 AND topic = $2 AND partition = $3"+
		" AND \"offset\" >= $4", flow, p.Topic, p.Number, at)
	if err != nil {
		return Moved{}, err
	}
	return moved, o.addGap(ctx, tx, gap{flow, p, position.Range{From: from, Until: s.At}, "accepted", reason})
}

// keepsOut refuses to go back below what was left out for good: it would be applied.
func (o *Operator) keepsOut(ctx context.Context, tx pgx.Tx, flow string, s Start, from position.Offset) error {
	var out position.Range
	err := tx.QueryRow(ctx, "SELECT from_offset, until_offset FROM "+o.schema+".gap WHERE flow = $1 AND topic = $2 AND partition = $3"+
		" AND how = 'excluded' AND until_offset > $4 AND from_offset < $5 ORDER BY from_offset DESC LIMIT 1",
		flow, s.Partition.Topic, s.Partition.Number, int64(s.At), int64(from)).Scan(&out.From, &out.Until)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	return fault.New(fault.Misconfigured, "%s was left out for good, and would be applied from %s on", out, s.At).
		WithHint("start at %s or behind", out.Until)
}

// gap is a row of the gap table.
type gap struct {
	flow      string
	partition position.Partition
	offsets   position.Range
	how, why  string
}

func (o *Operator) addGap(ctx context.Context, tx pgx.Tx, g gap) error {
	if g.offsets.IsEmpty() {
		return nil
	}
	_, err := tx.Exec(ctx, "INSERT INTO "+o.schema+".gap (flow, topic, partition, from_offset, until_offset, generation,"+
		" how, who, why) SELECT $1, $2, $3, $4, $5, generation, $6, $7, $8 FROM "+o.schema+".checkpoint"+
		" WHERE flow = $1 AND topic = $2 AND partition = $3",
		g.flow, g.partition.Topic, g.partition.Number, int64(g.offsets.From), int64(g.offsets.Until), g.how, o.actor, g.why)
	return err
}

// act runs one act and its audit row in a transaction. An act that returns neither before nor after changed nothing and
// leaves no row.
func (o *Operator) act(
	ctx context.Context, name string, arguments any, do func(pgx.Tx) (before, after any, err error),
) error {
	err := pgx.BeginFunc(ctx, o.conn, func(tx pgx.Tx) error {
		before, after, err := do(tx)
		if err != nil || before == nil && after == nil {
			return err
		}
		columns := make([]any, 0, 3)
		for _, value := range []any{arguments, before, after} {
			text, err := json.Marshal(value)
			if err != nil {
				return err
			}
			columns = append(columns, text)
		}
		_, err = tx.Exec(ctx, "INSERT INTO "+o.schema+".audit (actor, act, arguments, before, after)"+
			" VALUES ($1, $2, $3, nullif($4::jsonb, 'null'), $5)", append([]any{o.actor, name}, columns...)...)
		return err
	})
	if err != nil {
		return errAct(name, classifyAct(err))
	}
	return nil
}

// classifyAct adds the command to run when the ledger is not there at all.
func classifyAct(err error) error {
	classified := postgres.Classify(err)
	if fault.Is(classified, fault.Misconfigured) && fault.HintOf(classified) == "" {
		return fault.New(fault.Misconfigured, "%w", classified).WithHint("is the ledger there? run: tidemark migrate")
	}
	return classified
}
