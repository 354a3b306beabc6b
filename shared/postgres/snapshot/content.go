package snapshot

import (
	"context"
	_ "embed" // the questions are files
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"tidemark/shared/backup"
	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/manifest/document"
	"tidemark/shared/postgres"
	"tidemark/shared/postgres/capture"
)

//go:embed sql/facts.sql
var factsQuestion string

// unknownSystem stands for the cluster's identifier where the role may not ask for it.
const unknownSystem = "unknown"

// readFacts reads what the database says of itself. It is the first query of the transaction and takes the snapshot.
func readFacts(ctx context.Context, tx pgx.Tx, schema string) (body.Snapshot, error) {
	facts := body.Snapshot{LedgerSchema: schema, SystemIdentifier: unknownSystem}
	var may bool
	err := tx.QueryRow(ctx, factsQuestion).Scan(&facts.Database, &facts.ServerVersion, &facts.Encoding, &facts.Collation,
		&facts.LSN, &facts.Taken, &may)
	if err != nil {
		return facts, fmt.Errorf("take the snapshot: %w", classify(err))
	}
	facts.Taken = document.Moment(facts.Taken)
	if may {
		const question = "SELECT system_identifier::text FROM pg_control_system()"
		if err := tx.QueryRow(ctx, question).Scan(&facts.SystemIdentifier); err != nil {
			return facts, fmt.Errorf("read the cluster's identifier: %w", classify(err))
		}
	}
	return facts, nil
}

// read fills the view and gives the snapshot to others.
func (v *view) read(ctx context.Context, tx pgx.Tx, facts body.Snapshot) error {
	schema, err := capture.Read(ctx, tx)
	if err != nil {
		return classify(err)
	}
	v.content = backup.Content{
		Database: facts, Definitions: schema.Definitions, Sequences: schema.Sequences, Uncaptured: schema.Uncaptured,
	}
	if err := v.readLedger(ctx, tx); err != nil {
		return err
	}
	if err := v.readTables(ctx, tx, schema.Tables); err != nil {
		return err
	}
	if err := tx.QueryRow(ctx, "SELECT pg_export_snapshot()").Scan(&v.id); err != nil {
		return fmt.Errorf("export the snapshot: %w", classify(err))
	}
	return nil
}

// readLedger reads whose state this is and which state of the log it corresponds to.
func (v *view) readLedger(ctx context.Context, tx pgx.Tx) error {
	c, from := &v.content, postgres.QuoteName(v.content.Database.LedgerSchema)
	rows, err := ask(ctx, tx, "SELECT coalesce(target_id, ''), coalesce(incarnation::text, ''), lineage, state FROM "+from+
		".target", scanLife)
	if err != nil {
		return fmt.Errorf("read the target's life: %w", err)
	}
	if len(rows) != 1 {
		return fault.New(fault.Misconfigured, "the ledger has %d target rows, want 1", len(rows)).
			WithHint("the ledger was changed by hand: restore it from a backup")
	}
	c.Life = rows[0]
	if c.Cut, err = ask(ctx, tx, "SELECT flow, topic, partition, next_offset, generation, coalesce(topic_id::text, ''),"+
		" leader_epoch, record_time FROM "+from+".checkpoint", scanPartition); err != nil {
		return fmt.Errorf("read the cut: %w", err)
	}
	c.Cut.Sort()
	if c.Gaps, err = ask(ctx, tx, "SELECT flow, topic, partition, generation, from_offset, until_offset, how, who,"+
		" coalesce(why, ''), at FROM "+from+".gap ORDER BY flow, topic, partition, generation, from_offset", scanGap); err != nil {
		return fmt.Errorf("read the gaps: %w", err)
	}
	err = tx.QueryRow(ctx, "SELECT coalesce(max(version_id), 0) FROM "+from+".schema_version WHERE is_applied").
		Scan(&c.Database.LedgerVersion)
	if err != nil {
		return fmt.Errorf("read the ledger's version: %w", classify(err))
	}
	return nil
}

// ask runs a question and scans its rows.
func ask[T any](ctx context.Context, tx pgx.Tx, question string, scan func(pgx.CollectableRow) (T, error), args ...any) ([]T, error) {
	rows, err := tx.Query(ctx, question, args...)
	if err != nil {
		return nil, classify(err)
	}
	all, err := pgx.CollectRows(rows, scan)
	return all, classify(err)
}

func scanLife(row pgx.CollectableRow) (backup.Life, error) {
	var l backup.Life
	err := row.Scan(&l.TargetID, &l.Incarnation, &l.Lineage, &l.State)
	return l, err
}

func scanPartition(row pgx.CollectableRow) (body.Partition, error) {
	var p body.Partition
	var last pgtype.Timestamptz
	err := row.Scan(&p.Flow, &p.Topic, &p.Partition, &p.NextOffset, &p.Generation, &p.TopicID, &p.LeaderEpoch, &last)
	if p.LeaderEpoch != nil && *p.LeaderEpoch < 0 {
		p.LeaderEpoch = nil // Kafka's word for unknown
	}
	if last.Valid {
		at := moment(last)
		p.RecordTime = &at
	}
	return p, err
}

func scanGap(row pgx.CollectableRow) (body.Gap, error) {
	var g body.Gap
	var at pgtype.Timestamptz
	err := row.Scan(&g.Flow, &g.Topic, &g.Partition, &g.Generation, &g.From, &g.Until, &g.How, &g.Actor, &g.Reason, &at)
	g.At = moment(at)
	return g, err
}

// moment is a time of the database, which also holds the two infinities.
func moment(t pgtype.Timestamptz) time.Time {
	const beyond = 1_000_000
	switch t.InfinityModifier {
	case pgtype.Infinity:
		return document.Moment(time.Date(beyond, 1, 1, 0, 0, 0, 0, time.UTC))
	case pgtype.NegativeInfinity:
		return document.Moment(time.Date(-beyond, 1, 1, 0, 0, 0, 0, time.UTC))
	case pgtype.Finite:
	}
	return document.Moment(t.Time)
}

// readTables joins what the schema says of the tables with what reading them takes.
func (v *view) readTables(ctx context.Context, tx pgx.Tx, captured []body.Table) error {
	measures, err := ask(ctx, tx, measuresQuestion, scanMeasure)
	if err != nil {
		return fmt.Errorf("measure the tables: %w", err)
	}
	orders, err := ask(ctx, tx, ordersQuestion, scanOrder)
	if err != nil {
		return fmt.Errorf("read the keys: %w", err)
	}
	notes, err := ask(ctx, tx, notesQuestion, scanNote)
	if err != nil {
		return fmt.Errorf("read the types: %w", err)
	}
	unreadable := v.takeNotes(notes)
	facts := newCatalog(v.tables, measures, orders)
	v.readable = make(map[body.Name]readable, len(captured))
	for _, t := range captured {
		r, err := facts.readable(t)
		if err != nil {
			return err
		}
		if unreadable[r.oid] {
			continue
		}
		v.readable[t.Name] = r
		v.content.Tables = append(v.content.Tables, backup.Table{Table: t, Pages: r.pages, Bytes: r.bytes, Ordered: r.isOrdered()})
	}
	return nil
}

// takeNotes names what would not come back, and says which tables cannot be read at all.
func (v *view) takeNotes(notes []note) map[uint32]bool {
	unreadable := map[uint32]bool{}
	for _, n := range notes {
		v.content.Uncaptured = append(v.content.Uncaptured, n.text)
		unreadable[n.oid] = unreadable[n.oid] || n.unreadable
	}
	slices.Sort(v.content.Uncaptured)
	return unreadable
}
