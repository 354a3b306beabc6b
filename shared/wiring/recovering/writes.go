package recovering

import (
	"slices"
	"strings"

	"tidemark/shared/change"
	"tidemark/shared/config"
	"tidemark/shared/manifest/body"
)

// Writes says whether a flow may write a table, as far as the flow files tell. Where only the records say which table they are
// for, it may be any.
func (r *Recovery) Writes(table body.Name) bool {
	name := change.Name{Schema: table.Schema, Table: table.Name}
	for flow := range r.flows {
		file := r.flows[flow]
		for _, topic := range file.Topics {
			written, known := tableOf(&file, topic)
			if at := slices.IndexFunc(file.Routes, func(way config.Route) bool { return way.From == written }); at >= 0 {
				written = file.Routes[at].To
			}
			if !known || written == name {
				return true
			}
		}
	}
	return false
}

// tableOf is the table that a topic's records are for. A connector names a topic after it unless it is told otherwise, and then
// rarely with a schema in it.
func tableOf(file *config.Flow, topic string) (table change.Name, known bool) {
	text := topic
	if file.Format == config.FormatPlain {
		if table, known = file.Plain.Tables[topic]; known {
			return table, true
		}
		text = strings.ReplaceAll(file.Plain.Table, "${topic}", topic)
	} else if file.Debezium.Table != (change.Name{}) {
		return file.Debezium.Table, true
	}
	parts := strings.Split(text, ".")
	if n := len(parts); n > 1 && !strings.Contains(text, "${") {
		return change.Name{Schema: parts[n-2], Table: parts[n-1]}, true
	}
	return change.Name{}, false
}
