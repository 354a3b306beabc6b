package snapshot

import (
	"context"
	_ "embed" // the question is a file
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres"
)

//go:embed sql/tables.sql
var tablesQuestion string

// relation is a table as the catalog has it at one moment.
type relation struct {
	body.Name
	oid    uint32
	denied bool // the role may not read it
	hidden bool // a policy hides rows from the role
	lost   bool // a standby has no rows of it
}

func (r relation) quoted() string { return postgres.QuoteTable(r.Schema, r.Name.Name) }

// relations are the tables of the database, by name.
type relations []relation

func list(ctx context.Context, tx pgx.Tx) (relations, error) {
	all, err := ask(ctx, tx, tablesQuestion, func(row pgx.CollectableRow) (relation, error) {
		var r relation
		err := row.Scan(&r.oid, &r.Schema, &r.Name.Name, &r.denied, &r.hidden, &r.lost)
		return r, err
	})
	if err != nil {
		return nil, fmt.Errorf("list the tables: %w", err)
	}
	return all, nil
}

// listed is the list in a transaction of its own, refused where something could not be read.
func (s *Source) listed(ctx context.Context, conn *pgx.Conn) (relations, error) {
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, classify(err)
	}
	defer func() { _ = tx.Rollback(ctx) }() // it only read
	if err := s.set(ctx, conn); err != nil {
		return nil, err
	}
	all, err := list(ctx, tx)
	if err != nil {
		return nil, err
	}
	if _, ok := all.numbers()[body.Name{Schema: s.options.LedgerSchema, Name: "target"}]; !ok {
		return nil, fault.New(fault.Misconfigured, "the database has no ledger in schema %s", s.options.LedgerSchema).
			WithHint("run: tidemark migrate; or correct TIDEMARK_LEDGER_SCHEMA")
	}
	return all, all.refuse(conn.Config().User)
}

// refuse names all tables that cannot be read as a whole, so that one round mends them all.
func (all relations) refuse(role string) error {
	role = postgres.QuoteName(role)
	if names := all.where(func(r relation) bool { return r.denied }); names != nil {
		return fault.New(fault.Misconfigured, "role %s may not read %s", role, some(names)).
			WithHint("run: GRANT SELECT ON TABLE %s TO %s; and GRANT USAGE ON their schemas; or all at once: "+
				"GRANT pg_read_all_data TO %s", some(names), role, role)
	}
	if names := all.where(func(r relation) bool { return r.hidden }); names != nil {
		return fault.New(fault.Misconfigured, "row security hides rows of %s from role %s", some(names), role).
			WithHint("run: ALTER ROLE %s BYPASSRLS; a backup without the hidden rows would be no backup", role)
	}
	if names := all.where(func(r relation) bool { return r.lost }); names != nil {
		return fault.New(fault.Misconfigured, "a standby has no rows of the unlogged %s", some(names)).
			WithHint("back up from the primary")
	}
	return nil
}

func (all relations) where(is func(relation) bool) []string {
	var names []string
	for _, r := range all {
		if is(r) {
			names = append(names, r.quoted())
		}
	}
	return names
}

// some is the first few of many names.
func some(names []string) string {
	const few = 10
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}

func (all relations) numbers() map[body.Name]uint32 {
	numbers := make(map[body.Name]uint32, len(all))
	for _, r := range all {
		numbers[r.Name] = r.oid
	}
	return numbers
}

// sameAs says that every table that the snapshot shows is one that was locked: by its name, which the lock went by, and by
// its number, which tells it from another that took the name in between.
func (all relations) sameAs(locked relations) error {
	numbers := locked.numbers()
	for _, r := range all {
		if number, ok := numbers[r.Name]; !ok || number != r.oid {
			return fmt.Errorf("%w: %s is another one, or new", errChanged, r.Name)
		}
	}
	return nil
}

// lockedAtOnce is how many tables one statement locks.
const lockedAtOnce = 500

// lock takes every table's lock, each for itself: a parent's would take its partitions' with it.
func lock(ctx context.Context, pg *pgconn.PgConn, all relations) error {
	for start := 0; start < len(all); start += lockedAtOnce {
		var names []string
		for _, r := range all[start:min(start+lockedAtOnce, len(all))] {
			names = append(names, "ONLY "+r.quoted())
		}
		statement := "LOCK TABLE " + strings.Join(names, ", ") + " IN ACCESS SHARE MODE"
		if _, err := pg.Exec(ctx, statement).ReadAll(); err != nil {
			return fmt.Errorf("lock the tables: %w", classify(err))
		}
	}
	return nil
}
