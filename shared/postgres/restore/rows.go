package restore

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres"
	"tidemark/shared/postgres/restore/claim"
	"tidemark/shared/postgres/restore/ddl"
)

// unit is what one transaction loads: a whole table, or one chunk of a large one.
type unit struct {
	table  int // in the body
	chunks []int
	whole  bool
	plain  int64
}

// wholeTable: a table that is loaded as a whole is emptied first, so that the server may write its rows as frozen: without the
// work of freezing and marking them later. Larger tables are loaded by several jobs, and a killed recovery has not lost all
// of them. Small ones stay as they are: a transaction that leaves a file behind waits for the disk at its commit, and that
// takes longer than what is saved.
const (
	wholeTable  = 256 << 20
	frozenTable = 1 << 20
)

// freezes says whether the rows of a unit are written as frozen.
func (r *restoring) freezes(u unit) bool {
	return u.whole && u.plain >= frozenTable && !r.kept(r.base.Body.Tables[u.table])
}

func (u unit) step() string {
	if u.whole {
		return fmt.Sprintf("rows %d", u.table)
	}
	return fmt.Sprintf("rows %d.%d", u.table, u.chunks[0])
}

func plainSize(t body.Table) (size int64) {
	for _, c := range t.Chunks {
		size += c.Object.PlainSize
	}
	return size
}

// units cuts the rows of all tables, the largest first. A chunk without rows is not asked for. The row of the ledger's target is
// the claim's.
func (r *restoring) units() []unit {
	var units []unit
	for at, t := range r.base.Body.Tables {
		if t.Schema == r.db.ledger && t.Name.Name == targetTable {
			continue
		}
		all := unit{table: at, whole: plainSize(t) <= r.db.whole}
		for i, c := range t.Chunks {
			switch {
			case c.Rows == 0:
			case all.whole:
				all.chunks, all.plain = append(all.chunks, i), all.plain+c.Object.PlainSize
			default:
				units = append(units, unit{table: at, chunks: []int{i}, plain: c.Object.PlainSize})
			}
		}
		if len(all.chunks) > 0 {
			units = append(units, all)
		}
	}
	slices.SortStableFunc(units, func(a, b unit) int { return cmp.Compare(b.plain, a.plain) })
	return units
}

func (r *restoring) loadRows(ctx context.Context) error {
	var left []unit
	for _, u := range r.units() {
		r.of += u.plain
		if r.hold.Done[u.step()] {
			r.plain += u.plain
		} else {
			left = append(left, u)
		}
	}
	for _, units := range r.generations(left) {
		if err := beside(ctx, r, units, r.load); err != nil {
			return err
		}
	}
	return nil
}

// generations are the units that may be loaded beside each other, those first that others may hang on.
func (r *restoring) generations(units []unit) [][]unit {
	var all [][]unit
	for _, u := range units {
		at := r.fitting.generation[r.base.Body.Tables[u.table].Name]
		for len(all) <= at {
			all = append(all, nil)
		}
		all[at] = append(all[at], u)
	}
	return all
}

// piece is a chunk that was fetched. Those of a unit come in their order.
type piece struct {
	unit  unit
	chunk int
	plain []byte
}

// load fetches one chunk while the one before is loaded.
func (r *restoring) load(ctx context.Context, s *claim.Session, queue <-chan unit) error {
	pieces := make(chan piece)
	group, inner := errgroup.WithContext(ctx)
	group.Go(func() error {
		err := r.fetch(inner, queue, pieces)
		if err == nil { // else the group ends, for this reason
			close(pieces)
		}
		return err
	})
	group.Go(func() error {
		for {
			first, more, err := next(inner, pieces)
			if err != nil || !more {
				return err
			}
			if err := r.loadUnit(inner, s, first, pieces); err != nil {
				return fmt.Errorf("rows of %s: %w", r.base.Body.Tables[first.unit.table].Name, err)
			}
		}
	})
	return group.Wait()
}

// next waits for a piece, while the group lasts. More says whether one came.
func next(ctx context.Context, pieces <-chan piece) (p piece, more bool, err error) {
	select {
	case p, more = <-pieces:
		return p, more, nil
	case <-ctx.Done():
		return p, false, context.Cause(ctx)
	}
}

func (r *restoring) fetch(ctx context.Context, queue <-chan unit, pieces chan<- piece) error {
	for u := range queue {
		table := r.base.Body.Tables[u.table]
		for _, i := range u.chunks {
			object := table.Chunks[i].Object
			plain, err := r.base.Fetch(ctx, object)
			if err == nil && int64(len(plain)) != object.PlainSize {
				err = fault.New(fault.Corrupt, "object %s has %d plain bytes, want %d", object.Digest, len(plain), object.PlainSize)
			}
			if err != nil {
				return fmt.Errorf("rows of %s: fetch chunk %d of %d: %w", table.Name, i+1, len(table.Chunks), err)
			}
			select {
			case pieces <- piece{u, i, plain}:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
	return nil
}

// loadUnit loads a unit in one transaction. Its other pieces follow the first.
func (r *restoring) loadUnit(ctx context.Context, s *claim.Session, first piece, pieces <-chan piece) error {
	u := first.unit
	rows := int64(0)
	loaded, err := s.Step(ctx, u.step(), r.db.settings, func() error {
		wake, err := r.prepare(ctx, s, u)
		if err != nil {
			return err
		}
		if rows, err = r.copyAll(ctx, s, first, pieces); err != nil {
			return err
		}
		if err := s.Run(ctx, wake); isRule(err) {
			return unfit(err)
		} else if err != nil {
			return err
		}
		return r.renew(ctx, s, u)
	})
	if err != nil {
		return claim.Classify(err)
	}
	if !loaded { // another session was in the midst of it, that of a process that was killed, and came through
		for range u.chunks[1:] {
			if _, _, err := next(ctx, pieces); err != nil {
				return err
			}
		}
	}
	r.progress(u.plain, rows, loaded)
	return nil
}

// copyAll loads the pieces of a unit and says how many rows they had.
func (r *restoring) copyAll(ctx context.Context, s *claim.Session, first piece, pieces <-chan piece) (rows int64, err error) {
	p := first
	for i := range first.unit.chunks {
		if i > 0 {
			if p, _, err = next(ctx, pieces); err != nil {
				return 0, err
			}
		}
		if err := r.copyIn(ctx, s, p); err != nil {
			return 0, err
		}
		rows += r.base.Body.Tables[p.unit.table].Chunks[p.chunk].Rows
	}
	return rows, nil
}

func (r *restoring) progress(plain, rows int64, loaded bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.plain += plain
	if loaded {
		r.rows, r.bytes = r.rows+rows, r.bytes+plain
	}
	if r.base.OnProgress != nil {
		r.base.OnProgress(r.plain, r.of)
	}
}

// prepare empties a table whose rows come frozen: only those of a file that this transaction made may be. Functions that checks
// of domains and generated columns call may hang on the path that sessions of this database have. What is to be said after the
// rows it returns.
func (r *restoring) prepare(ctx context.Context, s *claim.Session, u unit) (after string, err error) {
	if t := r.base.Body.Tables[u.table]; r.kept(t) {
		return r.prepareKept(ctx, s, t)
	}
	statements := "SET LOCAL search_path TO DEFAULT"
	if r.freezes(u) {
		statements += "; TRUNCATE ONLY " + quoted(r.base.Body.Tables[u.table])
	}
	return "", s.Run(ctx, statements)
}

func quoted(t body.Table) string { return postgres.QuoteTable(t.Schema, t.Name.Name) }

// copyIn gives a chunk to the server.
func (r *restoring) copyIn(ctx context.Context, s *claim.Session, p piece) error {
	table := r.base.Body.Tables[p.unit.table]
	statement := ddl.CopyIn(quoted(table), table.Columns, r.freezes(p.unit))
	chunk := table.Chunks[p.chunk]
	tag, err := s.Conn().PgConn().CopyFrom(ctx, bytes.NewReader(p.plain), statement)
	switch {
	case err == nil && tag.RowsAffected() == chunk.Rows:
		return nil
	case err == nil:
		return fault.New(fault.Corrupt, "chunk %d of %d has %d rows, the manifest says %d", p.chunk+1, len(table.Chunks),
			tag.RowsAffected(), chunk.Rows).WithHint(otherBytes)
	case r.kept(table) && isRule(err):
		return fmt.Errorf("chunk %d of %d: %w", p.chunk+1, len(table.Chunks), unfit(err))
	case ddl.AboutRows(err):
		return fault.New(fault.Corrupt, "chunk %d of %d, object %s: %w", p.chunk+1, len(table.Chunks), chunk.Object.Digest,
			postgres.Classify(err)).WithHint(otherBytes)
	}
	return fmt.Errorf("chunk %d of %d: %w", p.chunk+1, len(table.Chunks), claim.Classify(err))
}

const otherBytes = "its bytes are those that the backup stored, and not this table's rows: recover from another manifest"

// renew gives checkpoints the life that the target lives now.
func (r *restoring) renew(ctx context.Context, s *claim.Session, u unit) error {
	table := r.base.Body.Tables[u.table]
	if table.Schema != r.db.ledger || table.Name.Name != "checkpoint" {
		return nil
	}
	_, err := s.Conn().Exec(ctx, "UPDATE "+quoted(table)+" SET incarnation = $1::uuid", r.base.Try.Incarnation.String())
	return err
}

// checkUnlogged finds tables that the server emptied. It does so with unlogged tables when it comes up after a crash, and the
// marks of their steps survive.
func (r *restoring) checkUnlogged(ctx context.Context) error {
	if r.hold.Restored {
		return nil // rows may have come and gone since
	}
	loaded := map[int]int64{}
	for _, u := range r.units() {
		if r.hold.Done[u.step()] {
			for _, i := range u.chunks {
				loaded[u.table] += r.base.Body.Tables[u.table].Chunks[i].Rows
			}
		}
	}
	for at, want := range loaded {
		s, err := r.session(ctx, 0) // the hold's transaction would keep the table's lock
		if err != nil {
			return err
		}
		table := r.base.Body.Tables[at]
		var have int64
		err = s.Conn().QueryRow(ctx, "SELECT CASE (SELECT relpersistence FROM pg_catalog.pg_class WHERE oid = $1::text::regclass)"+
			" WHEN 'u' THEN (SELECT count(*) FROM ONLY "+quoted(table)+") ELSE $2::bigint END", quoted(table), want).Scan(&have)
		switch {
		case err != nil:
			return claim.Classify(err)
		case have != want:
			return fault.New(fault.Misconfigured, "unlogged table %s has %d of the %d rows that were loaded", table.Name, have, want).
				WithHint("the server went down without a shutdown and emptied it: recover into an empty database, from the start")
		}
	}
	return nil
}
