package capture

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres"
)

// classOfRelations is pg_class's own number, the same in every database.
const classOfRelations = 1259

// holds says whether the plan makes this relation again.
func (p *plan) holds(relation uint32) bool {
	at := address{classOfRelations, relation}
	n := p.maker(at)
	return n != nil && !n.lost && !p.isMember(at)
}

// column is a column of a table, or a table without any.
type column struct {
	relation             uint32
	table                body.Name
	name, kind, identity *string
	oid                  *uint32
}

// key is the columns that order a table's rows.
type key struct {
	relation            uint32
	columns, collations []string
}

func (c catalog) tables(ctx context.Context, plan *plan) ([]body.Table, error) {
	columns, err := ask(ctx, c, "columnlist", func(row pgx.CollectableRow) (column, error) {
		var l column
		err := row.Scan(&l.relation, &l.table.Schema, &l.table.Name, &l.name, &l.kind, &l.oid, &l.identity)
		return l, err
	})
	if err != nil {
		return nil, err
	}
	keys, err := c.keys(ctx)
	if err != nil {
		return nil, err
	}
	var tables []body.Table
	for i, l := range columns {
		if !plan.holds(l.relation) {
			continue
		}
		if i == 0 || columns[i-1].relation != l.relation {
			k := keys[l.relation]
			tables = append(tables, body.Table{Name: l.table, Key: k.columns, Collations: k.collations})
		}
		if t := &tables[len(tables)-1]; l.name != nil {
			t.Columns = append(t.Columns, body.Column{Name: *l.name, Type: *l.kind, OID: *l.oid, Identity: *l.identity})
		}
	}
	return tables, nil
}

func (c catalog) keys(ctx context.Context) (map[uint32]key, error) {
	keys, err := ask(ctx, c, "keys", func(row pgx.CollectableRow) (key, error) {
		var k key
		err := row.Scan(&k.relation, &k.columns, &k.collations)
		return k, err
	})
	byRelation := map[uint32]key{}
	for _, k := range keys {
		byRelation[k.relation] = k
	}
	return byRelation, err
}

// sequence is a sequence, and the question where it stands.
type sequence struct {
	body.Sequence
	relation uint32
	question string
}

// questions is how many sequences are asked in one statement.
const questions = 200

func (c catalog) sequences(ctx context.Context, plan *plan) ([]body.Sequence, error) {
	all, err := ask(ctx, c, "sequencelist", func(row pgx.CollectableRow) (sequence, error) {
		var s sequence
		err := row.Scan(&s.relation, &s.Schema, &s.Name.Name, &s.Increment, &s.Owner.Schema, &s.Owner.Name, &s.Column, &s.question)
		return s, err
	})
	if err != nil {
		return nil, err
	}
	var sequences []body.Sequence
	var asked []string
	place := map[uint32]int{}
	for _, s := range all {
		if plan.holds(s.relation) {
			place[s.relation] = len(sequences)
			sequences, asked = append(sequences, s.Sequence), append(asked, s.question)
		}
	}
	for start := 0; start < len(asked); start += questions {
		batch := asked[start:min(start+questions, len(asked))]
		if err := c.values(ctx, batch, func(relation uint32) *body.Sequence { return &sequences[place[relation]] }); err != nil {
			return nil, fmt.Errorf("values of sequences: %w", postgres.Classify(err))
		}
	}
	return sequences, nil
}

// values asks where sequences stand. The question is another one each time, so no plan of it is kept.
func (c catalog) values(ctx context.Context, batch []string, of func(relation uint32) *body.Sequence) error {
	rows, err := c.tx.Query(ctx, strings.Join(batch, " UNION ALL "), pgx.QueryExecModeExec)
	if err != nil {
		return err
	}
	var relation uint32
	var last int64
	var called bool
	_, err = pgx.ForEachRow(rows, []any{&relation, &last, &called}, func() error {
		s := of(relation)
		s.Last, s.Called = last, called
		return nil
	})
	return err
}
