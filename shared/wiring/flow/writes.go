package flow

import (
	"strings"

	"tidemark/shared/change"
	"tidemark/shared/config"
)

// Writes are the tables that a flow's records lead to, as its file says. all is false when records may lead elsewhere too: then
// nobody can tell from the file which tables a flow does not write. exists says which tables the target has: a topic whose name
// leads to none of them does not name its table.
func Writes(file *config.Flow, exists func(change.Name) bool) (tables []change.Name, all bool) {
	to := route(file.Routes)
	all = true
	for _, topic := range file.Topics {
		from, named := source(file, topic)
		if table := to(from); named && exists(table) {
			tables = append(tables, table)
		} else {
			all = false
		}
	}
	return tables, all
}

// source is the table that a topic's records name.
func source(file *config.Flow, topic string) (change.Name, bool) {
	switch {
	case file.Format == config.FormatDebezium && file.Debezium.Table != (change.Name{}):
		return file.Debezium.Table, true
	case file.Format == config.FormatDebezium: // a connector names a topic after the table: prefix.schema.table
		parts := strings.Split(topic, ".")
		if len(parts) < 2 {
			return change.Name{}, false
		}
		return change.Name{Schema: parts[len(parts)-2], Table: parts[len(parts)-1]}, true
	}
	if table, own := file.Plain.Tables[topic]; own {
		return table, true
	}
	schema, name, ok := strings.Cut(strings.ReplaceAll(file.Plain.Table, "${topic}", topic), ".")
	return change.Name{Schema: schema, Table: name}, ok && !strings.Contains(schema+name, "${")
}
