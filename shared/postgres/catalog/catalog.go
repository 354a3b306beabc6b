// Package catalog owns what the target's own catalog says of a table: columns with the types they are cast to, the key
// that identifies a row, what may be written and how rows are compared.
//
// It reads one table at a time, in one round trip, on whatever connection its caller has. Everything it returns is
// immutable. Names of types come out of the catalog ready to stand in a statement under any search path. It refuses
// relations that hold no rows of their own, such as views.
package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"tidemark/shared/change"
	"tidemark/shared/fault"
	"tidemark/shared/postgres"
)

// Table is a table of the target, as writers need to know it.
type Table struct {
	*change.Relation
	Quoted string // the name, quoted, with its schema
	// Own is the name behind SELECT, UPDATE and DELETE: the rows of the table itself and its partitions, without those of
	// tables that inherit from it, among which the key says nothing.
	Own     string
	Columns []Column
	// Arbiter says that ON CONFLICT can infer the key: a valid unique index that is neither deferrable nor partial.
	Arbiter bool
	// Copyable says that rows may come in by COPY: a row that is there already shows at once, because the key's index is
	// neither deferrable nor missing, and nothing else is left to the end of the transaction or to policies.
	Copyable bool
}

// Column is how a column is written. Its name and type are in the Relation's column of the same index.
type Column struct {
	Quoted string
	// Cast is the type that a text is cast to: the base type of a domain, without a modifier. A cast with a modifier
	// cuts what is too long; assignment raises.
	Cast string
	// FromText is what an expression of type text is cast to. Where a function casts text to the type it need not read
	// what the type itself reads ('-' is no regclass to it), so the way leads through bpchar and the type's own input.
	FromText string
	// Equal says that the type has an equality operator; others are compared by their text.
	Equal bool
	// Operator is the equality with its schema: an extension's type may lie outside the search path, where "=" is that of
	// a type it converts to.
	Operator string
	// Domain says that a comparison needs the column cast: operators of enums, ranges and the like do not see through
	// domains.
	Domain bool
}

// Rows are the rows of one statement's result, columns in PostgreSQL's text form, NULL as nil.
type Rows = [][][]byte

const relationSQL = `SELECT c.oid::text, c.relkind::text FROM pg_catalog.pg_class AS c` +
	` JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = $1::text AND c.relname = $2::text`

const columnsSQL = `SELECT a.attnum::text, a.attname, a.atttypid::text, a.atttypmod::text, a.attidentity::text,` +
	` a.attgenerated::text, coalesce((SELECT o.collisdeterministic FROM pg_catalog.pg_collation AS o` +
	` WHERE o.oid = a.attcollation), true)::text FROM pg_catalog.pg_attribute AS a` +
	` JOIN pg_catalog.pg_class AS c ON c.oid = a.attrelid JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace` +
	` WHERE n.nspname = $1::text AND c.relname = $2::text AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`

// typesSQL returns every type that the columns lead to: domains' bases and arrays' elements, with the printed name of the
// type without modifier, whether the type has an equality, the operator if it is the type's own, and whether a function
// casts text to it and none bpchar. Enums, ranges, arrays and composites have an equality by their kind.
const typesSQL = `WITH RECURSIVE lead AS (` +
	`SELECT t.* FROM pg_catalog.pg_type AS t WHERE t.oid IN (SELECT a.atttypid FROM pg_catalog.pg_attribute AS a` +
	` JOIN pg_catalog.pg_class AS c ON c.oid = a.attrelid JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace` +
	` WHERE n.nspname = $1::text AND c.relname = $2::text AND a.attnum > 0 AND NOT a.attisdropped)` +
	` UNION SELECT t.* FROM lead AS l JOIN pg_catalog.pg_type AS t ON t.oid = l.typbasetype` +
	` OR l.typcategory = 'A' AND t.oid = l.typelem)` +
	` SELECT l.oid::text, l.typname, n.nspname, l.typtype::text, l.typcategory::text, l.typbasetype::text, l.typtypmod::text,` +
	` l.typelem::text, pg_catalog.format_type(l.oid, -1),` +
	` (l.typtype IN ('e', 'r', 'm') OR EXISTS (SELECT FROM pg_catalog.pg_opclass AS o` +
	` JOIN pg_catalog.pg_am AS m ON m.oid = o.opcmethod WHERE m.amname IN ('btree', 'hash')` +
	` AND o.opcdefault AND o.opcintype = l.oid) OR l.typname IN ('varchar', 'bpchar', 'cidr'))::text,` +
	` (SELECT pg_catalog.format('OPERATOR(%I.%s)', s.nspname, e.oprname) FROM pg_catalog.pg_opclass AS o` +
	` JOIN pg_catalog.pg_am AS m ON m.oid = o.opcmethod JOIN pg_catalog.pg_amop AS p ON p.amopfamily = o.opcfamily` +
	` AND p.amoplefttype = o.opcintype AND p.amoprighttype = o.opcintype` +
	` AND (m.amname, p.amopstrategy) IN (('btree', 3), ('hash', 1))` +
	` JOIN pg_catalog.pg_operator AS e ON e.oid = p.amopopr JOIN pg_catalog.pg_namespace AS s ON s.oid = e.oprnamespace` +
	` WHERE o.opcdefault AND o.opcintype = l.oid ORDER BY m.amname LIMIT 1),` +
	` (SELECT count(*) FILTER (WHERE k.castfunc <> 0) > 0` +
	` AND count(*) FILTER (WHERE k.castsource <> 'text'::regtype) = 0` +
	` FROM pg_catalog.pg_cast AS k WHERE k.casttarget = l.oid` +
	` AND k.castsource IN ('text'::regtype, 'bpchar'::regtype))::text` +
	` FROM lead AS l JOIN pg_catalog.pg_namespace AS n ON n.oid = l.typnamespace`

// keysSQL returns the unique indexes that can identify a row, best first: the primary key, the replica identity, then by
// number of columns and name. An index with an expression, a predicate or a column that may be NULL cannot.
const keysSQL = `SELECT array_to_string((i.indkey::smallint[])[0:i.indnkeyatts - 1], ' '), i.indimmediate::text` +
	` FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.indrelid` +
	` JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace JOIN pg_catalog.pg_class AS x ON x.oid = i.indexrelid` +
	` WHERE n.nspname = $1::text AND c.relname = $2::text AND i.indisunique AND i.indisvalid AND i.indisready` +
	` AND i.indpred IS NULL AND i.indexprs IS NULL` +
	` AND NOT EXISTS (SELECT FROM pg_catalog.pg_attribute AS a WHERE a.attrelid = c.oid` +
	` AND a.attnum = ANY ((i.indkey::smallint[])[0:i.indnkeyatts - 1]) AND NOT a.attnotnull)` +
	` ORDER BY i.indisprimary DESC, i.indisreplident DESC, i.indimmediate DESC, i.indnkeyatts, x.relname`

// treeSQL is the table c and, if it is partitioned, its partitions: each may have triggers and constraints of its own.
const treeSQL = `SELECT c.oid UNION SELECT p.relid FROM pg_catalog.pg_partition_tree(c.oid) AS p`

// conductSQL returns what forbids to change the table's rows in bulk, and how many unique or exclusion constraints it has.
// Only what fires in an ordinary session counts: triggers for replicas do not.
const conductSQL = `SELECT (c.relhasrules` +
	` OR EXISTS (SELECT FROM pg_catalog.pg_trigger AS g WHERE g.tgrelid IN (` + treeSQL + `) AND NOT g.tgisinternal` +
	` AND g.tgenabled IN ('O', 'A') AND (g.tgtype::integer & 1) = 1)` +
	` OR EXISTS (SELECT FROM pg_catalog.pg_constraint AS f WHERE f.confrelid IN (` + treeSQL + `) AND f.contype = 'f'` +
	` AND (f.confdeltype IN ('c', 'n', 'd') OR f.confupdtype IN ('c', 'n', 'd'))))::text,` +
	` (SELECT count(*) FROM pg_catalog.pg_index AS i WHERE i.indrelid = c.oid AND (i.indisunique OR i.indisexclusion))::text,` +
	` (c.relrowsecurity OR EXISTS (SELECT FROM pg_catalog.pg_constraint AS f` +
	` WHERE f.condeferrable AND (f.conrelid IN (` + treeSQL + `) OR f.confrelid IN (` + treeSQL + `))))::text` +
	` FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace` +
	` WHERE n.nspname = $1::text AND c.relname = $2::text`

const parentsSQL = `SELECT DISTINCT pn.nspname, p.relname FROM pg_catalog.pg_constraint AS f` +
	` JOIN pg_catalog.pg_class AS c ON c.oid = f.conrelid JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace` +
	` JOIN pg_catalog.pg_class AS p ON p.oid = f.confrelid JOIN pg_catalog.pg_namespace AS pn ON pn.oid = p.relnamespace` +
	` WHERE f.contype = 'f' AND n.nspname = $1::text AND c.relname = $2::text AND p.oid <> c.oid`

// searchPathSQL makes format_type print every schema but pg_catalog.
const searchPathSQL = `SELECT pg_catalog.set_config('search_path', '', true)`

// Questions are the statements that describe a table. They want to run in one transaction, in order; Read takes the
// rows of all of them.
func Questions(name change.Name) []postgres.Statement {
	params := [][]byte{[]byte(name.Schema), []byte(name.Table)}
	return []postgres.Statement{
		{SQL: searchPathSQL},
		{SQL: relationSQL, Params: params},
		{SQL: columnsSQL, Params: params},
		{SQL: typesSQL, Params: params},
		{SQL: keysSQL, Params: params},
		{SQL: conductSQL, Params: params},
		{SQL: parentsSQL, Params: params},
	}
}

// Read makes a table of the answers to Questions.
// Errors: fault.Misconfigured when there is no such table, or it is a view or the like.
func Read(name change.Name, answers []Rows) (*Table, error) {
	if err := checkRelation(name, answers[1]); err != nil {
		return nil, err
	}
	if len(answers[5]) != 1 {
		return nil, unreadable(name, errors.New("the table changed while it was described"))
	}
	types, err := readTypes(answers[3])
	if err != nil {
		return nil, unreadable(name, err)
	}
	quoted := postgres.QuoteTable(name.Schema, name.Table)
	table := &Table{Quoted: quoted, Own: quoted}
	if !isPartitioned(answers[1]) {
		table.Own = "ONLY " + quoted
	}
	var columns []change.Column
	byNumber := map[string]int{}
	for i, row := range answers[2] {
		column, written, err := readColumn(row, types)
		if err != nil {
			return nil, unreadable(name, err)
		}
		columns, table.Columns = append(columns, column), append(table.Columns, written)
		byNumber[string(row[0])] = i
	}
	key, arbiter := readKey(answers[4], byNumber)
	table.Relation, table.Arbiter = change.NewRelation(name, columns, key), arbiter
	table.Adapter = table
	readConduct(table, answers[5], answers[6])
	return table, nil
}

// Of is the table whose relation this is.
// Errors: fault.Bug for a relation that Read did not make.
func Of(relation *change.Relation) (*Table, error) {
	table, ok := relation.Adapter.(*Table)
	if !ok {
		return nil, fault.New(fault.Bug, "the relation %s does not come from the catalog", relation.Name)
	}
	return table, nil
}

func unreadable(name change.Name, err error) error {
	return fault.New(fault.Bug, "read the catalog of %s: %w", name, err)
}

func checkRelation(name change.Name, rows Rows) error {
	if len(rows) == 0 {
		return fault.New(fault.Misconfigured, "the target has no table %s", name).
			WithHint("create it, route the source's table elsewhere (routes), or say on_unknown_table: ignore")
	}
	if kind := string(rows[0][1]); kind != "r" && kind != "p" {
		return fault.New(fault.Misconfigured, "%s in the target is no table (relkind %s)", name, kind).
			WithHint("route the source's table to a table")
	}
	return nil
}

func isPartitioned(rows Rows) bool { return string(rows[0][1]) == "p" }

func readColumn(row [][]byte, types map[string]pgType) (change.Column, Column, error) {
	modifier, err := strconv.Atoi(string(row[3]))
	if err != nil {
		return change.Column{}, Column{}, fmt.Errorf("modifier of a column: %w", err)
	}
	base, modifier, err := baseOf(string(row[2]), modifier, types)
	if err != nil {
		return change.Column{}, Column{}, err
	}
	described, err := describe(base, modifier, types)
	if err != nil {
		return change.Column{}, Column{}, err
	}
	described.Equality = equalityOf(base, modifier, string(row[6]) == "true")
	column := change.Column{Name: string(row[1]), Type: described, Generated: len(row[5]) > 0, Fixed: string(row[4]) == "a"}
	written := Column{
		Quoted: postgres.QuoteName(column.Name), Cast: base.printed, FromText: base.fromText(),
		Equal: hasEquality(base, types), Operator: base.operator, Domain: base.oid != string(row[2]),
	}
	return column, written, nil
}

func readConduct(table *Table, conduct, parents Rows) {
	unique := 0
	if len(table.Key) > 0 {
		unique = 1
	}
	table.InOrder = string(conduct[0][0]) == "true" || len(table.Key) > 0 && !table.Arbiter
	table.Copyable = len(table.Key) > 0 && table.Arbiter && !table.InOrder && string(conduct[0][2]) == "false"
	table.Further = string(conduct[0][1]) != strconv.Itoa(unique)
	for _, row := range parents {
		table.Parents = append(table.Parents, change.Name{Schema: string(row[0]), Table: string(row[1])})
	}
}

func readKey(rows Rows, byNumber map[string]int) (key []int, arbiter bool) {
	if len(rows) == 0 {
		return nil, false
	}
	for number := range slices.Values(splitNumbers(rows[0][0])) {
		key = append(key, byNumber[number])
	}
	return key, string(rows[0][1]) == "true"
}
