// Package capture owns what a database is beside its rows: the statements that make an empty database like it, its
// tables with their columns and keys, and where its sequences stand.
//
// It reads the catalog in the transaction that it is given and asks the server for every expression, definition and
// quoted name. It refuses to leave anything out in silence: what somebody made and no definition makes again is named,
// and so is what needs something of that kind. What belongs to an extension comes with its CREATE EXTENSION. It reads no
// rows and runs no definition.
//
// Invariants: definitions stand in an order in which each finds what it needs; order and text hang on names alone, so
// that a rebuilt database is captured as the same. Nothing is shared between calls.
package capture

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres"
)

// Session makes the server read and print names and values in one way. Read runs it; whoever runs definitions runs it
// before, in the same transaction. Bodies of functions name what is made after them.
const Session = `SET LOCAL search_path = '';
SET LOCAL check_function_bodies = off;
SET LOCAL standard_conforming_strings = on;
SET LOCAL quote_all_identifiers = off;
SET LOCAL default_table_access_method = heap;
SET LOCAL default_tablespace = '';
SET LOCAL DateStyle = 'ISO, YMD';
SET LOCAL IntervalStyle = 'postgres';
SET LOCAL TimeZone = 'UTC';
SET LOCAL extra_float_digits = 3;
SET LOCAL bytea_output = hex;
SET LOCAL xmloption = content;
SET LOCAL lc_monetary = 'C';
SET LOCAL array_nulls = on;
SET LOCAL transform_null_equals = off;
SET LOCAL client_min_messages = warning`

// Schema is a database without its rows.
type Schema struct {
	Definitions []body.Definition // in the order in which a restore runs them
	Tables      []body.Table      // those that hold rows, by name, without chunks and counts
	Sequences   []body.Sequence   // by name, those of identity columns too
	Uncaptured  []string          // what the database has and the definitions do not make: its kind and its name
}

//go:embed sql/*.sql
var files embed.FS

// Read reads the schema as tx sees it; values of sequences are those of the moment, and so is the server's own printing
// of what nobody has locked: a function that another session replaces or drops meanwhile is printed anew, or Read fails
// and may be repeated. It leaves Session's settings behind in tx. A table that cannot be made again is among Uncaptured
// and not among Tables.
// Errors: as postgres.Classify has them; fault.Misconfigured where the role may not read a sequence.
func Read(ctx context.Context, tx pgx.Tx) (Schema, error) {
	schema, err := read(ctx, catalog{tx})
	if err != nil {
		return Schema{}, fmt.Errorf("capture the schema: %w", err)
	}
	return schema, nil
}

func read(ctx context.Context, from catalog) (Schema, error) {
	if _, err := from.tx.Exec(ctx, Session, pgx.QueryExecModeSimpleProtocol); err != nil {
		return Schema{}, postgres.Classify(err)
	}
	definitions, err := from.definitions(ctx)
	if err != nil {
		return Schema{}, err
	}
	dependencies, err := from.dependencies(ctx)
	if err != nil {
		return Schema{}, err
	}
	plan := newPlan(definitions, dependencies)
	schema := Schema{Definitions: plan.ordered(definitions)}
	if schema.Tables, err = from.tables(ctx, plan); err != nil {
		return Schema{}, err
	}
	if schema.Sequences, err = from.sequences(ctx, plan); err != nil {
		return Schema{}, err
	}
	schema.Uncaptured, err = from.leftover(ctx, plan, definitions)
	return schema, err
}

// catalog asks the files of sql.
type catalog struct{ tx pgx.Tx }

// ask runs the statement in a file and scans its rows.
func ask[T any](ctx context.Context, from catalog, file string, scan func(pgx.CollectableRow) (T, error), args ...any) (
	[]T, error,
) {
	sql, err := files.ReadFile("sql/" + file + ".sql")
	if err != nil {
		return nil, fault.New(fault.Bug, "%w", err)
	}
	rows, err := from.tx.Query(ctx, string(sql), args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, postgres.Classify(err))
	}
	answers, err := pgx.CollectRows(rows, scan)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, postgres.Classify(err))
	}
	return answers, nil
}

// address is what the catalog knows an object by.
type address struct{ class, object uint32 }

// definition is a statement with its place.
type definition struct {
	body.Definition
	at      address // the object that it makes or changes
	creates bool
	stage   int // within the phase
	part    int // among those of one object
}

// definitions asks the files whose rows are definitions: each has the columns that scanDefinition reads, in its order.
func (c catalog) definitions(ctx context.Context) ([]definition, error) {
	var all []definition
	for _, file := range []string{
		"schemas", "types", "routines", "sequences", "tables", "columns", "constraints", "views", "conduct",
		"comments", "grants", "defaultprivileges", "extensiondependencies",
	} {
		definitions, err := ask(ctx, c, file, scanDefinition)
		if err != nil {
			return nil, err
		}
		all = append(all, definitions...)
	}
	return all, nil
}

func scanDefinition(row pgx.CollectableRow) (definition, error) {
	var d definition
	err := row.Scan(&d.at.class, &d.at.object, &d.creates, &d.Phase, &d.stage,
		&d.Kind, &d.Schema, &d.Name, &d.Table.Schema, &d.Table.Name, &d.part, &d.SQL)
	return d, err
}

// byName orders definitions of one kind.
func byName(a, b definition) int {
	return cmp.Or(
		cmp.Compare(a.Schema, b.Schema), cmp.Compare(a.Table.Name, b.Table.Name), cmp.Compare(a.part, b.part),
		cmp.Compare(a.Name, b.Name), cmp.Compare(a.SQL, b.SQL),
	)
}

func phases() []body.Phase {
	return []body.Phase{body.BeforeData, body.Keys, body.References, body.AfterData}
}

// stages is more than a phase has stages.
const stages = 10

// level is the time at which a definition runs, the earliest first.
func (d definition) level() int { return slices.Index(phases(), d.Phase)*stages + d.stage }
