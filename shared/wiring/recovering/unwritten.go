package recovering

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tidemark/shared/change"
	"tidemark/shared/config"
	"tidemark/shared/format/plain"
	"tidemark/shared/manifest/body"
	"tidemark/shared/wiring/flow"
)

// unwritten are a base's tables, without the ledger's, that no flow file leads records to. unsure names flows whose files do not
// say it.
func (r *Recovery) unwritten(b body.Body) (tables []string, unsure string) {
	exists := map[change.Name]bool{}
	for _, t := range b.Tables {
		exists[nameOf(t.Name)] = true
	}
	written, unclear := map[change.Name]bool{}, []string{}
	for _, name := range slices.Sorted(maps.Keys(r.flows)) {
		file := r.flows[name]
		own, all := flow.Writes(&file, func(n change.Name) bool { return exists[n] })
		for _, table := range own {
			written[table] = true
		}
		if !all {
			unclear = append(unclear, name)
		}
	}
	if len(unclear) > 0 {
		return nil, fmt.Sprintf("the file of flow %s does not say which tables it writes; a table that no flow writes is restored to the cut",
			strings.Join(unclear, ", "))
	}
	for _, t := range b.Tables {
		if t.Schema != b.Snapshot.LedgerSchema && !written[nameOf(t.Name)] {
			tables = append(tables, t.String())
		}
	}
	return tables, ""
}

func nameOf(n body.Name) change.Name { return change.Name{Schema: n.Schema, Table: n.Name} }

// wholeRows says whether every record of a flow has every column: not a connector's, which leaves out what did not change and
// moves keys, and an application's where its file says so.
func (r *Recovery) wholeRows(name string) bool {
	file := r.flows[name]
	return file.Format == config.FormatPlain && (plain.Policy(file.Plain.Absent) == plain.Null || plain.Policy(file.Plain.Absent) == plain.Halt)
}
