package ddl

import (
	"strings"

	"tidemark/shared/manifest/body"
	"tidemark/shared/postgres"
)

// CopyIn is the statement that takes a chunk's rows into a table, whose name is quoted. Columns are named: the base has none that
// are generated.
func CopyIn(table string, columns []body.Column, frozen bool) string {
	statement := "COPY " + table
	if len(columns) > 0 {
		names := make([]string, len(columns))
		for i, c := range columns {
			names[i] = postgres.QuoteName(c.Name)
		}
		statement += " (" + strings.Join(names, ", ") + ")"
	}
	statement += " FROM STDIN (FORMAT binary"
	if frozen {
		statement += ", FREEZE"
	}
	return statement + ")"
}
