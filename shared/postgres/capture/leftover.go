package capture

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
)

// leftover names what the database has and the plan does not make.
func (c catalog) leftover(ctx context.Context, plan *plan, definitions []definition) ([]string, error) {
	objects, err := ask(ctx, c, "objects", func(row pgx.CollectableRow) (address, error) {
		var at address
		err := row.Scan(&at.class, &at.object)
		return at, err
	})
	if err != nil {
		return nil, err
	}
	var classes, numbers []uint32
	for _, at := range objects {
		if plan.accountsFor(at) {
			continue
		}
		classes, numbers = append(classes, at.class), append(numbers, at.object)
	}
	names, err := ask(ctx, c, "names", pgx.RowTo[string], classes, numbers)
	if err != nil {
		return nil, err
	}
	var reordered []uint32
	for _, d := range definitions {
		switch {
		case d.Kind == "inheritance":
			reordered = append(reordered, d.at.object)
		case d.Kind == "comment" && plan.maker(d.at) == nil && !plan.isMember(d.at):
			names = append(names, d.Kind+" "+d.Name)
		}
	}
	notes, err := ask(ctx, c, "notes", pgx.RowTo[string], reordered)
	if err != nil {
		return nil, err
	}
	names = append(names, notes...)
	slices.Sort(names)
	return slices.Compact(names), nil
}

// accountsFor says that the object is made again, or need not be named: a part goes without saying with its whole.
func (p *plan) accountsFor(at address) bool {
	if p.isMember(at) {
		return true
	}
	n := p.maker(at)
	if n != nil {
		return !n.lost || p.nodes[at] != n
	}
	return slices.ContainsFunc(p.wholes[at], func(whole address) bool { return whole.object >= firstUserObject })
}
