package rehearsals

import (
	"context"

	"tidemark/cmd/tidemark/exit"
	"tidemark/cmd/tidemark/origin"
	"tidemark/shared/fault"
	"tidemark/shared/manifest/body"
	"tidemark/shared/recovery"
	"tidemark/shared/rehearsal"
)

// mark says of errors where they came from, where the phase alone would not tell.
func mark(o *rehearsal.Options) {
	o.Recovery.Database = markedDatabase{o.Recovery.Database}
	o.Scratch = markedTables{o.Scratch}
	if o.Live != nil {
		o.Live = markedTables{o.Live}
	}
}

// markedDatabase marks what an archive said while the base came.
type markedDatabase struct{ recovery.Database }

// Restore brings the base in. See recovery.Database.
func (d markedDatabase) Restore(ctx context.Context, b recovery.Base) (recovery.Restored, error) {
	b.Fetch = origin.Fetch(b.Fetch)
	return d.Database.Restore(ctx, b)
}

// markedTables marks what a database says that is counted.
type markedTables struct{ tables rehearsal.Tables }

// Read counts tables. See rehearsal.Tables.
func (t markedTables) Read(ctx context.Context, tables []body.Table) (rehearsal.State, error) {
	state, err := t.tables.Read(ctx, tables)
	return state, exit.FromDatabase(err)
}

// opening marks what kept a rehearsal from being put together: what no configuration mends came from a server.
func opening(err error) error {
	if fault.Is(err, fault.Misconfigured) {
		return err
	}
	return exit.Database(err)
}
