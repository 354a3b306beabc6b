package extract

import (
	"bytes"
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"tidemark/shared/fault"
	"tidemark/shared/manifest"
	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres"
	"tidemark/shared/postgres/restore/ddl"
	"tidemark/shared/recovery"
)

// Work is how a plan is carried out.
type Work struct {
	Conn     *pgx.Conn
	Settings string // under which definitions run
	Fetch    func(ctx context.Context, object manifest.Object) ([]byte, error)
	Jobs     int // objects that are fetched side by side; so many are in memory
	// OnProgress is told how many plain bytes are in, of all.
	OnProgress func(done, of int64)
}

// Run makes what is planned, in one transaction, and gives the server its statistics.
//
// Errors: fault.Misconfigured for what cannot be made here, with its kind and name; fault.Corrupt for rows that do not fit;
// fault.UnknownOutcome when the reply to COMMIT was lost; those of Fetch and of the server.
func (p *Plan) Run(ctx context.Context, w Work) (done recovery.Restored, err error) {
	r := &run{Work: w, plan: p}
	for _, t := range p.Tables {
		r.of += size(t)
	}
	if err := r.all(ctx); err != nil {
		if !w.Conn.IsClosed() {
			_ = r.run(context.WithoutCancel(ctx), "ROLLBACK") // the session ends next, and all that it did with it
		}
		return recovery.Restored{Warnings: r.done.Warnings}, err
	}
	for _, t := range p.Tables { // a copy is whole without its statistics
		if err := r.run(ctx, "ANALYZE "+postgres.QuoteTable(p.into, t.Name.Name)); err != nil {
			r.done.Warnings = append(r.done.Warnings, fmt.Sprintf("table %s has no statistics yet: %v", t.Name, postgres.Classify(err)))
		}
	}
	return r.done, nil
}

func size(t body.Table) (bytes int64) {
	for _, c := range t.Chunks {
		if c.Rows > 0 {
			bytes += c.Object.PlainSize
		}
	}
	return bytes
}

type run struct {
	Work

	plan *Plan
	done recovery.Restored
	of   int64
}

func (r *run) run(ctx context.Context, statements string) error {
	_, err := r.Conn.PgConn().Exec(ctx, statements).ReadAll()
	return err
}

func (r *run) all(ctx context.Context) error {
	err := r.run(ctx, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; "+postgres.Unlimited(r.Conn.PgConn())+"; "+r.Settings)
	if err != nil {
		return postgres.Classify(err)
	}
	if err := r.run(ctx, "CREATE SCHEMA "+postgres.QuoteName(r.plan.into)); err != nil {
		return refused(statement{kind: "schema", name: r.plan.into}, err)
	}
	if err := r.define(ctx, r.plan.before); err != nil {
		return err
	}
	if err := r.load(ctx); err != nil {
		return err
	}
	if err := r.define(ctx, r.plan.after); err != nil {
		return err
	}
	for _, q := range r.plan.sequences {
		_, err := r.Conn.Exec(ctx, "SELECT setval($1::text::regclass, $2::bigint, $3::boolean)", postgres.QuoteTable(r.plan.into, q.Name.Name),
			q.Last, q.Called)
		if err != nil {
			return fmt.Errorf("set sequence %s: %w", q.Name, postgres.Classify(err))
		}
	}
	return r.commit(ctx)
}

func (r *run) commit(ctx context.Context) error {
	tag, err := r.Conn.Exec(ctx, "COMMIT")
	switch {
	case err != nil && r.Conn.IsClosed():
		return fault.New(fault.UnknownOutcome, "%w", postgres.Classify(err)).
			WithHint("look whether schema %s is there: it is there with everything, or not at all", r.plan.into)
	case err != nil:
		return postgres.Classify(err)
	case tag.String() != "COMMIT":
		return fault.New(fault.Bug, "the server answered COMMIT by %s", tag)
	}
	return nil
}

// define runs statements. What is optional and refused is a warning by name. Functions that a statement calls may look for
// names by the path that sessions of this database have.
func (r *run) define(ctx context.Context, all []statement) error {
	for _, d := range all {
		err := r.attempt(ctx, d.sql)
		if postgres.IsRefusal(err) && r.attempt(ctx, "SET LOCAL search_path TO DEFAULT; "+d.sql+"; SET LOCAL search_path = ''") == nil {
			continue
		}
		switch {
		case err == nil:
		case d.optional && postgres.IsRefusal(err) && !ddl.AboutRows(err):
			r.done.Warnings = append(r.done.Warnings, fmt.Sprintf("%s was not made: %s", d, ddl.Explain(err)))
		default:
			return refused(d, err)
		}
	}
	return nil
}

// attempt runs statements so that the transaction outlives their refusal.
func (r *run) attempt(ctx context.Context, statements string) error {
	err := r.run(ctx, "SAVEPOINT one; "+statements+"; RELEASE one")
	if postgres.IsRefusal(err) {
		if failed := r.run(ctx, "ROLLBACK TO one; RELEASE one"); failed != nil {
			return failed
		}
	}
	return err
}

func refused(d statement, err error) error {
	switch {
	case ddl.AboutRows(err):
		return fault.New(fault.Corrupt, "%s: %w", d, &ddl.RefusalError{Err: err}).
			WithHint("the base's rows contradict its definitions: was the collation another one? else take an older manifest")
	case postgres.IsRefusal(err):
		return fault.New(fault.Misconfigured, "%s: %w", d, &ddl.RefusalError{Err: err}).
			WithHint("nothing was written: make what it needs in this database, or restore where it is there")
	}
	return fmt.Errorf("%s: %w", d, postgres.Classify(err))
}

// piece is a chunk, and what its fetching comes to.
type piece struct {
	table body.Table
	chunk int
	plain chan []byte
}

// load fetches chunks side by side and gives them to the server one after the other, in their order.
func (r *run) load(ctx context.Context) error {
	group, inner := errgroup.WithContext(ctx)
	pieces := make(chan piece, max(r.Jobs-1, 0))
	group.Go(func() error {
		defer close(pieces)
		for _, p := range r.pieces() {
			select {
			case pieces <- p:
				group.Go(func() error { return r.fetch(inner, p) })
			case <-inner.Done():
				return context.Cause(inner)
			}
		}
		return nil
	})
	group.Go(func() error {
		for p := range pieces {
			select {
			case plain := <-p.plain:
				if err := r.copyIn(inner, p, plain); err != nil {
					return fmt.Errorf("rows of %s: chunk %d of %d: %w", p.table.Name, p.chunk+1, len(p.table.Chunks), err)
				}
			case <-inner.Done():
				return context.Cause(inner)
			}
		}
		return nil
	})
	return group.Wait()
}

// pieces are the chunks that have rows.
func (r *run) pieces() []piece {
	var all []piece
	for _, t := range r.plan.Tables {
		for i, c := range t.Chunks {
			if c.Rows > 0 {
				all = append(all, piece{t, i, make(chan []byte, 1)})
			}
		}
	}
	return all
}

func (r *run) fetch(ctx context.Context, p piece) error {
	object := p.table.Chunks[p.chunk].Object
	plain, err := r.Fetch(ctx, object)
	if err == nil && int64(len(plain)) != object.PlainSize {
		err = fault.New(fault.Corrupt, "object %s has %d plain bytes, want %d", object.Digest, len(plain), object.PlainSize)
	}
	if err != nil {
		return fmt.Errorf("rows of %s: fetch chunk %d of %d: %w", p.table.Name, p.chunk+1, len(p.table.Chunks), err)
	}
	p.plain <- plain
	return nil
}

func (r *run) copyIn(ctx context.Context, p piece, plain []byte) error {
	if err := r.run(ctx, "SET LOCAL search_path TO DEFAULT"); err != nil {
		return postgres.Classify(err)
	}
	into := postgres.QuoteTable(r.plan.into, p.table.Name.Name)
	chunk := p.table.Chunks[p.chunk]
	tag, err := r.Conn.PgConn().CopyFrom(ctx, bytes.NewReader(plain), ddl.CopyIn(into, p.table.Columns, true))
	switch {
	case ddl.AboutRows(err):
		return fault.New(fault.Corrupt, "object %s: %w", chunk.Object.Digest, postgres.Classify(err)).
			WithHint("its rows are not this table's, or a type in this database refuses them: take another manifest, or another database")
	case err != nil:
		return postgres.Classify(err)
	case tag.RowsAffected() != chunk.Rows:
		return fault.New(fault.Corrupt, "it has %d rows, the manifest says %d", tag.RowsAffected(), chunk.Rows)
	}
	r.done.Rows, r.done.Bytes = r.done.Rows+chunk.Rows, r.done.Bytes+int64(len(plain))
	if r.OnProgress != nil {
		r.OnProgress(r.done.Bytes, r.of)
	}
	return postgres.Classify(r.run(ctx, "SET LOCAL search_path = ''"))
}
