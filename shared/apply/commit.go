package apply

import (
	"context"
	"errors"
	"time"

	"tidemark/shared/apply/reduction"
	"tidemark/shared/change"
	"tidemark/shared/fault"
)

// commit brings pieces into the target: all in one transaction as long as that works. When the server refuses what was
// written, first the refused table is written one by one instead of in bulk, then each run gets a transaction of its own,
// and then halves, down to the record that cannot pass. Good records before it commit, other runs go on, and its own
// run stops there.
func (a *Applier) commit(ctx context.Context, set *change.Set, pieces []piece) {
	err := a.attemptInBulk(ctx, set, pieces)
	pieces = remaining(pieces)
	if err == nil || len(pieces) == 0 {
		return
	}
	refused, isRefusal := errors.AsType[*WorkError](err)
	switch {
	case !isRefusal:
		stopAll(pieces, err)
	case len(pieces) > 1:
		for _, p := range pieces {
			a.commitRest(ctx, set, p)
		}
	case pieces[0].n > 1:
		half := pieces[0].n / 2
		rest := piece{run: pieces[0].run, n: pieces[0].n - half}
		a.commitRest(ctx, set, piece{run: pieces[0].run, n: half})
		a.commitRest(ctx, set, rest)
	default:
		a.target.Forget() // a changed schema may be the cause
		one := pieces[0].run
		one.stop(at(one.partition(), one.rangeOf(0, 1), refused.Err))
	}
}

// attemptInBulk tries pieces in one transaction, and again with every table that the server refused in bulk written one
// by one: bulk is an optimisation of that, and what it cannot know of a table must not stop a record.
func (a *Applier) attemptInBulk(ctx context.Context, set *change.Set, pieces []piece) error {
	inOrder := map[*change.Relation]bool{}
	for races := 0; ; {
		pieces = remaining(pieces)
		if len(pieces) == 0 {
			return nil
		}
		groups, err := a.attempt(ctx, set, pieces, inOrder)
		if (errors.Is(err, ErrIdentityTaken) || errors.Is(err, ErrStale)) && races < mostRaces {
			races++
			continue
		}
		refused, isRefusal := errors.AsType[*WorkError](err)
		if !isRefusal || !unbulk(inOrder, groups, refused.Group) {
			return err
		}
	}
}

// mostRaces is how often a transaction starts over because of what another session did meanwhile.
const mostRaces = 3

// remaining is what pieces still have to give: an attempt may have skipped or stopped some of it.
func remaining(pieces []piece) []piece {
	rest := make([]piece, 0, len(pieces))
	for _, p := range pieces {
		if p.n = min(p.n, len(p.run.records)); p.n > 0 && !p.run.isDone() {
			rest = append(rest, p)
		}
	}
	return rest
}

// unbulk adds the relation of the refused group to inOrder, or all relations in bulk when the refused one is not known. It
// returns false when nothing that was refused was in bulk.
func unbulk(inOrder map[*change.Relation]bool, groups []reduction.Group, refused int) bool {
	if refused >= 0 {
		groups = groups[refused : refused+1]
	}
	added := false
	for _, g := range groups {
		if g.Bulk && !inOrder[g.Relation] {
			inOrder[g.Relation], added = true, true
		}
	}
	return added
}

// commitRest is commit for what one run still has to give: an earlier piece may have stopped it.
func (a *Applier) commitRest(ctx context.Context, set *change.Set, p piece) {
	if rest := remaining([]piece{p}); len(rest) > 0 {
		a.commit(ctx, set, rest)
	}
}

// attempt tries pieces in one transaction. A nil error means that every piece has moved on: applied, skipped or
// stopped by its own fault. It returns the groups that it wrote.
func (a *Applier) attempt(
	ctx context.Context, set *change.Set, pieces []piece, inOrder map[*change.Relation]bool,
) ([]reduction.Group, error) {
	call := pieces[0].run.call
	if err := call.admit(ctx); err != nil {
		return nil, err
	}
	opening := a.opening(pieces)
	tx, err := a.target.Begin(ctx, opening)
	if err != nil {
		return nil, err
	}
	ledger := tx.Ledger()
	plans, err := a.plan(ledger, pieces)
	if err != nil || len(plans) == 0 {
		tx.Rollback(ctx)
		return nil, call.judged(err)
	}
	// A transaction that only skips commits too: what another wrote before may not have reached a synchronous standby yet,
	// and calling it applied is as much a promise as writing it.
	work := a.work(set, plans, ledger, inOrder)
	err = tx.Commit(ctx, work)
	switch {
	case fault.Is(err, fault.UnknownOutcome):
		return nil, call.judged(a.resolve(ctx, opening, plans, err))
	case err != nil:
		return work.Groups, call.judged(wrapWork(plans, err))
	}
	for i := range plans {
		plans[i].settle()
	}
	return nil, nil
}

// judged ends the call if err says that another life owns the target.
func (c *call) judged(err error) error {
	if fault.Is(err, fault.Fenced) {
		c.fence(err)
	}
	return err
}

// plan judges every piece under the lock. It returns the plans that write or skip something; a piece that can do neither
// stops its own run and nobody else's.
func (a *Applier) plan(ledger Ledger, pieces []piece) ([]plan, error) {
	if err := a.judge(ledger); err != nil {
		return nil, err
	}
	plans := make([]plan, 0, len(pieces))
	for _, p := range pieces {
		checkpoint, ok := ledger.Checkpoints[p.run.partition()]
		switch {
		case !ok:
			return nil, fault.New(fault.Bug, "%s: its checkpoint row was not locked", p.run.partition())
		case checkpoint.Incarnation != ledger.Incarnation:
			return nil, fault.New(fault.Fenced, "%s: its checkpoint belongs to the life %s, the target is in %s",
				p.run.partition(), checkpoint.Incarnation, ledger.Incarnation)
		}
		made := judge(p, checkpoint)
		if made.until == 0 {
			p.run.stop(made.stop)
			continue
		}
		plans = append(plans, made)
	}
	return plans, nil
}

// work is what a transaction writes for plans. A record whose identity the target has, or that came before in the same
// work, takes its position and writes nothing.
func (a *Applier) work(
	set *change.Set, plans []plan, ledger Ledger, inOrder map[*change.Relation]bool,
) Work {
	work := Work{
		Flow: a.options.Flow, Incarnation: ledger.Incarnation, Advances: make([]Advance, 0, len(plans)),
	}
	net := reduction.New(set, inOrder)
	seen := map[string]bool{}
	for n := range plans {
		p := &plans[n]
		if !p.writes() {
			continue
		}
		advance := Advance{Partition: p.run.partition(), From: p.from, Next: p.covers().Until}
		for i := p.skip; i < p.until; i++ {
			rec, d := &p.run.records[i], p.run.decoded[i]
			advance.RecordTime = later(advance.RecordTime, LedgerTime(rec.Time))
			if d.identity != "" {
				if ledger.Known[d.identity] || seen[d.identity] {
					p.absorbed++
					continue
				}
				seen[d.identity] = true
				work.Identities = append(work.Identities, Identity{d.identity, p.run.partition(), rec.Offset, LedgerTime(rec.Time)})
			}
			net.Add(set.Changes[d.from:d.until])
		}
		work.Advances = append(work.Advances, advance)
	}
	work.Groups = net.Groups()
	return work
}

// LedgerTime is a record's time as the ledger holds it. A producer may claim any time; one beyond what every timestamp type
// holds must not stop the flow, so it stands as the nearest that fits.
func LedgerTime(t time.Time) time.Time {
	const firstYear, lastYear = 1, 9999
	switch {
	case t.IsZero():
		return t
	case t.Year() > lastYear:
		return time.Date(lastYear, time.December, 31, 0, 0, 0, 0, time.UTC)
	case t.Year() < firstYear:
		return time.Date(firstYear, time.January, 2, 0, 0, 0, 0, time.UTC)
	}
	return t
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// resolve decides a commit whose reply was lost by asking the ledger under the lock on another connection (A14): what
// lies below the position is applied, the rest is not. The lock waits for a transaction that is still on its way, and
// the closing commit waits for a synchronous standby that the lost one may not have reached.
func (a *Applier) resolve(ctx context.Context, opening Opening, plans []plan, lost error) error {
	tx, err := a.target.Begin(ctx, opening)
	if err != nil {
		return fault.New(fault.UnknownOutcome, "%w; the ledger could not be asked: %w", lost, err)
	}
	ledger := tx.Ledger()
	if err := a.judge(ledger); err != nil {
		tx.Rollback(ctx)
		return err
	}
	if err := tx.Commit(ctx, Work{Flow: a.options.Flow, Incarnation: ledger.Incarnation}); err != nil {
		return fault.New(fault.UnknownOutcome, "%w; the ledger's word could not be confirmed: %w", lost, err)
	}
	for i := range plans {
		p := &plans[i]
		checkpoint := ledger.Checkpoints[p.run.partition()]
		switch {
		case checkpoint.Incarnation != ledger.Incarnation || checkpoint.Generation != p.generation:
			// Somebody moved the checkpoint meanwhile: where it stands says nothing of this commit.
			p.run.stop(fault.New(fault.UnknownOutcome, "commit %s %s: the checkpoint was moved before the ledger could be asked: %w",
				p.run.partition(), p.covers(), errors.Unwrap(lost)))
			continue
		case checkpoint.Next.Before(p.covers().Until):
			p.stop = fault.New(fault.Retryable, "commit %s %s: not applied, says the ledger: %w",
				p.run.partition(), p.covers(), errors.Unwrap(lost))
			p.until, p.absorbed = p.skip, 0
		}
		p.settle()
	}
	return nil
}

func wrapWork(plans []plan, err error) error {
	if len(plans) == 1 {
		return at(plans[0].run.partition(), plans[0].covers(), err)
	}
	return err
}
