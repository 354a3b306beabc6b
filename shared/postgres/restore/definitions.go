package restore

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres"
	"tidemark/shared/postgres/restore/claim"
	"tidemark/shared/postgres/restore/ddl"
)

// task is a definition with its place in the body, which names its step.
type task struct {
	body.Definition

	at int
}

func (t task) step() string { return fmt.Sprintf("definition %d", t.at) }

// String names a definition for an operator.
func (t task) String() string {
	if t.Kind == "comment" { // its name is whole
		return t.Kind + " of " + t.Name
	}
	name := t.Name
	if t.Schema != "" {
		name = t.Schema + "." + name
	}
	if t.Table != (body.Name{}) && t.Table.Name != t.Name {
		return fmt.Sprintf("%s %s of %s", t.Kind, name, t.Table)
	}
	return t.Kind + " " + name
}

// phase gives the definitions of a phase that are to be made and not done, in their order.
func (r *restoring) phase(phase body.Phase) []task {
	var tasks []task
	for at, d := range r.base.Body.Definitions {
		if t := (task{d, at}); d.Phase == phase && !r.hold.Done[t.step()] && r.makes(d) {
			tasks = append(tasks, t)
		}
	}
	return tasks
}

func (r *restoring) beforeData(ctx context.Context) error {
	return r.inOrder(ctx, r.phase(body.BeforeData))
}

func (r *restoring) references(ctx context.Context) error {
	return r.inOrder(ctx, r.phase(body.References))
}

func (r *restoring) afterData(ctx context.Context) error {
	return r.inOrder(ctx, r.phase(body.AfterData))
}

func (r *restoring) inOrder(ctx context.Context, tasks []task) error {
	for _, t := range tasks {
		s, err := r.session(ctx, 0)
		if err != nil {
			return err
		}
		if err := r.define(ctx, s, t); err != nil {
			return err
		}
	}
	return nil
}

// Keys are what takes the longest after the rows. Those of different tables are built beside each other: first the
// constraints, those of one table one after the other because each needs the table for itself, then the indexes, each for
// itself. What checks rows, or ties an index to its parent's, reaches into other tables and comes alone, in its place.
func (r *restoring) keys(ctx context.Context) error {
	for tasks := r.phase(body.Keys); len(tasks) > 0; {
		how, until := building(tasks[0]), 1
		for until < len(tasks) && building(tasks[until]) == how {
			until++
		}
		if err := r.build(ctx, tasks[:until], how); err != nil {
			return err
		}
		tasks = tasks[until:]
	}
	return nil
}

func (r *restoring) build(ctx context.Context, tasks []task, how int) error {
	if how == alone {
		return r.inOrder(ctx, tasks)
	}
	return beside(ctx, r, r.grouped(tasks, how), func(ctx context.Context, s *claim.Session, queue <-chan []task) error {
		for group := range queue {
			for _, t := range group {
				if err := r.define(ctx, s, t); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// How a definition of the phase of keys is built.
const (
	alone = iota
	byTable
	byItself
)

func building(t task) int {
	switch t.Kind {
	case "primary key", "unique", "exclusion":
		return byTable
	case "index":
		return byItself
	}
	return alone
}

// grouped gives what one job does without another's coming between, the largest tables first.
func (r *restoring) grouped(tasks []task, how int) [][]task {
	size := map[body.Name]int64{}
	for _, t := range r.base.Body.Tables {
		size[t.Name] = plainSize(t)
	}
	var groups [][]task
	place := map[body.Name]int{}
	for _, t := range tasks {
		at, known := place[t.Table]
		if how == byItself || !known {
			place[t.Table] = len(groups)
			groups = append(groups, []task{t})
			continue
		}
		groups[at] = append(groups[at], t)
	}
	slices.SortStableFunc(groups, func(a, b []task) int { return larger(size[a[0].Table], size[b[0].Table]) })
	return groups
}

// larger puts larger numbers first.
func larger(a, b int64) int { return int(min(max(b-a, -1), 1)) }

// define runs a definition as a step. What a database can be without is a warning and stays to be done.
//
// Names in a definition are whole, but functions that it calls may look for others by the path that sessions of this database
// have: a statement that is refused without a path is tried with that.
func (r *restoring) define(ctx context.Context, s *claim.Session, t task) error {
	err := r.execute(ctx, s, t, "")
	if postgres.IsRefusal(err) && r.execute(ctx, s, t, "SET LOCAL search_path TO DEFAULT") == nil {
		return nil
	}
	const deadlock, tries = "40P01", 3
	for try := 1; try < tries && postgres.StateOf(err) == deadlock; try++ {
		err = r.execute(ctx, s, t, "")
	}
	switch {
	case err == nil:
		return nil
	case canBeWithout(t) && postgres.IsRefusal(err):
		r.warn("%s was not made: %s", t, ddl.Explain(err))
		return nil
	}
	return fmt.Errorf("%s: %w", t, refused(err))
}

// canBeWithout says whether a database without the definition has all its rows and rules, and may be mended later.
func canBeWithout(t task) bool {
	return slices.Contains([]string{"refresh", "owner", "grant", "policy", "comment", "default privileges"}, t.Kind)
}

func (r *restoring) execute(ctx context.Context, s *claim.Session, t task, setting string) error {
	schema := r.db.ledger
	_, err := s.Step(ctx, t.step(), r.db.settings, func() error {
		switch {
		case t.Kind == "schema" && t.Name == schema:
			return nil // the claim made it
		case t.Kind == "table" && t.Schema == schema && t.Name == targetTable:
			return r.replaceTarget(ctx, s, t.SQL)
		}
		if err := s.Run(ctx, setting); err != nil {
			return err
		}
		_, err := s.Conn().Exec(ctx, t.SQL, pgx.QueryExecModeExec)
		return err
	})
	return err
}

// targetTable is the one table of the ledger whose row comes from the claim.
const targetTable = "target"

// replaceTarget puts the base's own table in place of the claim's stand-in.
func (r *restoring) replaceTarget(ctx context.Context, s *claim.Session, definition string) error {
	if err := s.Run(ctx, "DROP TABLE "+postgres.QuoteTable(r.db.ledger, targetTable)); err != nil {
		return err
	}
	if _, err := s.Conn().Exec(ctx, definition, pgx.QueryExecModeExec); err != nil {
		return err
	}
	return s.InsertTarget(ctx, r.base.Try)
}

// refused gives a definition that failed its class. What it says of rows contradicts the base's own rows.
func refused(err error) error {
	if !postgres.IsRefusal(err) {
		return claim.Classify(err)
	}
	if ddl.AboutRows(err) {
		return fault.New(fault.Corrupt, "%w", &ddl.RefusalError{Err: err}).
			WithHint("the base's rows contradict its definitions: was the collation another one? else recover from an older manifest")
	}
	return fault.New(fault.Misconfigured, "%w", &ddl.RefusalError{Err: err}).
		WithHint("make what it needs on this server (an extension, a role, a right), then run the same command again")
}
