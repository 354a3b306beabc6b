// Package scratch owns databases that are made to be thrown away, and whether two addresses lead to one database.
//
// A made database has the encoding and the locale of the one that the address names, and a name that says what it is. The
// package refuses to drop a database with any other name: nothing that somebody else made is ever dropped. No state.
package scratch

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/fault"
	"tidemark/shared/postgres"
)

// prefix is how the names of all made databases begin.
const prefix = "tidemark_rehearsal_"

// Name is the database's for a run.
func Name(run string) string { return prefix + strings.ReplaceAll(run, "-", "") }

// Database is a database at an address. It connects when it is asked.
type Database struct{ at *pgx.ConnConfig }

// At is the database at an address, which it leaves as it is.
func At(address *pgx.ConnConfig) *Database { return &Database{address.Copy()} }

// Name is what the address calls it.
func (d *Database) Name() string { return d.at.Database }

// HasAddressOf says whether both have one address, without asking anybody.
func (d *Database) HasAddressOf(other *Database) bool {
	return d.at.Host == other.at.Host && d.at.Port == other.at.Port && d.at.Database == other.at.Database
}

// Create makes an empty database beside this one.
//
// Errors: fault.Misconfigured without the right to; fault.Retryable when the server is away.
func (d *Database) Create(ctx context.Context, name string) error {
	err := d.act(ctx, func(conn *pgx.Conn) error {
		locale, err := localeOf(ctx, conn)
		if err != nil {
			return err
		}
		_, err = conn.Exec(ctx, "CREATE DATABASE "+postgres.QuoteName(name)+" TEMPLATE template0"+locale)
		return err
	})
	if err == nil {
		return nil
	}
	return fault.New(fault.ClassOf(err), "make a scratch database: %w", err).
		WithHint("the role needs CREATEDB; or name an empty database in TIDEMARK_SCRATCH_DATABASE_URL")
}

// Drop drops a database that Create made, whoever is connected to it. One that is gone is no error.
func (d *Database) Drop(ctx context.Context, name string) error {
	if !strings.HasPrefix(name, prefix) {
		return fault.New(fault.Bug, "drop database %q, which was not made to be dropped", name)
	}
	err := d.act(ctx, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+postgres.QuoteName(name)+" WITH (FORCE)")
		return err
	})
	if err != nil {
		return fault.New(fault.ClassOf(err), "drop scratch database %s: %w", name, err).WithHint("drop it by hand: DROP DATABASE %s", name)
	}
	return nil
}

func (d *Database) act(ctx context.Context, what func(*pgx.Conn) error) error {
	conn, err := postgres.Connect(ctx, d.at.Copy())
	if err != nil {
		return postgres.Classify(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // every act has ended by then
	if err := what(conn); err != nil {
		return postgres.Classify(err)
	}
	return nil
}

// localeOf is what makes another database sort as this one does. Releases name its locale differently.
func localeOf(ctx context.Context, conn *pgx.Conn) (string, error) {
	var encoding, collate, ctype, provider, locale string
	err := conn.QueryRow(ctx, `SELECT pg_encoding_to_char(encoding), datcollate, datctype, coalesce(to_jsonb(d) ->> 'datlocprovider', 'c'),
		coalesce(to_jsonb(d) ->> 'datlocale', to_jsonb(d) ->> 'daticulocale', '')
		FROM pg_catalog.pg_database AS d WHERE datname = current_database()`).Scan(&encoding, &collate, &ctype, &provider, &locale)
	if err != nil {
		return "", err
	}
	options := fmt.Sprintf(" ENCODING %s LC_COLLATE %s LC_CTYPE %s", postgres.QuoteText(encoding), postgres.QuoteText(collate), postgres.QuoteText(ctype))
	switch provider {
	case "i":
		options += " LOCALE_PROVIDER icu ICU_LOCALE " + postgres.QuoteText(locale)
	case "b":
		options += " LOCALE_PROVIDER builtin BUILTIN_LOCALE " + postgres.QuoteText(locale)
	}
	return options, nil
}

// Identity tells databases apart, whatever their addresses say.
type Identity struct {
	System  string    // the cluster's identifier; empty where the role may not ask
	Started time.Time // when the server did, which any role may ask
	OID     uint32    // of the database
}

// Identify asks the database who it is.
func (d *Database) Identify(ctx context.Context) (i Identity, err error) {
	err = d.act(ctx, func(conn *pgx.Conn) error {
		var may bool
		err := conn.QueryRow(ctx, `SELECT pg_postmaster_start_time(), oid, has_function_privilege('pg_control_system()', 'EXECUTE')
			FROM pg_catalog.pg_database WHERE datname = current_database()`).Scan(&i.Started, &i.OID, &may)
		if err == nil && may {
			err = conn.QueryRow(ctx, "SELECT system_identifier::text FROM pg_control_system()").Scan(&i.System)
		}
		return err
	})
	if err != nil {
		return i, fmt.Errorf("ask a database who it is: %w", err)
	}
	return i, nil
}

// Is says whether both are one database. A copy of a cluster has its identifier and other databases' numbers with it, so that
// it counts as the same: nothing is filled that may be somebody's.
func (i Identity) Is(other Identity) bool {
	if i.OID != other.OID {
		return false
	}
	return i.System != "" && i.System == other.System || i.Started.Equal(other.Started)
}
