package catalog_test

import (
	"fmt"
	"os"
	"testing"

	"tidemark/localstack/services/servicestest"
	"tidemark/shared/change"
	"tidemark/shared/postgres/catalog"
	"tidemark/shared/postgres/postgrestest"
)

func TestMain(m *testing.M) { os.Exit(servicestest.Run(m)) }

// newDatabase is an empty database with what ddl makes.
func newDatabase(tb testing.TB, ddl string) *postgrestest.Database {
	tb.Helper()
	db := postgrestest.Empty(tb)
	db.Exec(tb, ddl)
	return db
}

// read asks the questions in one transaction and reads the answers.
func read(tb testing.TB, db *postgrestest.Database, name change.Name) (*catalog.Table, error) {
	tb.Helper()
	db.Exec(tb, "BEGIN READ ONLY")
	defer db.Exec(tb, "COMMIT")
	var answers []catalog.Rows
	for _, q := range catalog.Questions(name) {
		result := db.Conn.PgConn().ExecParams(tb.Context(), q.SQL, q.Params, nil, nil, nil).Read()
		if result.Err != nil {
			tb.Fatalf("%s: %v", q.SQL, result.Err)
		}
		answers = append(answers, result.Rows)
	}
	return catalog.Read(name, answers)
}

// mustRead reads a table of the schema public that has to be there.
func mustRead(tb testing.TB, db *postgrestest.Database, table string) *catalog.Table {
	tb.Helper()
	read, err := read(tb, db, public(table))
	if err != nil {
		tb.Fatalf("read %s: %v", table, err)
	}
	return read
}

// inSchemas runs each ddl in a schema of its own and reads the table t that it makes there.
func inSchemas(tb testing.TB, ddl ...string) []*catalog.Table {
	tb.Helper()
	db := newDatabase(tb, "")
	var tables []*catalog.Table
	for i, d := range ddl {
		schema := fmt.Sprintf("s%d", i)
		db.Exec(tb, "CREATE SCHEMA "+schema+"; SET search_path = "+schema+"; "+d+"; RESET search_path")
		table, err := read(tb, db, change.Name{Schema: schema, Table: "t"})
		if err != nil {
			tb.Fatalf("read t of %q: %v", d, err)
		}
		tables = append(tables, table)
	}
	return tables
}

func public(table string) change.Name { return change.Name{Schema: "public", Table: table} }

// keyNames are the names of the key's columns in order.
func keyNames(table *catalog.Table) []string {
	names := []string{}
	for _, i := range table.Key {
		names = append(names, table.Relation.Columns[i].Name)
	}
	return names
}
