package backups

import (
	"slices"

	"tidemark/cmd/tidemark/exit"
	"tidemark/cmd/tidemark/report"
	"tidemark/shared/apply"
	"tidemark/shared/backup"
	"tidemark/shared/backup/chunk"
	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/position"
)

// plannedTable is an estimate: where a table is cut is decided while it is read. What is read by a key keeps the bounds that
// it had.
func plannedTable(t backup.Table, before body.Body) report.PlannedTable {
	planned := report.PlannedTable{
		Schema: t.Schema, Name: t.Name.Name, Bytes: t.Bytes, How: "pages", Parts: int((t.Bytes + chunk.Wanted - 1) / chunk.Wanted),
	}
	planned.Parts = max(planned.Parts, 1)
	at := slices.IndexFunc(before.Tables, func(known body.Table) bool { return known.Name == t.Name })
	carried := at >= 0 && len(t.Key) > 0 && slices.Equal(before.Tables[at].Key, t.Key) && len(before.Tables[at].Chunks) > 0
	if carried {
		planned.Parts = len(before.Tables[at].Chunks)
	}
	if carried || len(t.Key) > 0 && t.Ordered {
		planned.How = "key"
	}
	return planned
}

// checkLife says of a target what its backup would.
func checkLife(life backup.Life, target position.TargetID) error {
	switch {
	case life.State == string(apply.StateNew):
		return exit.Database(fault.New(fault.Misconfigured, "the target is new: it has no life yet").WithHint("run: tidemark init"))
	case life.TargetID != target:
		return exit.Database(fault.New(fault.Misconfigured, "%w: it is %q, the configuration says %q", apply.ErrOtherTarget,
			life.TargetID.String(), target.String()).WithHint("correct TIDEMARK_TARGET_ID or TIDEMARK_DATABASE_URL"))
	case life.State != string(apply.StateLive):
		return fault.New(fault.Fenced, "target %s is %s: only a live one is backed up", target, life.State)
	}
	return nil
}
