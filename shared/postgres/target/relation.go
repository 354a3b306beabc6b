package target

import (
	"context"

	"tidemark/shared/change"
	"tidemark/shared/fault"
	"tidemark/shared/postgres"
	"tidemark/shared/postgres/catalog"
)

// Relation describes the table that a table of the source leads to, from the cache if it is young enough. It is nil when
// the flow leaves unknown tables out and the target has none of that name.
// Errors: fault.Misconfigured when there is no such table, fault.Retryable when the database cannot be asked.
func (t *Target) Relation(ctx context.Context, source change.Name) (*change.Relation, error) {
	t.mu.Lock()
	k, ok := t.tables[source]
	t.mu.Unlock()
	if !ok || t.options.Now().After(k.until) {
		var err error
		if k, err = t.read(ctx, source); err != nil {
			return nil, err
		}
	}
	if k.table == nil {
		return nil, nil //nolint:nilnil // the interface's word for a table that is left out
	}
	return k.table.Relation, nil
}

func (t *Target) read(ctx context.Context, source change.Name) (known, error) {
	name := t.options.Route(source)
	if err := name.Validate(); err != nil {
		return known{}, fault.New(fault.Misconfigured, "%w", err).WithHint("route the source's table to a name that fits")
	}
	statements := []postgres.Statement{{SQL: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"}}
	statements = append(append(statements, catalog.Questions(name)...), postgres.Statement{SQL: "COMMIT"})
	var answers []answer
	c, err := t.onFresh(ctx, func(c *connection) (err error) {
		answers, err = c.flight(ctx, statements)
		return err
	})
	if err != nil {
		return known{}, err
	}
	t.release(c)
	rows := make([]catalog.Rows, 0, len(answers))
	for _, a := range answers[1 : len(answers)-1] {
		rows = append(rows, a.rows)
	}
	table, err := catalog.Read(name, rows)
	if fault.Is(err, fault.Misconfigured) && t.options.IgnoreUnknownTables {
		table, err = nil, nil
	}
	if err != nil {
		return known{}, err
	}
	return t.remember(source, table), nil
}

// mostTables is how many descriptions are kept.
const mostTables = 1 << 14

func (t *Target) remember(source change.Name, table *catalog.Table) known {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.tables) >= mostTables { // names may come out of records: they must not fill the memory
		clear(t.tables)
	}
	k := known{table: table, until: t.options.Now().Add(t.options.CatalogAge)}
	t.tables[source] = k
	return k
}
