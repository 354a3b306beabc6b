package backups

import (
	"context"
	"io"

	"tidemark/cmd/tidemark/exit"
	"tidemark/shared/backup"
	"tidemark/shared/manifest"
	"tidemark/shared/position"
)

// databaseRuns marks what the record of backups refuses.
type databaseRuns struct{ backup.Runs }

// Begin claims a run. See backup.Runs.
func (r databaseRuns) Begin(ctx context.Context, request backup.Request) (backup.Claim, error) {
	newest := request.Newest
	request.Newest = func(ctx context.Context, lineage position.Lineage) (int64, manifest.RunID, error) {
		seq, run, err := newest(ctx, lineage)
		if err != nil {
			err = exit.Archive(err)
		}
		return seq, run, err
	}
	claim, err := r.Runs.Begin(ctx, request)
	return claim, exit.FromDatabase(err)
}

// databaseSource marks what the database that is read refuses.
type databaseSource struct{ backup.Source }

// Snapshot shows one state. See backup.Source.
func (s databaseSource) Snapshot(ctx context.Context) (backup.Snapshot, error) {
	shown, err := s.Source.Snapshot(ctx)
	if err != nil {
		return nil, exit.FromDatabase(err)
	}
	return databaseSnapshot{shown}, nil
}

type databaseSnapshot struct{ backup.Snapshot }

// Reader opens one more view. See backup.Snapshot.
func (s databaseSnapshot) Reader(ctx context.Context) (backup.Reader, error) {
	reader, err := s.Snapshot.Reader(ctx)
	if err != nil {
		return nil, exit.FromDatabase(err)
	}
	return databaseReader{reader}, nil
}

type databaseReader struct{ backup.Reader }

// Split proposes bounds. See backup.Reader.
func (r databaseReader) Split(ctx context.Context, t backup.Table, parts int) ([][]string, error) {
	bounds, err := r.Reader.Split(ctx, t, parts)
	return bounds, exit.FromDatabase(err)
}

// Copy writes rows. What the writer of them says is no word of the database's. See backup.Reader.
func (r databaseReader) Copy(ctx context.Context, t backup.Table, part backup.Range, to io.Writer) (int64, error) {
	sink := &errorKeeper{Writer: to}
	rows, err := r.Reader.Copy(ctx, t, part, sink)
	if sink.err != nil {
		return rows, err
	}
	return rows, exit.FromDatabase(err)
}
