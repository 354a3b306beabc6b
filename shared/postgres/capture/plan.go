package capture

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/manifest/body"
)

// dependency says how one object hangs on another; see dependencies.sql.
type dependency struct {
	from, to address
	how      string
}

func (c catalog) dependencies(ctx context.Context) ([]dependency, error) {
	return ask(ctx, c, "dependencies", func(row pgx.CollectableRow) (dependency, error) {
		var d dependency
		err := row.Scan(&d.from.class, &d.from.object, &d.to.class, &d.to.object, &d.how)
		return d, err
	})
}

// plan knows which definition makes an object, and when.
type plan struct {
	nodes   map[address]*node
	wholes  map[address][]address // what makes a part
	keepers map[address][]address // what a kept object goes with
	members map[address]address   // the extension that an object came with
}

// node is an object that a definition makes.
type node struct {
	makers []definition // more than one for what is made bit by bit
	needs  []*node
	level  int
	place  int // in the order of making, from 1 on
	open   bool
	lost   bool // it needs what nothing makes
}

func newPlan(definitions []definition, dependencies []dependency) *plan {
	p := &plan{
		nodes: map[address]*node{}, wholes: map[address][]address{},
		keepers: map[address][]address{}, members: map[address]address{},
	}
	for _, d := range dependencies {
		switch d.how {
		case "member":
			p.members[d.from] = d.to
		case "part":
			p.wholes[d.from] = append(p.wholes[d.from], d.to)
			p.keepers[d.from] = append(p.keepers[d.from], d.to)
		case "kept":
			p.keepers[d.from] = append(p.keepers[d.from], d.to)
		}
	}
	for _, d := range definitions {
		if d.creates && !p.isMember(d.at) {
			p.add(d)
		}
	}
	for _, d := range dependencies {
		p.connect(d)
	}
	p.arrange()
	return p
}

func (p *plan) add(d definition) {
	n := p.nodes[d.at]
	if n == nil {
		n = &node{level: d.level()}
		p.nodes[d.at] = n
	}
	n.makers = append(n.makers, d)
	slices.SortFunc(n.makers, byName)
}

// isMember says whether an object came with an extension, by itself or with what it is kept by.
func (p *plan) isMember(at address) bool {
	for found := range climb(at, p.keepers) {
		if _, ok := p.members[found]; ok {
			return true
		}
	}
	return false
}

// maker is the node whose definition makes the object, itself or as a part of it. Nil says that nothing does.
func (p *plan) maker(at address) *node {
	for found := range climb(at, p.wholes) {
		if extension, ok := p.members[found]; ok {
			return p.nodes[extension]
		}
		if n := p.nodes[found]; n != nil {
			return n
		}
	}
	return nil
}

// climb walks from an object to what it is a part of, the nearest first. A composite type and its relation are parts of
// each other.
func climb(from address, up map[address][]address) iter.Seq[address] {
	return func(yield func(address) bool) {
		reached := []address{from}
		for i := 0; i < len(reached); i++ {
			if !yield(reached[i]) {
				return
			}
			for _, next := range up[reached[i]] {
				if !slices.Contains(reached, next) {
					reached = append(reached, next)
				}
			}
		}
	}
}

// firstUserObject is the lowest number of an object that the server was not born with.
const firstUserObject = 16384

func (p *plan) connect(d dependency) {
	from, to := p.maker(d.from), p.maker(d.to)
	switch {
	case from == nil || from == to || d.how == "member":
	case to != nil:
		from.needs = append(from.needs, to)
	case d.to.object >= firstUserObject:
		from.lost = true
	}
}

// arrange gives every node its place. What is needed early is made early, whatever its own phase is: a function may take
// the row of a view.
func (p *plan) arrange() {
	var all []*node
	for _, n := range p.nodes {
		all = append(all, n)
	}
	for _, n := range all {
		for _, needed := range n.needs {
			needed.advance(n.level)
		}
	}
	slices.SortFunc(all, compareNodes)
	place := 0
	for _, n := range all {
		slices.SortFunc(n.needs, compareNodes)
	}
	for _, n := range all {
		n.visit(&place)
	}
}

func (n *node) advance(level int) {
	if n.level <= level {
		return
	}
	n.level = level
	for _, needed := range n.needs {
		needed.advance(level)
	}
}

// visit gives n a place after all that it needs. What needs itself cannot be made.
func (n *node) visit(place *int) {
	if n.place > 0 {
		return
	}
	n.open = true
	for _, needed := range n.needs {
		if needed.open {
			n.lost = true
			continue
		}
		needed.visit(place)
		n.lost = n.lost || needed.lost
	}
	n.open = false
	*place++
	n.place = *place
}

func compareNodes(a, b *node) int {
	first, second := a.makers[0], b.makers[0]
	return cmp.Or(cmp.Compare(a.level, b.level), cmp.Compare(rank(first.Kind), rank(second.Kind)), byName(first, second))
}

// rank puts domain checks before tables: see types.sql. The rest is for readers; what is not listed comes last.
func rank(kind string) int {
	kinds := []string{
		"schema", "extension", "collation", "enum", "range type", "domain", "domain check", "composite type", "function",
		"procedure", "aggregate", "table", "sequence", "default", "primary key", "unique", "exclusion", "check", "index",
	}
	if at := slices.Index(kinds, kind); at >= 0 {
		return at
	}
	return len(kinds)
}

// ordered gives the definitions in the order in which they can be run.
func (p *plan) ordered(definitions []definition) []body.Definition {
	type placed struct {
		definition
		level, place int
	}
	var all []placed
	for _, d := range definitions {
		n := p.maker(d.at)
		if n == nil || n.lost || p.isMember(d.at) {
			continue
		}
		level := d.level()
		if d.creates {
			level = n.level
			d.Phase = phases()[level/stages]
		}
		all = append(all, placed{d, level, n.place})
	}
	slices.SortFunc(all, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.level, b.level), cmp.Compare(a.place, b.place), byName(a.definition, b.definition))
	})
	var ordered []body.Definition
	for _, d := range all {
		ordered = append(ordered, d.Definition)
	}
	return ordered
}
