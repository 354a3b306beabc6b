package health

import (
	"context"
	"slices"
	"strings"
	"time"

	"tidemark/shared/apply"
	"tidemark/shared/backup"
	"tidemark/shared/fault"
	"tidemark/shared/position"
)

// Database asks whether the target could be backed up now: it takes a snapshot as a backup does, reads no row and lets go.
type Database struct {
	Source          backup.Source
	Target          position.TargetID
	LeastLedger     int64 // versions of the ledger that this release backs up
	MostLedger      int64
	AllowUncaptured []string
}

// farewell is how long the end of a snapshot is waited for.
const farewell = 10 * time.Second

// Examine asks. Without a snapshot there is one finding, which says why.
func (d Database) Examine(ctx context.Context) []Finding {
	f := &findings{about: "database"}
	snapshot, err := d.Source.Snapshot(ctx)
	if err != nil {
		f.failed("readable", err)
		return f.list
	}
	content := snapshot.Content()
	ending, stop := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer stop()
	closed := snapshot.Close(ending)
	d.checkRows(f, content)
	d.checkLedger(f, content)
	d.checkLife(f, content.Life)
	d.checkUncaptured(f, content.Uncaptured)
	if closed != nil {
		f.failed("readable", closed)
	}
	return f.list
}

func (d Database) checkRows(f *findings, c backup.Content) {
	var size int64
	paged := 0
	for _, t := range c.Tables {
		size += t.Bytes
		if len(t.Key) == 0 || !t.Ordered {
			paged++
		}
	}
	const perMajor = 10000
	f.fine("readable", "PostgreSQL %d, %d tables of %d bytes, all of which this role may read", c.Database.ServerVersion/perMajor, len(c.Tables), size)
	if paged > 0 {
		f.fine("pages", "%d of the tables are read by their pages, so that a backup stores them anew when rows move", paged)
	}
}

func (d Database) checkLedger(f *findings, c backup.Content) {
	version := c.Database.LedgerVersion
	switch {
	case version < d.LeastLedger:
		f.failed("ledger", fault.New(fault.Misconfigured, "version %d, this release backs up from %d on", version, d.LeastLedger).
			WithHint("run: tidemark migrate"))
	case version > d.MostLedger:
		f.failed("ledger", fault.New(fault.Misconfigured, "version %d, this release knows none above %d", version, d.MostLedger).
			WithHint("use a release that knows it"))
	default:
		f.fine("ledger", "version %d in schema %s", version, c.Database.LedgerSchema)
	}
}

func (d Database) checkLife(f *findings, life backup.Life) {
	switch {
	case life.State == string(apply.StateNew):
		f.failed("target", fault.New(fault.Misconfigured, "the target is new: it has no life yet").WithHint("run: tidemark init"))
	case life.TargetID != d.Target:
		f.failed("target", fault.New(fault.Misconfigured, "%w: it is %q, the configuration says %q", apply.ErrOtherTarget,
			life.TargetID.String(), d.Target.String()).WithHint("correct TIDEMARK_TARGET_ID or TIDEMARK_DATABASE_URL"))
	case life.State != string(apply.StateLive):
		f.failed("target", fault.New(fault.Fenced, "target %s is %s: only a live one is backed up", life.TargetID, life.State).
			WithHint("its reason stands in table target of the ledger"))
	default:
		f.fine("target", "%s is live, life %s", life.TargetID, life.Lineage)
	}
}

func (d Database) checkUncaptured(f *findings, names []string) {
	var refused []string
	for _, name := range names {
		if !slices.Contains(d.AllowUncaptured, name) {
			refused = append(refused, name)
		}
	}
	switch {
	case len(refused) > 0:
		f.failed("captured", fault.New(fault.Misconfigured, "a restore would not bring back: %s: %w", strings.Join(refused, "; "),
			backup.ErrUncaptured).WithHint("remove it, or say of each in TIDEMARK_ALLOW_UNCAPTURED that it may be missing"))
	case len(names) > 0:
		f.fine("captured", "a restore will not bring back, as was allowed: %s", strings.Join(names, "; "))
	default:
		f.fine("captured", "a restore brings back everything")
	}
}

var (
	_ Examiner = Store{}
	_ Examiner = Keys{}
	_ Examiner = Backups{}
	_ Examiner = Database{}
)
