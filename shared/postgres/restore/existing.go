package restore

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres"
	"tidemark/shared/postgres/capture"
	"tidemark/shared/postgres/restore/claim"
	"tidemark/shared/postgres/restore/ddl/fit"
	"tidemark/shared/recovery"
)

// Fits holds a base against the tables that are there. It writes nothing. Warnings name what the base has beside its rows and
// the database has not, and what is not the base's.
//
// Errors: recovery.ErrMisfit, which is fault.Misconfigured, with everything in which they differ.
func (d *Database) Fits(ctx context.Context, b body.Body) ([]string, error) {
	s, err := d.Connect(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Close(ctx)
	found, err := d.fits(ctx, s, b)
	return found.warnings, err
}

// fitting is how a base's rows come into tables that are there.
type fitting struct {
	warnings   []string
	replica    bool              // as a replica takes them, on which nothing acts
	generation map[body.Name]int // else when each table's rows come, so that foreign keys find theirs
}

func (d *Database) fits(ctx context.Context, s *claim.Session, b body.Body) (f fitting, err error) {
	there, err := see(ctx, s.Conn())
	if err != nil {
		return f, fmt.Errorf("look at the database's tables: %w", claim.Classify(err))
	}
	found := fit.Check(b, there, d.ledger, d.Schema())
	f.warnings = found.Warnings
	if f.replica, err = actsAsReplica(ctx, s); err != nil {
		return f, err
	}
	if !f.replica {
		references, err := fit.References(ctx, s.Conn())
		if err != nil {
			return f, claim.Classify(err)
		}
		var circles []string
		f.generation, circles = fit.Generations(b.Tables, references)
		for _, c := range circles {
			found.Problems = append(found.Problems, c+"; let the recovering role SET session_replication_role, or drop the key for the while")
		}
	}
	if len(found.Problems) > 0 {
		return f, fault.New(fault.Misconfigured, "%w: %s", recovery.ErrMisfit, strings.Join(found.Problems, "; ")).
			WithHint("correct the tables, or recover into an empty database without --schema; then run the same command again")
	}
	return f, nil
}

// see reads what the database holds, in a transaction that changes nothing.
func see(ctx context.Context, conn *pgx.Conn) (there fit.There, err error) {
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return there, err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // nothing to undo
	schema, err := capture.Read(ctx, tx)
	if err != nil {
		return there, err
	}
	return fit.See(ctx, tx, schema.Definitions)
}

// kept says whether a table was there, with all that acts on its rows, and is not made by the try.
func (r *restoring) kept(t body.Table) bool { return r.base.Try.Existing && t.Schema != r.db.ledger }

// makes says whether the try makes a definition. Of a database whose tables are there it makes the ledger, and fills views.
func (r *restoring) makes(d body.Definition) bool {
	ledger := r.db.ledger
	switch {
	case !r.base.Try.Existing, d.Kind == "refresh", d.Schema == ledger, d.Table.Schema == ledger:
		return true
	case d.Kind == "schema", d.Kind == "owner", d.Kind == "grant":
		return d.Schema == "" && d.Name == ledger
	case d.Kind == "comment": // its name is whole
		return d.Name == ledger || strings.HasPrefix(d.Name, ledger+".") || strings.HasPrefix(d.Name, postgres.QuoteName(ledger)+".")
	}
	return false
}

// existing makes sure, before the first row, that the base fits the tables that are there and that nothing is in them.
func (r *restoring) existing(ctx context.Context) error {
	if !r.base.Try.Existing || r.hold.Restored {
		return nil
	}
	s, err := r.session(ctx, 0)
	if err != nil {
		return err
	}
	r.fitting, err = r.db.fits(ctx, s, r.base.Body)
	for _, w := range r.fitting.warnings {
		r.warn("%s", w)
	}
	if err != nil {
		return err
	}
	return r.step(ctx, "existing", func(s *claim.Session) error { return r.vacant(ctx, s) })
}

// vacant refuses tables with rows that somebody put there since the claim.
func (r *restoring) vacant(ctx context.Context, s *claim.Session) error {
	for _, t := range r.base.Body.Tables {
		if !r.kept(t) {
			continue
		}
		var filled bool
		if err := s.Conn().QueryRow(ctx, "SELECT EXISTS (SELECT FROM "+quoted(t)+")").Scan(&filled); err != nil {
			return claim.Classify(err)
		}
		if filled {
			return fault.New(fault.Misconfigured, "%w: table %s has rows that this recovery did not load", recovery.ErrNotEmpty, t.Name).
				WithHint("empty it, then run the same command again")
		}
	}
	return nil
}

const asReplica = "SET LOCAL session_replication_role = replica"

// actsAsReplica says whether this role may load rows as a replica does, which keeps the tables' triggers and foreign keys from
// acting on rows that they have acted on before.
func actsAsReplica(ctx context.Context, s *claim.Session) (bool, error) {
	err := s.Run(ctx, "BEGIN; "+asReplica)
	if failed := s.Run(ctx, "ROLLBACK"); err == nil && failed != nil {
		err = failed
	}
	const noPrivilege = "42501"
	if postgres.StateOf(err) == noPrivilege {
		return false, nil
	}
	return err == nil, claim.Classify(err)
}

// prepareKept makes ready for the rows of a table that was there: nothing that acts on rows acts on these. Triggers that do so
// also in a replica, or in a session that may not be one, sleep until the end of the transaction.
func (r *restoring) prepareKept(ctx context.Context, s *claim.Session, t body.Table) (wake string, err error) {
	settings := "SET LOCAL search_path TO DEFAULT; SET LOCAL row_security = off"
	if r.fitting.replica {
		settings += "; " + asReplica
	}
	if err := s.Run(ctx, settings); err != nil {
		return "", err
	}
	triggers, err := fit.Triggers(ctx, s.Conn(), quoted(t), r.fitting.replica)
	if err != nil {
		return "", err
	}
	sleep, waken := "", "SET CONSTRAINTS ALL IMMEDIATE" // a table cannot be changed while checks of its rows are still to come
	for _, g := range triggers {
		sleep, waken = sleep+g.Sleep()+";", waken+"; "+g.Wake()
	}
	return waken, s.Run(ctx, sleep)
}

// unfit is the refusal of rows by a rule of the database's own.
func unfit(err error) error {
	return fault.New(fault.Misconfigured, "%w", postgres.Classify(err)).
		WithHint("a rule of the database's table refuses rows of the base: drop it, run the same command again, and add it afterwards")
}

// isRule says whether a constraint refuses rows.
func isRule(err error) bool { return strings.HasPrefix(postgres.StateOf(err), "23") }
