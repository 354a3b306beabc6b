package claim

import (
	"context"
	_ "embed" // the question is a file
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/apply"
	"tidemark/shared/fault"
	"tidemark/shared/position"
	"tidemark/shared/postgres"
	"tidemark/shared/recovery"
)

//go:embed sql/objects.sql
var objectsQuestion string

// Look says what is in the database. A target that a recovery made live, or held, and that lives that life still is found as
// settled, with its try: a call whose last reply was lost finds its end.
//
// Errors: recovery.ErrNotEmpty, which is fault.Misconfigured, with some of what is there; beside it recovery.ErrOnlyTables when
// that is no ledger and no rows.
func (d *Database) Look(ctx context.Context) (found recovery.Found, err error) {
	s, err := d.Connect(ctx)
	if err != nil {
		return found, fmt.Errorf("look at the database: %w", err)
	}
	defer s.Close(ctx)
	err = s.peek(ctx, func() error {
		found, err = s.look(ctx)
		return err
	})
	if err != nil {
		return recovery.Found{}, fmt.Errorf("look at the database: %w", err)
	}
	return found, nil
}

func (s *Session) look(ctx context.Context) (recovery.Found, error) {
	try, restored, err := s.readTry(ctx, "")
	if err != nil || try != nil {
		return recovery.Found{Try: try, Restored: restored}, err
	}
	var state apply.State
	if try, state, err = s.settled(ctx); err != nil || try != nil {
		return recovery.Found{Try: try, Restored: true, Settled: true, State: state}, err
	}
	rows, err := s.conn.Query(ctx, objectsQuestion)
	if err != nil {
		return recovery.Found{}, err
	}
	objects, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(objects) == 0 {
		return recovery.Found{}, err
	}
	return recovery.Found{}, s.refuse(ctx, objects)
}

// has says whether a table exists.
func (s *Session) has(ctx context.Context, table string) (exists bool, err error) {
	err = s.conn.QueryRow(ctx, "SELECT pg_catalog.to_regclass($1::text) IS NOT NULL", table).Scan(&exists)
	return exists, err
}

// readTry reads the try that the database was claimed for; nil: none. lock is what follows the question.
func (s *Session) readTry(ctx context.Context, lock string) (*recovery.Try, bool, error) {
	exists, err := s.has(ctx, s.db.table("try"))
	if err != nil || !exists {
		return nil, false, err
	}
	var document string
	var restored bool
	err = s.conn.QueryRow(ctx, "SELECT try::text, restored FROM "+s.db.table("try")+lock).Scan(&document, &restored)
	if err != nil {
		return nil, false, err
	}
	try, err := parseTry(document)
	return try, restored, err
}

func parseTry(document string) (*recovery.Try, error) {
	try := new(recovery.Try)
	if err := json.Unmarshal([]byte(document), try); err != nil {
		return nil, fault.New(fault.Misconfigured, "read the try that the database was claimed for: %w", err).
			WithHint("another release wrote it: go on with that one, or recover into an empty database")
	}
	return try, nil
}

// settled finds the recovery that gave the target the life that it lives; nil: there was none, or it is not live or held.
func (s *Session) settled(ctx context.Context) (*recovery.Try, apply.State, error) {
	for _, table := range []string{"target", "audit"} {
		exists, err := s.has(ctx, postgres.QuoteTable(s.db.options.LedgerSchema, table))
		if err != nil || !exists {
			return nil, "", err
		}
	}
	var document string
	var state apply.State
	err := s.conn.QueryRow(ctx, "SELECT a.arguments::text, t.state FROM "+s.db.ledger+".audit AS a JOIN "+s.db.ledger+".target AS t"+
		" ON a.arguments ->> 'incarnation' = t.incarnation::text WHERE a.act = '"+settlingAct+"' AND t.state IN ('live', 'held')"+
		" ORDER BY a.id DESC LIMIT 1").Scan(&document, &state)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	try, err := parseTry(document)
	return try, state, err
}

// Positions are the flow's checkpoints. Errors: as postgres.Classify has them.
func (d *Database) Positions(ctx context.Context, flow string) (position.Cut, error) {
	s, err := d.Connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the positions of flow %s: %w", flow, err)
	}
	defer s.Close(ctx)
	cut := position.Cut{}
	var at position.Partition
	var next position.Offset
	rows, err := s.conn.Query(ctx, "SELECT topic, partition, next_offset FROM "+d.ledger+".checkpoint WHERE flow = $1::text", flow)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&at.Topic, &at.Number, &next}, func() error { cut[at] = next; return nil })
	}
	if err != nil {
		return nil, fmt.Errorf("read the positions of flow %s: %w", flow, Classify(err))
	}
	return cut, nil
}
