package fit

import (
	"context"
	_ "embed" // the questions are files
	"fmt"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/manifest/body"
)

//go:embed sql/relations.sql
var relationsQuestion string

// See reads the relations that a database holds beside its definitions. Errors: the driver's.
func See(ctx context.Context, tx pgx.Tx, definitions []body.Definition) (There, error) {
	there := There{Definitions: definitions, Relations: map[body.Name]Relation{}}
	rows, err := tx.Query(ctx, relationsQuestion)
	if err != nil {
		return there, err
	}
	var name body.Name
	var kind string
	var column, format *string
	var needed, generated bool
	_, err = pgx.ForEachRow(rows, []any{&name.Schema, &name.Name, &kind, &column, &format, &needed, &generated}, func() error {
		r, known := there.Relations[name]
		if !known {
			r = Relation{Kind: kind, Columns: map[string]Column{}}
			there.Relations[name] = r
		}
		if column != nil {
			r.Columns[*column] = Column{Type: *format, Needed: needed, Generated: generated}
		}
		return nil
	})
	return there, err
}

//go:embed sql/references.sql
var referencesQuestion string

// References reads which tables point to which. Errors: the driver's.
func References(ctx context.Context, conn *pgx.Conn) ([]Reference, error) {
	rows, err := conn.Query(ctx, referencesQuestion)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (Reference, error) {
		var r Reference
		err := row.Scan(&r.From.Schema, &r.From.Name, &r.To.Schema, &r.To.Name)
		return r, err
	})
}

//go:embed sql/triggers.sql
var triggersQuestion string

// Trigger is what a person has made that acts on rows that come in. Names are quoted where they must be.
type Trigger struct {
	Table, Name string
	State       string // as pg_trigger has it
}

// Triggers reads those of a table and of its partitions that act on rows in a session that is a replica or is none. Errors: the
// driver's.
func Triggers(ctx context.Context, conn *pgx.Conn, table string, replica bool) ([]Trigger, error) {
	acting := []string{"O", "A"}
	if replica {
		acting = []string{"R", "A"}
	}
	rows, err := conn.Query(ctx, triggersQuestion, table, acting)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Trigger])
}

// Sleep is the statement after which a trigger does not act.
func (t Trigger) Sleep() string {
	return fmt.Sprintf("ALTER TABLE ONLY %s DISABLE TRIGGER %s", t.Table, t.Name)
}

// Wake is the statement after which a trigger acts as before.
func (t Trigger) Wake() string {
	how := map[string]string{"O": "", "A": " ALWAYS", "R": " REPLICA"}[t.State]
	return fmt.Sprintf("ALTER TABLE ONLY %s ENABLE%s TRIGGER %s", t.Table, how, t.Name)
}
